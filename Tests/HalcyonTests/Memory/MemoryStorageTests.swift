import Foundation
import Halcyon
import HalcyonEviction
import Testing

@testable import HalcyonCache

@Suite("Memory storage", .timeLimit(.minutes(20)))
struct MemoryStorageTests {
    @Test("Any value with a cost can be stored")
    func anyValueWithCostCanBeStored() {
        let memory = MemoryStorage<Data>(config: .lasting(cost: 100))
        memory.store(value: Data(repeating: 7, count: 40), forKey: "a")
        #expect(memory.totalCost == 40)
        #expect(memory.value(forKey: "a") == Data(repeating: 7, count: 40))
    }

    @Test("The policy is LRU by default, or any by type, by name or custom")
    func policyIsLRUByDefault() throws {
        func residents(_ memory: MemoryStorage<Blob>) -> [String] {
            for key in ["a", "b", "c"] { memory.store(value: Blob(), forKey: key) }
            _ = memory.value(forKey: "a")
            memory.store(value: Blob(), forKey: "d")
            return ["a", "b", "c", "d"].filter { memory.isCached(forKey: $0) }
        }
        #expect(residents(MemoryStorage(config: .lasting(cost: 3))) == ["a", "c", "d"])
        #expect(residents(MemoryStorage(config: .lasting(cost: 3), policy: FIFO.self)) == ["b", "c", "d"])
        #expect(try residents(MemoryStorage(config: .lasting(cost: 3), policyNamed: "mru")) == ["b", "c", "d"])
        #expect(residents(MemoryStorage(config: .lasting(cost: 3), policy: Newest.self)) == ["a", "b", "d"])
    }

    @Test("An unknown policy, and one that needs the future, are refused with a sentence")
    func unknownAndFuturePoliciesAreRefused() throws {
        #expect(throws: PolicyError.self) { try MemoryStorage<Blob>(policyNamed: "lrv") }
        // The cache's own catalogue needs no model; the catalogue with `learned` is passed.
        let absent = #expect(throws: PolicyError.self) { try MemoryStorage<Blob>(policyNamed: "learned") }
        #expect(absent?.description.contains("`in: .standard`") == true)
        _ = try MemoryStorage<Blob>(policyNamed: "learned", in: .standard)
        let error = #expect(throws: CacheError.self) { try MemoryStorage<Blob>(policyNamed: "belady") }
        #expect(error?.description.contains("only a replay can serve it") == true)
    }

    @Test("Every live policy keeps the limits and loses only the entries it reports", arguments: names)
    func everyPolicyKeepsBoundsAndEntries(name: String) throws {
        let left = Removals()
        let memory = try MemoryStorage<Blob>(
            config: .lasting(cost: 500, count: 60), policyNamed: name, in: .standard, onRemoval: left.note)
        var random = SplitMix64(seed: 11)
        var stored: [String: Int] = [:]
        var removedCount = 0
        for step in 0..<3_000 {
            let key = "k\(min(random.next(below: 300), random.next(below: 300)))"
            let context = AccessContext(categories: ["c\(key.utf8.count)"], user: "u\(step % 3)")
            if let value = memory.value(forKey: key, context: context) {
                #expect(value.name == key)
                #expect(stored[key] == value.cacheCost)
            } else if memory.store(
                value: Blob(key, cost: 1 + random.next(below: 30)), forKey: key, context: context)
            {
                stored[key] = memory.value(forKey: key)?.cacheCost
            }
            if step % 500 == 250 { memory.trim(toCost: 200) }
            if step % 700 == 350 { memory.withConfig { $0.totalCostLimit = 300 } }
            if step % 700 == 450 { memory.withConfig { $0.totalCostLimit = 500 } }
            for removal in left.all[removedCount...] { stored[removal.key] = nil }
            removedCount = left.all.count
            let limit = step % 700 >= 350 && step % 700 < 450 ? 300 : 500
            #expect(memory.totalCost <= limit && memory.count <= 60)
            #expect(memory.totalCost == stored.values.reduce(0, +))
            #expect(memory.count == stored.count)
        }
        #expect(memory.core.withLock { $0.entries.keys.bound } <= 300)
    }

    static let names = PolicyCatalogue.liveNames

