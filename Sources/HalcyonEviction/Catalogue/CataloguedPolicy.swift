/// A policy that can be requested by name.
///
/// A policy whose caches can share what they learn also implements ``makeModel(_:context:)`` and
/// ``init(_:context:model:)``.
public protocol CataloguedPolicy: EvictionPolicy, SendableMetatype, ~Copyable {
    /// The parameters; ``NoParameters`` by default.
    associatedtype Parameters: PolicyParameters = NoParameters
    /// What several caches can share; ``NoModel`` by default.
    associatedtype Model: AnyObject = NoModel
    /// The name, meaning, source and traits.
    static var info: PolicyInfo { get }
    /// An empty policy.
    init(_ parameters: Parameters, context: PolicyContext)
    /// A model that has learned nothing yet; `nil` by default, for a policy without one.
    static func makeModel(_ parameters: Parameters, context: PolicyContext) -> Model?
    /// An empty policy that learns from and decides by `model`. By default the model is ignored.
    init(_ parameters: Parameters, context: PolicyContext, model: Model)
    /// The parameters of a policy that starts with what another has learned; by default `parameters`.
    ///
    /// - Parameter model: what ``EvictionPolicy/trainedModel`` returned in this or an earlier process.
    /// - Throws: ``PolicyError`` if these bytes are no model, or one that does not go with the parameters.
    static func parameters(_ parameters: Parameters, startingWith model: [UInt8]) throws(PolicyError) -> Parameters
}

/// The model of a policy that learns nothing.
public final class NoModel {}

extension CataloguedPolicy where Self: ~Copyable {
    /// None.
    public static func makeModel(_ parameters: Parameters, context: PolicyContext) -> Model? { nil }

    /// The same parameters.
    public static func parameters(
        _ parameters: Parameters, startingWith model: [UInt8]
    ) throws(PolicyError) -> Parameters { parameters }
}

extension CataloguedPolicy where Self: ~Copyable, Model == NoModel {
    /// A policy without a model.
    public init(_ parameters: Parameters, context: PolicyContext, model: NoModel) {
        self.init(parameters, context: context)
    }
}

/// What is known of a policy before it runs.
public struct PolicyInfo: Sendable {
    /// The name it is asked for by, in kebab case.
    public let name: String
    /// What it does, in a few words.
    public let summary: String
    /// The paper or code it follows.
    public let source: String
    /// What it needs and honours.
    public let traits: PolicyTraits
    /// Which objects it refuses, as the end of a sentence: `refuses an object larger than a segment`. Nil for a policy
    /// that admits every object.
    public let admissionRule: String?
    /// The version of the decisions of a policy that is not of Halcyon. Nil for a policy of Halcyon, whose decisions
    /// have the result version of the build.
    ///
    /// Stored results name it as the parameter `version`.
    public let version: Int?

    /// Creates the info of a policy of your own.
    ///
    /// - Parameter version: the version of the policy's decisions, part of the identity of every stored result.
    ///   Raise it in each change that moves a result; results of the version before stay and can be compared with. The
    ///   default
    ///   is 1.
    public init(
        name: String, summary: String, source: String, traits: PolicyTraits = [], admissionRule: String? = nil,
        version: Int = 1
    ) {
        self.init(name, summary, source, traits, admissionRule, version)
    }

    /// Creates the info of a policy of Halcyon.
    package init(
        name: String, summary: String, source: String, traits: PolicyTraits = [], admissionRule: String? = nil
    ) {
        self.init(name, summary, source, traits, admissionRule, nil)
    }

    private init(
        _ name: String, _ summary: String, _ source: String, _ traits: PolicyTraits, _ admissionRule: String?,
        _ version: Int?
    ) {
        self.name = name
        self.summary = summary
        self.source = source
        self.traits = traits
        self.admissionRule = admissionRule
        self.version = version
    }

    /// Returns the info of the policy behind an admission rule.
    func refusing(_ refused: String, traits: PolicyTraits) -> PolicyInfo {
        PolicyInfo(
            name, summary, source, traits, admissionRule.map { "\($0), and \(refused)" } ?? refused, version)
    }
}

/// What a policy needs and honours; a run provides only the columns that are used.
public struct PolicyTraits: OptionSet, Sendable {
    /// The set as bits.
    public let rawValue: UInt8

    /// A set from bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Needs ``FutureKnowledge``: cannot serve a live cache or a stream.
    public static let needsFuture = PolicyTraits(rawValue: 1 << 0)
    /// Weighs entries by their size, beyond fitting them in.
    public static let usesSizes = PolicyTraits(rawValue: 1 << 1)
    /// Looks at ``Access/categories``.
    public static let usesCategories = PolicyTraits(rawValue: 1 << 2)
    /// Looks at ``Access/time``.
    public static let usesTime = PolicyTraits(rawValue: 1 << 3)
    /// Looks at ``Access/user``.
    public static let usesUsers = PolicyTraits(rawValue: 1 << 4)
    /// Draws random numbers: decisions depend on the seed.
    public static let isRandomised = PolicyTraits(rawValue: 1 << 5)
    /// May refuse entries.
    public static let hasAdmission = PolicyTraits(rawValue: 1 << 6)
    /// Looks at the lists that are shown; see ``EvictionPolicy/shown(_:)``.
    public static let usesLists = PolicyTraits(rawValue: 1 << 7)

    /// The traits by name, in the order in which they are listed.
    public static let names: [(trait: PolicyTraits, name: String)] = [
        (.needsFuture, "needs_future"), (.usesSizes, "uses_sizes"), (.usesCategories, "uses_categories"),
        (.usesTime, "uses_time"), (.usesUsers, "uses_users"), (.isRandomised, "is_randomised"),
        (.hasAdmission, "has_admission"), (.usesLists, "uses_lists"),
    ]
}
