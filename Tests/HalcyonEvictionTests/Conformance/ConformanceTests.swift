import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

/// The rules that hold for every policy, run on every policy of the catalogue.
@Suite("Conformance of every policy in the catalogue", .timeLimit(.minutes(20)))
struct ConformanceTests {
    static let names = PolicyCatalogue.classical.entries.map(\.info.name)
    /// Policies of each kind behind a random admission rule.
    static let behindAdaptSize = ["lru", "s3-fifo", "arc", "lirs", "qd-lp-fifo", "w-tinylfu", "gdsf", "lhd"]
        .map { "\($0)(admit=adaptsize,admit-interval=200)" }
    /// Every policy, alone and behind an admission rule, and some behind a random one.
    static let layered = names + names.map { "\($0)(admit=bloom)" } + behindAdaptSize

    @Test("Calls come in order, a victim is resident, and used bytes never exceed the capacity", arguments: layered)
    func callsAreOrderedVictimsResidentAndCapacityKept(name: String) throws {
        #expect(try PolicyRule.bounds.breaches(of: PolicyCatalogue.classical.policy(name)) == [])
    }

    @Test("An object larger than the cache is refused and evicts nothing", arguments: layered)
    func objectLargerThanTheCacheIsRefused(name: String) throws {
        #expect(try PolicyRule.largeObjects.breaches(of: PolicyCatalogue.classical.policy(name)) == [])
    }

    @Test("Decisions on a prefix do not depend on later requests", arguments: names + behindAdaptSize)
    func decisionsDoNotDependOnLaterRequests(name: String) throws {
        #expect(try PolicyRule.causality.breaches(of: PolicyCatalogue.classical.policy(name)) == [])
    }

    @Test(
        "The same seed gives the same decisions in batches of any size", arguments: names + behindAdaptSize)
    func sameSeedGivesSameDecisionsInAnyBatches(name: String) throws {
        #expect(try PolicyRule.determinism.breaches(of: PolicyCatalogue.classical.policy(name)) == [])
    }

    @Test("Entries can be removed at any moment", arguments: layered)
    func entriesCanBeRemovedAtAnyMoment(name: String) throws {
        #expect(try PolicyRule.removal.breaches(of: PolicyCatalogue.classical.policy(name)) == [])
    }

    // No policy can break the rule of large objects, which the cache core keeps.
    @Test(
        "A policy that breaks a rule is found by that rule",
        arguments: [PolicyRule.bounds, .causality, .determinism, .removal])
    func brokenPolicy(rule: PolicyRule) {
        let found = Set(PolicyRule.allCases.filter { !$0.breaches(of: BrokenPolicy.breaking(rule)).isEmpty })
        #expect(found.contains(rule), "\(found)")
        #expect(PolicyRule.allCases.allSatisfy { $0.breaches(of: BrokenPolicy.breaking(nil)).isEmpty })
    }

    @Test("Defaults can be set explicitly, and names are in kebab case", arguments: names)
    func defaultsCanBeSetExplicitlyAndNamesAreKebabCase(name: String) throws {
        let entry = try #require(PolicyCatalogue.classical.entries.first { $0.info.name == name })
        #expect(name.allSatisfy { $0.isLowercase || $0.isNumber || $0 == "-" })
        #expect(!entry.info.summary.isEmpty && !entry.info.source.isEmpty)
        let settings = entry.parameters.map { PolicySpec.Setting($0.name, $0.defaultValue) }
        let configured = try entry.configured(settings)
        #expect(configured.parameters.map(\.value) == entry.parameters.map(\.defaultValue))
        #expect(try PolicyCatalogue.classical.policy(configured.label).parameters.map(\.value) == settings.map(\.value))
    }
}

/// FIFO that breaks one rule on purpose.
private struct BrokenPolicy: CataloguedPolicy {
    struct Parameters: PolicyParameters {
        var broken = ""
        static let table: [Parameter<Self>] = []
    }

    static let info = PolicyInfo(name: "broken", summary: "breaks a rule", source: "none")

    /// FIFO that breaks a rule; `nil` for none.
    static func breaking(_ rule: PolicyRule?) -> ConfiguredPolicy {
        ConfiguredPolicy(BrokenPolicy.self, parameters: Parameters(broken: rule?.rawValue ?? ""))
    }

    private let rule: PolicyRule?
    private let context: PolicyContext
    private var queue: [EntryID] = []

    init(_ parameters: Parameters, context: PolicyContext) {
        rule = PolicyRule(rawValue: parameters.broken)
        self.context = context
    }

    mutating func hit(_ access: Access) {}

    mutating func admit(_ access: Access) -> Bool {
        switch rule {
        case .causality: context.future == nil || access.requestNumber % 3 > 0
        case .determinism: (context.seed &+ UInt64(access.requestNumber)) % 5 > 0
        default: true
        }
    }

    mutating func victim(for access: Access) -> EntryID {
        // An entry that was evicted before.
        if rule == .bounds, access.requestNumber % 50 == 49 { return queue[0] }
        return queue.removeFirst()
    }

    mutating func insert(_ access: Access) { queue.append(access.entry) }

    mutating func remove(_ entry: EntryID) {
        if rule == .removal { return }
        queue.removeAll { $0 == entry }
    }
}