    @Test("Concurrent configuration changes are atomic")
    func configurationChangesAreAtomic() async {
        let memory = MemoryStorage<Blob>(config: .lasting(cost: 1))
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<500 { memory.withConfig { $0.countLimit += 1 } } }
            }
        }
        #expect(memory.config.countLimit == 4_000)
    }

    @Test("LRU evicts by recency, not by cost")
    func recencyDecidesRatherThanCost() {
        let memory = MemoryStorage<Blob>(config: .lasting(cost: 100))
        memory.store(value: Blob(cost: 60), forKey: "large")
        memory.store(value: Blob(cost: 20), forKey: "small")
        _ = memory.value(forKey: "large")
        memory.store(value: Blob(cost: 40), forKey: "new")
        #expect(memory.isCached(forKey: "large") && memory.isCached(forKey: "new"))
        #expect(!memory.isCached(forKey: "small"))
    }

    @Test("A lower limit trims at once; a value over the limit is refused and evicts no entry")
    func lowerLimitTrimsAtOnce() {
        let left = Removals()
        let memory = MemoryStorage<Blob>(config: .lasting(cost: 10), onRemoval: left.note)
        for key in ["a", "b", "c", "d"] { memory.store(value: Blob(cost: 2), forKey: key) }
        #expect(!memory.store(value: Blob(cost: 11), forKey: "huge"))
        #expect(left.keys == [])
        memory.config.totalCostLimit = 5
        #expect(left.keys == ["a", "b"])
        #expect(memory.totalCost == 4)
        memory.config.countLimit = 1
        #expect(left.keys == ["a", "b", "c"])
        memory.store(value: Blob(cost: 1), forKey: "e")
        #expect(left.keys == ["a", "b", "c", "d"])
        #expect(left.all.allSatisfy { $0.reason == .evicted })
        #expect(memory.count == 1 && memory.totalCost == 1)
    }

    @Test("A limit of 0 is no limit, of the size or of the number of values")
    func limitOfZeroIsNoLimit() {
        let memory = MemoryStorage<Blob>(config: .lasting(cost: 10, count: 10))
        memory.withConfig { ($0.totalCostLimit, $0.countLimit) = (0, 0) }
        for number in 0..<100 { #expect(memory.store(value: Blob(cost: 1 << 20), forKey: "k\(number)")) }
        #expect(memory.count == 100 && memory.totalCost == 100 << 20)
    }

    @Test("Overwriting replaces the cost; an oversized value removes the entry")
    func overwritingReplacesCost() {
        let left = Removals()
        let memory = MemoryStorage<Blob>(config: .lasting(cost: 10), onRemoval: left.note)
        memory.store(value: Blob("old", cost: 4), forKey: "a")
        memory.store(value: Blob("new", cost: 7), forKey: "a")
        #expect(memory.totalCost == 7)
        #expect(memory.value(forKey: "a")?.name == "new")
        memory.store(value: Blob("newer", cost: 7), forKey: "a")
        #expect(memory.value(forKey: "a")?.name == "newer")
        #expect(left.all == [])
        memory.store(value: Blob("huge", cost: 70), forKey: "a")
        #expect(memory.value(forKey: "a") == nil)
        #expect(left.all == [Removal(key: "a", cost: 7, categories: [], reason: .outdated)])
        #expect(memory.totalCost == 0 && memory.count == 0)
    }

    @Test("The total cost is the sum of the residents' under eight threads of mixed operations")
    func totalCostIsSumUnderThreads() async {
        let memory = MemoryStorage<Blob>(config: .lasting(cost: 2_000, count: 90))
        await withTaskGroup { group in
            for thread in 0..<8 {
                group.addTask {
                    var random = SplitMix64(seed: UInt64(thread))
                    for step in 0..<2_000 {
                        let key = "k\(random.next(below: 200))"
                        switch random.next(below: 8) {
                        case 0...2:
                            memory.store(
                                value: Blob(key, cost: random.next(below: 60)), forKey: key,
                                context: AccessContext(categories: ["c\(step % 3)"]))
                        case 3: memory.remove(forKey: key)
                        case 4 where step % 100 == 0: memory.removeExpired()
                        case 5 where step % 200 == 0: memory.trim(toCost: 1_000)
                        default: if let value = memory.value(forKey: key) { #expect(value.name == key) }
                        }
                    }
                }
            }
        }
        let residents = (0..<200).compactMap { memory.value(forKey: "k\($0)") }
        #expect(memory.count == residents.count)
        #expect(memory.totalCost == residents.reduce(0) { $0 + $1.cacheCost })
        let uses = (0..<3).map { memory.use(category: "c\($0)") }
        #expect(uses.reduce(0) { $0 + $1.count } == residents.count)
        #expect(uses.reduce(0) { $0 + $1.cost } == memory.totalCost)
        #expect(memory.totalCost <= 2_000 && memory.count <= 90)
    }

    @Test("Entries stored with keepInBackground survive entering the background")
    func keptEntriesSurviveEnteringBackground() {
        let memory = MemoryStorage<Blob>(config: .lasting(cost: 10))
        memory.store(value: Blob(), forKey: "a")
        memory.store(value: Blob(), forKey: "b", keepInBackground: true)
        memory.enterBackground()
        #expect(!memory.isCached(forKey: "a") && memory.isCached(forKey: "b"))
        memory.config.keepWhenEnteringBackground = true
        memory.store(value: Blob(), forKey: "c")
        memory.store(value: Blob(), forKey: "d", keepInBackground: false)
        memory.enterBackground()
        #expect(memory.isCached(forKey: "b") && memory.isCached(forKey: "c") && !memory.isCached(forKey: "d"))
        #expect(memory.count == 2 && memory.totalCost == 2)
    }

    @Test("A value is destroyed outside the lock, so that its deinit may use the storage", arguments: [false, true])
    func valueIsDestroyedOutsideLock(inLanes: Bool) {
        let memory = MemoryStorage<Keepsake>(config: .lasting(cost: 1))
        if inLanes { memory.core.takeAllLanes() }
        memory.store(value: Keepsake(memory), forKey: "a")
        memory.store(value: Keepsake(memory), forKey: "a")
        for _ in 0..<200 { #expect(memory.value(forKey: "a") != nil) }
        memory.store(value: Keepsake(memory), forKey: "b")
        memory.remove(forKey: "b")
        #expect(memory.count == 0)
    }
}

/// A value whose deinit uses its storage.
private final class Keepsake: CacheCostCalculable, Sendable {
    let memory: MemoryStorage<Keepsake>
    let cacheCost = 1

    init(_ memory: MemoryStorage<Keepsake>) { self.memory = memory }
    deinit { _ = memory.totalCost }
}

/// A custom policy that evicts the newest entry.
private struct Newest: CataloguedPolicy {
    static let info = PolicyInfo(name: "newest", summary: "last in, first out", source: "this test")
    private var stack: [EntryID] = []

    init(_ parameters: NoParameters, context: PolicyContext) {}

    mutating func hit(_ access: Access) {}
    mutating func victim(for access: Access) -> EntryID { stack.popLast() ?? .none }
    mutating func insert(_ access: Access) { stack.append(access.entry) }
    mutating func remove(_ entry: EntryID) { stack.removeAll { $0 == entry } }
}
