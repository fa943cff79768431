import Foundation
import Halcyon
import HalcyonEviction
import Testing

@testable import HalcyonCache

@Suite("Hits that are buffered in lanes", .timeLimit(.minutes(20)))
struct WaitingHitTests {
    /// Returns a storage with lanes from the start and the recording policy. Its sweeper has read the configuration
    /// and sleeps, so that only the test uses the storage.
    private func storage(
        seed: UInt64, _ config: MemoryStorageConfig, clock: ManualClock, left: Removals = Removals(),
        sleepers: Int = 1
    ) async -> MemoryStorage<Blob> {
        let memory = MemoryStorage<Blob>(
            config: config, policy: RecordingPolicy.self, seed: seed, clock: clock, onRemoval: left.note)
        await clock.waitForSleepers(sleepers)
        memory.core.takeAllLanes()
        return memory
    }

    @Test("On one thread the policy receives the same calls with and without lanes", arguments: 1...4)
    func lanesGivePolicyTheSameCalls(run: UInt64) async {
        let clock = ManualClock(seconds: 100)
        var config = MemoryStorageConfig.lasting(cost: 300)
        config.expiration = .seconds(20)
        let left = [Removals(), Removals()]
        let plain = MemoryStorage<Blob>(
            config: config, policy: RecordingPolicy.self, seed: 1_000 + run, clock: clock, onRemoval: left[0].note)
        let inLanes = await storage(seed: 2_000 + run, config, clock: clock, left: left[1], sleepers: 2)
        var (random, mostWaiting) = (SplitMix64(seed: run), 0)
        for step in 0..<6_000 {
            let key = "k\(min(random.next(below: 60), random.next(below: 60)))"
            let context = AccessContext(
                categories: random.next(below: 3) == 0 ? ["c\(random.next(below: 5))"] : [],
                user: random.next(below: 2) == 0 ? "u\(random.next(below: 3))" : nil)
            let extending: ExpirationExtending =
                switch random.next(below: 12) {
                case 0: .none
                case 1: .expirationTime(.seconds(Double(random.next(below: 30))))
                default: .cacheTime
                }
            let choice = random.next(below: 100)
            // Sometimes the clock is set back.
            if choice % 10 == 0 { clock.advance(by: Double(random.next(below: 5)) - 1) }
            func act(_ memory: MemoryStorage<Blob>) -> String {
                switch choice {
                case 0..<10:
                    "\(memory.store(value: Blob(key, cost: 1 + step % 20), forKey: key, context: context))"
                case 10: "\(memory.remove(forKey: key))"
                case 11: "\(memory.isCached(forKey: key))"
                case 12: "\(memory.deadline(forKey: key) ?? -1)"
                case 13: "\(memory.statistics.lookUps)"
                case 14 where step % 5 == 0: "\(memory.trim(toCost: 200))"
                case 15 where step % 5 == 0: "\(memory.remove(category: "c1"))"
                case 16 where step % 5 == 0: "\(memory.removeExpired())"
                default:
                    "\(memory.value(forKey: key, extendingExpiration: extending, context: context)?.cacheCost ?? -1)"
                }
            }
            let (expected, found) = (act(plain), act(inLanes))
            #expect(found == expected)
            if choice > 13 { mostWaiting = max(mostWaiting, inLanes.core.waiting) }
        }
        #expect(inLanes.statistics == plain.statistics)
        #expect(left[1].all == left[0].all)
        #expect(Set(left[0].all.map(\.reason)).isSuperset(of: [.evicted, .expired, .removed]))
        #expect(RecordingPolicy.calls(seed: 2_000 + run) == RecordingPolicy.calls(seed: 1_000 + run))
        #expect(mostWaiting > 5)
        #expect(plain.core.lanes.count == 1)
    }

