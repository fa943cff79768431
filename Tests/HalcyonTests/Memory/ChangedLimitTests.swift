import Halcyon
import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

@testable import HalcyonCache

@Suite("Memory storage: a limit that changes", .timeLimit(.minutes(20)))
struct ChangedLimitTests {
    /// Returns the hits and the removed keys of a trace under a limit of 500 that replaces an earlier limit.
    private func serve(_ policy: String, startingFrom limit: Int) throws -> (found: [Bool], left: [String]) {
        let left = Removals()
        let memory = try MemoryStorage<Blob>(
            config: .lasting(cost: limit), policyNamed: policy, in: .standard, clock: ManualClock(),
            onRemoval: left.note)
        memory.withConfig { $0.totalCostLimit = 500 }
        let found = MicroTrace(.mixed, sizes: .varied, count: 4_000).accesses.map { access -> Bool in
            let (key, context) = ("\(access.entry)", AccessContext(categories: ["c\(access.categories)"]))
            if memory.value(forKey: key, context: context) != nil { return true }
            memory.store(value: Blob(cost: access.size), forKey: key, context: context)
            return false
        }
        return (found, left.keys)
    }

    @Test(
        "A policy computes its shares from the current limit, not from an earlier one",
        arguments: PolicyCatalogue.liveNames)
    func policySharesFollowChangedLimit(policy: String) throws {
        let expected = try serve(policy, startingFrom: 500)
        #expect(expected.found.contains(true) && !expected.left.isEmpty)
        for limit in [0, 40_000, 7] {
            let changed = try serve(policy, startingFrom: limit)
            #expect(changed.found == expected.found, "from \(limit)")
            #expect(changed.left == expected.left, "from \(limit)")
        }
    }
}
