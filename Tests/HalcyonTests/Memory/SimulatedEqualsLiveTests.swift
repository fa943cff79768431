import Foundation
import Halcyon
import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonEvictionTestSupport
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonCache

@Suite("Simulated equals live: memory storage", .timeLimit(.minutes(20)))
struct SimulatedEqualsLiveTests {
    @Test(
        "The memory storage has the replay's hits and victims",
        arguments: ["lru", "s3-fifo", "gdsf", "kingfisher-memory", "learned", "learned(model=none)"], [false, true])
    func memoryDecidesAsReplay(name: String, inLanes: Bool) async throws {
        let folder = try TemporaryFolder()
        let trace = try SizedTrace.load(folder, limit: SoakLength.accesses)
        let capacity = Int(trace.distinctSize / 20)
        let policy = try PolicyCatalogue.standard.policy(name)

        let record = PolicyRecord()
        var context = PolicyContext(capacity: capacity, usesUniformSizes: false, seed: 1)
        context.servesOneUser = true
        let reference = policy.makeCache(context, decorator: PolicyChecker(record))
        for set in 1..<UInt32(trace.categorySets.count) {
            reference.define(categorySet: set, members: Array(trace.categorySets[set]))
        }
        let clock = ManualClock(seconds: 0)
        let left = Removals()
        let memory = MemoryStorage<Blob>(
            config: .lasting(cost: capacity), configured: policy, seed: 1, clock: clock, onRemoval: left.note)
        if inLanes { memory.core.takeAllLanes() }
        var (hits, firstDifference) = (0, Int?.none)
        for request in 0..<trace.count {
            let access = Access(
                entry: trace.entries[request], requestNumber: request, time: trace.times[request],
                size: Int(trace.size(ofRequest: request)), categories: trace.categorySet(ofRequest: request),
                user: trace.user(ofRequest: request))
            let expected = reference.access(access)
            clock.set(access.time)
            let context = AccessContext(
                categories: trace.categorySets[access.categories].map { "c\($0)" },
                user: access.user == Trace.noUser ? nil : "u\(access.user)")
            let key = "\(access.entry)"
            let isHit = memory.value(forKey: key, context: context) != nil
            if isHit { hits += 1 } else { memory.store(value: Blob(cost: access.size), forKey: key, context: context) }
            if isHit != expected.isHit && firstDifference == nil { firstDifference = request }
        }
        #expect(firstDifference == nil)
        let evicted = left.all.filter { $0.reason == .evicted }.map(\.key)
        #expect(evicted == record.victims.map { "\($0)" })
        #expect(!evicted.isEmpty)
        // In a replay for all users the default is no shipped model.
        if name == "learned" { return }
        let run = try await Sweep(trace: trace, policies: [name], capacities: ["\(capacity)"]).run()[0]
        #expect(run.hits == hits)
    }
}
