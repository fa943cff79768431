/// A policy of the catalogue: its name and meaning, and its parameters with their defaults.
public struct PolicyEntry: Sendable {
    /// One parameter, without the type that it belongs to.
    public struct ParameterInfo: Sendable, Encodable {
        /// The name, in kebab case.
        public let name: String
        /// What it does, in a few words.
        public let help: String
        /// What is accepted, in words.
        public let accepts: String
        /// The default, as it would be written.
        public let defaultValue: String

        init<Owner>(_ parameter: Parameter<Owner>, defaults: Owner) {
            (name, help) = (parameter.name, parameter.help)
            accepts = parameter.accepts
            defaultValue = parameter.read(defaults)
        }
    }

    /// The name, meaning, source and traits.
    public let info: PolicyInfo
    /// The parameters.
    public let parameters: [ParameterInfo]
    private let factory: any PolicyFactory

    /// The name under which results have the version of a policy; see ``PolicyInfo/version``.
    static let versionName = "version"

    /// The entry of a policy.
    ///
    /// No parameter may have the name `version`, under which results have ``PolicyInfo/version``.
    ///
    /// - Parameter defaults: the parameters before any is set by hand. They may hold what cannot be written as text, such
    ///   as a trained model.
    public init<Policy: CataloguedPolicy & ~Copyable>(
        _ policy: Policy.Type, defaults: Policy.Parameters = Policy.Parameters()
    ) {
        info = Policy.info
        precondition(
            !Policy.Parameters.table.contains { $0.name == Self.versionName },
            "\(info.name): no parameter may have the name '\(Self.versionName)', which stands for PolicyInfo.version")
        parameters = Policy.Parameters.table.map { ParameterInfo($0, defaults: defaults) }
        factory = Factory<Policy>(values: defaults)
    }

    /// The policy with these settings: its own parameters and those of ``AdmissionParameters``.
    ///
    /// - Throws: ``PolicyError`` if a parameter does not exist or its value is not accepted.
    public func configured(_ settings: [PolicySpec.Setting] = []) throws(PolicyError) -> ConfiguredPolicy {
        let own = Set(parameters.map(\.name))
        let names = Set(AdmissionParameters.table.map(\.name)).subtracting(own)
        let admission = try AdmissionParameters().applying(
            settings.filter { names.contains($0.name) }, policy: info.name)
        let factory = try factory.applying(settings.filter { !names.contains($0.name) })
        return ConfiguredPolicy(info: info, settings: settings, admission: admission, factory: factory)
    }
}

/// A policy with its parameters set, which makes caches.
public struct ConfiguredPolicy: Sendable {
    /// The name, meaning, source and traits.
    public let info: PolicyInfo
    /// What was set by hand.
    public let settings: [PolicySpec.Setting]
    private let admission: AdmissionParameters
    private var factory: any PolicyFactory

    fileprivate init(
        info: PolicyInfo, settings: [PolicySpec.Setting], admission: AdmissionParameters, factory: any PolicyFactory
    ) {
        self.info = admission.info(info)
        self.settings = settings
        self.admission = admission
        self.factory = factory
    }

    /// A policy by its type.
    ///
    /// ```swift
    /// let policy = ConfiguredPolicy(S3FIFO.self)
    /// ```
    public init<Policy: CataloguedPolicy & ~Copyable>(
        _ policy: Policy.Type, parameters values: Policy.Parameters = Policy.Parameters()
    ) {
        self.init(
            info: Policy.info, settings: [], admission: AdmissionParameters(), factory: Factory<Policy>(values: values))
    }

    /// Every parameter with its value; those of the admission rule only if there is one.
    public var parameters: [(name: String, value: String)] { factory.parameters + admission.used }

    /// The parameters that results name: all but those that were added to the policy later and have their defaults
    /// (``Parameter/addedLater()``).
    /// The version of a policy that is not of Halcyon is one of them.
    package var recordedParameters: [(name: String, value: String)] {
        factory.recordedParameters + admission.used
            + (info.version.map { [(name: PolicyEntry.versionName, value: "\($0)")] } ?? [])
    }

    /// The name with what was set by hand: `s3-fifo(small=0.2)`.
    public var label: String { PolicySpec(name: info.name, settings: settings).description }

    /// Whether its caches can share what they learn.
    public var learns: Bool { factory.learns }

    /// Whether decisions depend on the numbers of entries; see ``EvictionPolicy/decidesByNumber``.
    package var decidesByNumber: Bool {
        factory.decidesByNumber || (admission.rule == .bloom && BloomAdmission.decidesByNumber)
    }

    /// An empty cache under this policy.
    ///
    /// - Parameters:
    ///   - model: the model to share, from ``makeModel(_:)`` of the same policy; `nil` for one of the cache's own.
    ///   - times: receives the time of each choice of a victim; `nil` for a cache that is not timed.
    public func makeCache(
        _ context: PolicyContext, model: AnyObject? = nil, times: CacheTimes? = nil
    ) -> AnyCache {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        return factory.makeCache(context, model: model, times: times, admission: admission)
    }