    @Test("Every policy decides the same with and without lanes", arguments: PolicyCatalogue.liveNames)
    func everyPolicyDecidesTheSameInLanes(name: String) throws {
        let clock = ManualClock()
        let left = [Removals(), Removals()]
        let storages = try left.map {
            try MemoryStorage<Blob>(
                config: .lasting(cost: 500, count: 60), policyNamed: name, in: .standard, clock: clock,
                onRemoval: $0.note)
        }
        storages[1].core.takeAllLanes()
        var random = SplitMix64(seed: 17)
        for step in 0..<3_000 {
            let key = "k\(min(random.next(below: 200), random.next(below: 200)))"
            let context = AccessContext(categories: ["c\(key.utf8.count)"], user: "u\(step % 3)")
            let cost = 1 + random.next(below: 30)
            clock.advance(by: 0.01)
            let found = storages.map { memory in
                if memory.value(forKey: key, context: context) != nil { return true }
                memory.store(value: Blob(key, cost: cost), forKey: key, context: context)
                return false
            }
            #expect(found[0] == found[1])
        }
        #expect(left[0].all == left[1].all && !left[0].all.isEmpty)
        #expect(storages[0].statistics == storages[1].statistics)
    }

    @Test("Full lanes pass on every hit to the policy once and in order")
    func fullLanesPassOnEveryHit() async {
        let memory = await storage(seed: 3_001, .lasting(cost: 10), clock: ManualClock(seconds: 0))
        for key in ["a", "b", "c"] { memory.store(value: Blob(), forKey: key) }
        for step in 1...1_000 {
            #expect(memory.value(forKey: ["a", "b", "c"][step % 3]) != nil)
            let told = RecordingPolicy.calls(seed: 3_001).count - 3
            #expect(told + memory.core.waiting == step)
        }
        #expect(RecordingPolicy.calls(seed: 3_001).count > 3 + HitBuffer.capacity)
        #expect(memory.statistics.lookUps == HitCounts(hits: 1_000, misses: 0))
        let hits = RecordingPolicy.words(seed: 3_001).dropFirst(3)
        #expect(Array(hits) == (1...1_000).map { "hit \($0 % 3) at 0" })
    }

