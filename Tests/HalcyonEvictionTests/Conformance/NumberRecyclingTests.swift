import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

/// A live storage assigns the number of a forgotten entry to another key. No state of the old entry may affect the new one.
@Suite("Recycling of entry numbers", .timeLimit(.minutes(20)))
struct NumberRecyclingTests {
    /// Every policy, alone and behind `admit=size`, and some behind `admit=adaptsize`. `admit=bloom` has another test.
    static let layered =
        ConformanceTests.names + ConformanceTests.names.map { "\($0)(admit=size,admit-below=30)" }
        + ConformanceTests.behindAdaptSize

    @Test("A recycled number leads to the same decisions as a new one", arguments: layered)
    func recycledNumberIsDecidedLikeANewOne(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        guard !policy.info.traits.contains(.needsFuture) else { return }
        var recycled = 0
        for trace in MicroTrace.all {
            for capacity in [1, 7, 40] {
                let context = trace.context(for: policy, capacity: capacity, roomForEntries: false)
                let expected = CheckedRun(policy, context).serve(trace.accesses)
                let run = CheckedRun(policy, context)
                let found = run.serve(trace.accesses, recyclingEvery: 5)
                recycled += found.recycled
                #expect(
                    run.record.breaches.isEmpty, "\(name) on \(trace) at \(capacity): \(run.record.breaches.prefix(3))")
                // A sketch counts on where another object had the number, so the decisions differ.
                if !policy.decidesByNumber {
                    #expect(found.outcomes == expected, "\(name) on \(trace) at \(capacity)")
                }
            }
        }
        #expect(recycled > 1_000)
    }

    /// Other numbers collide differently: under each numbering, up to 1 % of the objects are false members of a filter. The
    /// objects of the scan are requested once, so every admission is that of a false member.
    @Test("A recycled number is new to admit=bloom", arguments: ["lru", "s3-fifo", "arc"])
    func recycledNumberIsNewToAdmitBloom(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy("\(name)(admit=bloom)")
        for trace in [
            MicroTrace(.scan, sizes: .unit, count: 20_000),
            MicroTrace(.mixed, sizes: .varied, count: 40_000, objects: 3_000),
        ] {
            let context = trace.context(for: policy, capacity: 400, roomForEntries: false)
            let expected = CheckedRun(policy, context).serve(trace.accesses)
            let run = CheckedRun(policy, context)
            let found = run.serve(trace.accesses, recyclingEvery: 500)
            let different = zip(found.outcomes, expected).count { $0 != $1 }
            #expect(found.recycled > 5_000 && run.record.breaches.isEmpty, "\(name) on \(trace)")
            #expect(different * 50 < trace.accesses.count, "\(different) outcomes of \(name) on \(trace)")
        }
    }

    /// Other numbers collide differently in the sketch.
    @Test(
        "Recycled numbers change the hits of W-TinyLFU by less than 1 %",
        arguments: ["w-tinylfu", "w-tinylfu(doorkeeper=on)"])
    func wTinyLFUKeepsItsCountsAcrossRecycling(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        for capacity in [40, 400] {
            let trace = MicroTrace(.mixed, sizes: .unit, count: 40_000, objects: 3_000)
            let context = trace.context(for: policy, capacity: capacity, roomForEntries: false)
            let expected = CheckedRun(policy, context).serve(trace.accesses).count { $0.isHit }
            let found = CheckedRun(policy, context).serve(trace.accesses, recyclingEvery: 5)
            let hits = found.outcomes.count { $0.isHit }
            #expect(found.recycled > 100 && (hits - expected).magnitude * 100 < expected, "\(hits) of \(expected) hits")
        }
    }

    @Test("A policy remembers at most 20 times as many evicted entries as fit", arguments: ConformanceTests.names)
    func memoryOfEvictedEntriesIsBounded(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        guard !policy.info.traits.contains(.needsFuture) else { return }
        let trace = MicroTrace(.scan, sizes: .unit, count: 6000)
        let run = CheckedRun(policy, trace.context(for: policy, capacity: 40))
        run.serve(trace.accesses)
        let remembered = (0..<EntryID(trace.objectCount)).count { !run.cache.contains($0) && run.cache.remembers($0) }
        #expect(remembered <= 40 * 20, "\(name) remembers \(remembered) evicted entries in a cache of 40")
    }
}
