/// The rule that decides, before the policy, which new objects are admitted.
public enum AdmissionRule: String, CaseIterable, Sendable {
    /// No rule beside the policy's own.
    case none
    /// Objects that were requested before, by ``BloomAdmission``.
    case bloom
    /// Objects below a size, by ``SizeAdmission``.
    case size
    /// Small objects rather than large ones, by ``AdaptSizeAdmission``.
    case adaptsize
}

/// The admission rule around a policy, which every policy of the catalogue accepts beside its own parameters:
/// `lru(admit=adaptsize)`.
///
/// Without a rule, the cache is that of the policy alone. With one, it is an ``AdmissionLayer``.
public struct AdmissionParameters: PolicyParameters {
    /// The rule.
    public var rule = AdmissionRule.none
    /// The size from which ``AdmissionRule/size`` refuses objects; 0 if it is not set.
    public var below = 0
    /// The number of requests after which ``AdmissionRule/adaptsize`` chooses its parameter again.
    public var interval = 30_000

    public static let table = [
        Parameter<Self>.choice("admit", \.rule, "admission rule in addition to the policy's own"),
        .integer("admit-below", \.below, in: 0...Int.max, "with admit=size: the smallest refused size"),
        .integer(
            "admit-interval", \.interval, in: 1...1_000_000_000,
            "with admit=adaptsize: requests between updates of its parameter c"
        ),
    ]

    /// The parameters with their defaults.
    public static var infos: [PolicyEntry.ParameterInfo] {
        table.map { PolicyEntry.ParameterInfo($0, defaults: AdmissionParameters()) }
    }

    /// No rule.
    public init() {}

    public var conflict: String? {
        if rule == .size, below == 0 { return "admit=size also needs admit-below: the size from which it refuses." }
        if rule != .size, below != 0 { return "admit-below belongs to admit=size, which is not set." }
        if rule != .adaptsize, interval != AdmissionParameters().interval {
            return "admit-interval belongs to admit=adaptsize, which is not set."
        }
        return nil
    }

    /// The parameters that the rule uses, with their values; none without a rule.
    var used: [(name: String, value: String)] {
        let names: [String] =
            switch rule {
            case .none: []
            case .bloom: ["admit"]
            case .size: ["admit", "admit-below"]
            case .adaptsize: ["admit", "admit-interval"]
            }
        return AdmissionParameters.table.filter { names.contains($0.name) }.map { ($0.name, $0.read(self)) }
    }

    /// The info of a policy behind the rule.
    func info(_ policy: PolicyInfo) -> PolicyInfo {
        let refused: String
        var traits = policy.traits.union(.hasAdmission)
        switch rule {
        case .none: return policy
        case .bloom: refused = "refuses an object at its first request (admit=bloom)"
        case .size:
            refused = "refuses an object of \(below) bytes or more (admit=size)"
            traits.formUnion(.usesSizes)
        case .adaptsize:
            refused = "refuses objects at random, large ones more often (admit=adaptsize)"
            traits.formUnion([.usesSizes, .isRandomised])
        }
        return policy.refusing(refused, traits: traits)
    }
}