    @Test("Hits in several lanes reach the policy in their order")
    func hitsOfSeveralLanesKeepOrder() async {
        let memory = await storage(seed: 3_002, .lasting(cost: 10), clock: ManualClock(seconds: 0))
        for key in ["a", "b", "c"] { memory.store(value: Blob(), forKey: key) }
        let keys = ["a", "b", "c", "b", "a", "a", "c", "b"]
        for (step, key) in keys.enumerated() {
            memory.core.lanes.holdingAllButOne(step) { #expect(memory.value(forKey: key) != nil) }
        }
        #expect(memory.core.waiting == keys.count)
        #expect(memory.count == 3 && memory.core.waiting == 0)
        let numbers = ["a": 0, "b": 1, "c": 2]
        let expected = keys.map { "hit \(numbers[$0] ?? -1) at 0" }
        #expect(Array(RecordingPolicy.words(seed: 3_002).dropFirst(3)) == expected)
    }

    @Test("Hits buffered in two lanes reach the policy before the removal that frees their entry's number")
    func bufferedHitsPrecedeRemoval() async {
        let memory = await storage(seed: 3_003, .lasting(cost: 10), clock: ManualClock(seconds: 0))
        memory.store(value: Blob("a"), forKey: "a", context: AccessContext(categories: ["red"]))
        for lane in 0..<2 {
            memory.core.lanes.holdingAllButOne(lane) { #expect(memory.value(forKey: "a")?.name == "a") }
        }
        memory.remove(forKey: "a")
        memory.store(value: Blob("b"), forKey: "b", context: AccessContext(categories: ["blue"]))
        #expect(memory.value(forKey: "a") == nil)
        #expect(memory.value(forKey: "b")?.name == "b")
        #expect(memory.statistics.lookUpsByCategory == ["red": HitCounts(hits: 2), "blue": HitCounts(hits: 1)])
        #expect(
            RecordingPolicy.words(seed: 3_003) == [
                "insert 0 at 0", "hit 0 at 0", "hit 0 at 0", "remove 0", "insert 0 at 0", "hit 0 at 0",
            ])
    }

    @Test("A buffered hit on an entry that expires keeps its time")
    func bufferedHitKeepsItsTime() async {
        let clock = ManualClock(seconds: 0)
        let left = Removals()
        let memory = await storage(seed: 3_004, .lasting(cost: 10), clock: clock, left: left)
        memory.store(value: Blob(), forKey: "a", expiration: .seconds(10))
        clock.advance(by: 5)
        #expect(memory.value(forKey: "a", extendingExpiration: .none) != nil)
        #expect(memory.core.waiting == 1)
        clock.advance(by: 15)
        #expect(memory.value(forKey: "a") == nil)
        #expect(left.all.map(\.reason) == [.expired])
        #expect(RecordingPolicy.words(seed: 3_004) == ["insert 0 at 0", "hit 0 at 5", "remove 0"])
        #expect(memory.statistics.lookUps == HitCounts(hits: 1, misses: 1))
    }

    @Test("A buffered hit extends or shortens the expiration at once")
    func bufferedHitChangesExpiration() async {
        let clock = ManualClock(seconds: 0)
        let memory = await storage(seed: 3_005, .lasting(cost: 10), clock: clock)
        memory.store(value: Blob(), forKey: "a", expiration: .seconds(10))
        clock.advance(by: 5)
        #expect(memory.value(forKey: "a") != nil)
        #expect(memory.core.waiting == 1)
        clock.advance(by: 7)
        #expect(memory.value(forKey: "a") != nil)
        #expect(memory.deadline(forKey: "a") == 22_000_000)
        #expect(memory.value(forKey: "a", extendingExpiration: .expirationTime(.seconds(1))) != nil)
        clock.advance(by: 2)
        #expect(memory.value(forKey: "a") == nil)
    }

    @Test("With eight threads every hit and miss is counted, and cost and count match the residents")
    func concurrentHitsAndMissesAreCounted() async {
        let memory = MemoryStorage<Blob>(config: .lasting(cost: 2_000, count: 120))
        memory.core.takeAllLanes()
        let (lookUps, stores, refusals) = await withTaskGroup(of: (HitCounts, Int, Int).self) { group in
            for thread in 0..<8 {
                group.addTask {
                    var random = SplitMix64(seed: UInt64(thread))
                    var (lookUps, stores, refusals) = (HitCounts(), 0, 0)
                    for step in 0..<3_000 {
                        let key = "k\(random.next(below: 200))"
                        let context = AccessContext(categories: ["c\(step % 3)"], user: "u\(thread)")
                        switch random.next(below: 20) {
                        case 0, 1:
                            let value = Blob(key, cost: random.next(below: 60))
                            let isKept = memory.store(value: value, forKey: key, context: context)
                            if isKept { stores += 1 } else { refusals += 1 }
                        case 2: memory.remove(forKey: key)
                        case 3 where step % 50 == 0: #expect(memory.totalCost <= 2_000)
                        case 4 where step % 50 == 0: #expect(memory.statistics.count <= 120)
                        default:
                            let value = memory.value(
                                forKey: key, context: step % 2 == 0 ? context : AccessContext())
                            if let value { #expect(value.name == key) }
                            if value == nil { lookUps.misses += 1 } else { lookUps.hits += 1 }
                        }
                    }
                    return (lookUps, stores, refusals)
                }
            }
            return await group.reduce(into: (HitCounts(), 0, 0)) { sum, one in
                sum.0.hits += one.0.hits
                sum.0.misses += one.0.misses
                sum.1 += one.1
                sum.2 += one.2
            }
        }
        let statistics = memory.statistics
        #expect(statistics.lookUps == lookUps && lookUps.hits > 0 && lookUps.misses > 0)
        #expect(statistics.stores == stores && statistics.refusals == refusals)
        let residents = (0..<200).compactMap { memory.value(forKey: "k\($0)") }
        #expect(statistics.count == residents.count && memory.count == residents.count)
        #expect(statistics.cost == residents.reduce(0) { $0 + $1.cacheCost })
        #expect(memory.core.waiting <= residents.count)
    }
}

extension HitLanes {
    /// Runs a body while all lanes but one, chosen by a number, are held, so that it must read in that one.
    fileprivate func holdingAllButOne(_ number: Int, _ body: () -> Void) {
        var held: [Lane] = []
        while let lane = enterAny() { held.append(lane) }
        #expect(held.count == most)
        held.sort { $0.buffer < $1.buffer }
        leave(held.remove(at: number % held.count))
        body()
        for lane in held { leave(lane) }
    }
}
