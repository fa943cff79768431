import HalcyonEviction
import HalcyonTestSupport
import Testing

/// A live storage hands the number of a forgotten entry to another key; nothing of the old entry may shine through.
@Suite("Recycling of entry numbers", .timeLimit(.minutes(20)))
struct NumberRecyclingTests {
    /// Policies that spread entries by a hash of their number: other numbers collide differently, so the decisions may differ.
    static let dependOnNumbers: Set = ["w-tinylfu"]

    @Test("A recycled number decides as a new one", arguments: ConformanceTests.names)
    func recycling(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        guard !policy.info.traits.contains(.needsFuture) else { return }
        for trace in MicroTrace.all {
            for capacity in [1, 7, 40] {
                let context = trace.context(for: policy, capacity: capacity, roomForEntries: false)
                let expected = CheckedRun(policy, context).serve(trace.accesses)
                let run = CheckedRun(policy, context)
                var keys = KeyTable()
                var outcomes: [AccessOutcome] = []
                for access in trace.accesses {
                    var renumbered = access
                    renumbered.entry = keys.number(of: access.entry)
                    outcomes.append(run.cache.access(renumbered))
                    if access.requestNumber % 5 == 0 { keys.collect(from: run.cache) }
                }
                #expect(
                    run.record.breaches.isEmpty, "\(name) on \(trace) at \(capacity): \(run.record.breaches.prefix(3))")
                if !Self.dependOnNumbers.contains(name) {
                    #expect(outcomes == expected, "\(name) on \(trace) at \(capacity)")
                }
            }
        }
    }

    @Test("The memory of evicted entries is bounded", arguments: ConformanceTests.names)
    func boundedMemory(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        guard !policy.info.traits.contains(.needsFuture) else { return }
        let trace = MicroTrace(.scan, sizes: .unit, count: 6000)
        let run = CheckedRun(policy, trace.context(for: policy, capacity: 40))
        run.serve(trace.accesses)
        let remembered = (0..<EntryID(trace.objectCount)).count { !run.cache.contains($0) && run.cache.remembers($0) }
        #expect(remembered <= 40 * 20, "\(name) remembers \(remembered) evicted entries in a cache of 40")
    }
}
