/// A policy that can be asked for by name.
public protocol CataloguedPolicy: EvictionPolicy, SendableMetatype, ~Copyable {
    /// What can be set; ``NoParameters`` if nothing.
    associatedtype Parameters: PolicyParameters = NoParameters
    /// Its name, meaning, source and traits.
    static var info: PolicyInfo { get }
    /// An empty policy.
    init(_ parameters: Parameters, context: PolicyContext)
    /// An empty cache under `policy`, timed if there are `times`. It need not be implemented: what is there by default is compiled for
    /// the policy's type by the module that the policy stands in, whoever calls it.
    static func makeCache(_ policy: consuming Self, context: PolicyContext, times: CacheTimes?) -> CacheRun
    /// An empty index under `policy`, for a storage that holds values. It need not be implemented, either.
    static func makeLiveIndex(_ policy: consuming Self, context: PolicyContext) -> LiveIndex
}

extension CataloguedPolicy where Self: ~Copyable {
    @inlinable
    public static func makeCache(_ policy: consuming Self, context: PolicyContext, times: CacheTimes?) -> CacheRun {
        CacheRun(policy, context: context, times: times)
    }

    @inlinable
    public static func makeLiveIndex(_ policy: consuming Self, context: PolicyContext) -> LiveIndex {
        context.prefetches
            ? LiveIndex(PrefetchingPolicy(policy), context: context) : LiveIndex(policy, context: context)
    }
}

/// A policy whose caches can share what they learn: one model for a fleet of devices.
public protocol ModelSharingPolicy: CataloguedPolicy, ~Copyable {
    /// What is shared.
    associatedtype Model: AnyObject
    /// A model that has learnt nothing yet.
    static func makeModel(_ parameters: Parameters, context: PolicyContext) -> Model
    /// An empty policy that learns from and decides by `model`.
    init(_ parameters: Parameters, context: PolicyContext, model: Model)
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

    /// A card.
    public init(name: String, summary: String, source: String, traits: PolicyTraits = []) {
        self.name = name
        self.summary = summary
        self.source = source
        self.traits = traits
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

    /// The traits by name, in the order in which they are listed.
    public static let names: [(trait: PolicyTraits, name: String)] = [
        (.needsFuture, "needs_future"), (.usesSizes, "uses_sizes"), (.usesCategories, "uses_categories"),
        (.usesTime, "uses_time"), (.usesUsers, "uses_users"), (.isRandomised, "is_randomised"),
        (.hasAdmission, "has_admission"),
    ]
}