    /// An empty cache under this policy with something around it. Slower, because it is not compiled for the policy's type.
    public func makeCache(_ context: PolicyContext, decorator: some PolicyDecorator) -> AnyCache {
        let environment = FloatEnvironment.enter()
        defer { environment.leave() }
        return factory.makeCache(context, decorator: decorator, admission: admission)
    }

    /// This policy, starting with what another has learned.
    ///
    /// - Parameter model: what ``AnyCache/trainedModel`` of a cache under the same policy returned.
    /// - Throws: ``PolicyError`` if these bytes are no model, or one that does not go with the parameters.
    public func starting(with model: [UInt8]) throws(PolicyError) -> ConfiguredPolicy {
        var started = self
        started.factory = try factory.starting(with: model)
        return started
    }

    /// A model for caches to share, which has learned nothing yet; `nil` for a policy that has none.
    public func makeModel(_ context: PolicyContext) -> AnyObject? { factory.makeModel(context) }
}

/// Wraps a policy of the catalogue, whose type the caller does not know, in something: a checker, a recorder.
public protocol PolicyDecorator {
    /// A cache under `policy`, or under what it is wrapped in.
    func makeCache<Policy: EvictionPolicy & ~Copyable>(
        around policy: consuming Policy, context: PolicyContext
    ) -> AnyCache
}

/// What the catalogue needs of a policy with parameters.
private protocol PolicyFactory: Sendable {
    var parameters: [(name: String, value: String)] { get }
    var recordedParameters: [(name: String, value: String)] { get }
    var learns: Bool { get }
    var decidesByNumber: Bool { get }
    func applying(_ settings: [PolicySpec.Setting]) throws(PolicyError) -> any PolicyFactory
    func starting(with model: [UInt8]) throws(PolicyError) -> any PolicyFactory
    func makeModel(_ context: PolicyContext) -> AnyObject?
    func makeCache(
        _ context: PolicyContext, model: AnyObject?, times: CacheTimes?, admission: AdmissionParameters
    ) -> AnyCache
    func makeCache(
        _ context: PolicyContext, decorator: some PolicyDecorator, admission: AdmissionParameters
    ) -> AnyCache
}

private struct Factory<Policy: CataloguedPolicy & ~Copyable>: PolicyFactory {
    let values: Policy.Parameters

    var parameters: [(name: String, value: String)] {
        Policy.Parameters.table.map { ($0.name, $0.read(values)) }
    }

    var recordedParameters: [(name: String, value: String)] {
        let defaults = Policy.Parameters()
        return Policy.Parameters.table.filter { !$0.isRecordedIfSet || $0.read(values) != $0.read(defaults) }
            .map { ($0.name, $0.read(values)) }
    }

    var learns: Bool { Policy.Model.self != NoModel.self }

    var decidesByNumber: Bool { Policy.decidesByNumber }

    func applying(_ settings: [PolicySpec.Setting]) throws(PolicyError) -> any PolicyFactory {
        Factory(values: try values.applying(settings, policy: Policy.info.name))
    }

    func starting(with model: [UInt8]) throws(PolicyError) -> any PolicyFactory {
        Factory(values: try Policy.parameters(values, startingWith: model))
    }

    func makeModel(_ context: PolicyContext) -> AnyObject? { Policy.makeModel(values, context: context) }

    func makeCache(
        _ context: PolicyContext, model: AnyObject?, times: CacheTimes?, admission: AdmissionParameters
    ) -> AnyCache {
        let policy = makePolicy(context, model: model)
        if admission.rule == .none { return Policy.makeCache(policy, context: context, times: times) }
        let plain = PlainCache(times: times)
        return Self.makeCache(around: policy, context, admission, plain)
    }

    func makeCache(
        _ context: PolicyContext, decorator: some PolicyDecorator, admission: AdmissionParameters
    ) -> AnyCache {
        Self.makeCache(around: Policy(values, context: context), context, admission, decorator)
    }

    private func makePolicy(_ context: PolicyContext, model: AnyObject?) -> Policy {
        guard let model else { return Policy(values, context: context) }
        guard let model = model as? Policy.Model else { preconditionFailure("a model of another policy") }
        return Policy(values, context: context, model: model)
    }

    /// A cache under the policy behind its admission rule, made by a decorator.
    private static func makeCache(
        around policy: consuming Policy, _ context: PolicyContext, _ admission: AdmissionParameters,
        _ decorator: some PolicyDecorator
    ) -> AnyCache {
        switch admission.rule {
        case .none: decorator.makeCache(around: policy, context: context)
        case .bloom:
            decorator.makeCache(
                around: AdmissionLayer(policy, filter: BloomAdmission(admission, context: context)), context: context)
        case .size:
            decorator.makeCache(
                around: AdmissionLayer(policy, filter: SizeAdmission(admission, context: context)), context: context)
        case .adaptsize:
            decorator.makeCache(
                around: AdmissionLayer(policy, filter: AdaptSizeAdmission(admission, context: context)),
                context: context)
        }
    }
}

/// Puts nothing around a policy.
private struct PlainCache: PolicyDecorator {
    let times: CacheTimes?

    func makeCache<Policy: EvictionPolicy & ~Copyable>(
        around policy: consuming Policy, context: PolicyContext
    ) -> AnyCache {
        Policy.makeCache(policy, context: context, times: times)
    }
}
