import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

/// The rules that hold for every policy also hold with prefetches between the requests, run on the whole catalogue.
@Suite("Conformance of every policy with prefetches", .timeLimit(.minutes(20)))
struct PrefetchingConformanceTests {
    static let names = PolicyCatalogue.classical.entries.map(\.info).filter { !$0.traits.contains(.needsFuture) }
        .map(\.name)

    /// Every pattern, and every kind of size; all pairs would take a minute.
    static let traces = [
        MicroTrace(.mixed, sizes: .changing), MicroTrace(.zipf, sizes: .varied), MicroTrace(.loop, sizes: .unit),
        MicroTrace(.scan, sizes: .varied),
    ]

    /// The accesses of a trace, mixed with prefetches of objects that are requested soon and of others that never are.
    private func mixed(_ trace: MicroTrace, seed: UInt64 = 11) -> [Access] {
        var random = SplitMix64(seed: seed)
        var accesses: [Access] = []
        for access in trace.accesses {
            accesses.append(access)
            for _ in 0..<random.next(below: 3) {
                var fetch = trace.accesses[min(access.requestNumber + random.next(below: 40), trace.accesses.count - 1)]
                if random.next(below: 8) == 0 { fetch.entry += 5_000 }
                fetch.requestNumber = access.requestNumber + 1
                fetch.time = access.time
                fetch.isPrefetch = true
                accesses.append(fetch)
            }
        }
        return accesses
    }

    /// Serves the accesses without prefetches of resident entries.
    private func serve(_ accesses: [Access], _ run: PrefetchingRun) -> [AccessOutcome] {
        accesses.map { access in
            access.isPrefetch && run.cache.contains(access.entry) ? .hit : run.access(access)
        }
    }

    @Test("Calls come in order, a victim is resident, and used bytes never exceed the capacity", arguments: names)
    func callsAreOrderedVictimsResidentAndCapacityKept(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        for trace in Self.traces {
            for capacity in [0, 1, 2, 7, 40, 400] {
                let run = PrefetchingRun(policy, trace.context(for: policy, capacity: capacity))
                var overfull = 0
                for access in mixed(trace) {
                    if access.isPrefetch && run.cache.contains(access.entry) { continue }
                    _ = run.access(access)
                    let used = run.cache.state.used
                    if used > capacity || used < 0 { overfull += 1 }
                }
                let breaches = run.outer.breaches + run.inner.breaches
                #expect(overfull == 0 && breaches.isEmpty, "\(name) on \(trace) at \(capacity): \(breaches.prefix(3))")
                #expect(run.outer.used == run.cache.state.used && run.outer.sizes.count == run.cache.state.count)
                let waiting = run.cache.state.metrics.first { $0.name == "prefetched_waiting" }?.value ?? -1
                let areResident = run.inner.sizes.allSatisfy { run.outer.sizes[$0.key] != nil }
                let owned = run.inner.sizes.count
                #expect(areResident && owned + Int(waiting) == run.outer.sizes.count, "\(name) on \(trace)")
            }
        }
    }

    @Test("Decisions on a prefix do not depend on later requests", arguments: names)
    func decisionsDoNotDependOnLaterRequests(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        for trace in Self.traces {
            let context = trace.context(for: policy, capacity: 40)
            let accesses = mixed(trace)
            let (alone, whole) = (PrefetchingRun(policy, context), PrefetchingRun(policy, context))
            let expected = serve(Array(accesses.prefix(1_400)), alone)
            let stands = Array(serve(accesses, whole).prefix(1_400)) == expected
            #expect(stands, "\(name) on \(trace)")
            let areSame = Array(whole.outer.events.prefix(alone.outer.events.count)) == alone.outer.events
            #expect(areSame, "\(name) on \(trace)")
        }
    }

    @Test("The same seed gives the same decisions, with room reserved or growing", arguments: names)
    func sameSeedGivesSameDecisionsWithOrWithoutReservedRoom(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        for trace in Self.traces {
            let accesses = mixed(trace)
            let first = PrefetchingRun(policy, trace.context(for: policy, capacity: 40))
            let outcomes = serve(accesses, first)
            for room in [true, false] {
                let again = PrefetchingRun(
                    policy, trace.context(for: policy, capacity: 40, roomForEntries: room))
                let areSame = serve(accesses, again) == outcomes && again.outer.events == first.outer.events
                #expect(areSame, "\(name) on \(trace), room from the start: \(room)")
            }
        }
    }

    @Test("Entries can be removed at any moment", arguments: names)
    func entriesCanBeRemovedAtAnyMoment(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        for trace in Self.traces {
            var random = SplitMix64(seed: 3)
            let run = PrefetchingRun(policy, trace.context(for: policy, capacity: 40))
            let accesses = mixed(trace)
            for (number, access) in accesses.enumerated() {
                if access.isPrefetch && run.cache.contains(access.entry) { continue }
                _ = run.access(access)
                if random.next(below: 4) == 0 {
                    run.remove(accesses[max(0, number - random.next(below: 60))].entry)
                }
            }
            for entry in 0..<EntryID(6_600) { run.remove(entry) }
            let breaches = run.outer.breaches + run.inner.breaches
            #expect(breaches.isEmpty, "\(name) on \(trace): \(breaches.prefix(3))")
            #expect(run.cache.state.used == 0 && run.cache.state.count == 0, "emptied by hand")
        }
    }

    @Test("Without prefetches every outcome and event equals the plain cache", arguments: names)
    func withoutPrefetchesDecisionsEqualThePlainCache(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        for trace in Self.traces {
            for capacity in [2, 40] {
                let context = trace.context(for: policy, capacity: capacity)
                let plain = CheckedRun(policy, context)
                let outcomes = plain.serve(trace.accesses)
                let run = PrefetchingRun(policy, context)
                let areSame = serve(trace.accesses, run) == outcomes && run.outer.events == plain.record.events
                #expect(areSame, "\(name) on \(trace) at \(capacity)")
                #expect(run.inner.events == plain.record.events)
            }
        }
    }

    @Test("A cache that prefetches reports its victims in order", arguments: names)
    func prefetchingCacheReportsVictimsInOrder(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        let trace = MicroTrace(.mixed, sizes: .varied)
        var context = trace.context(for: policy, capacity: 40)
        context.prefetches = true
        let cache = policy.makeCache(context)
        for set in 1..<MicroTrace.categorySetCount {
            cache.define(categorySet: CategorySetID(set), members: [UInt32(set - 1)])
        }
        let checked = PrefetchingRun(policy, context)
        var victims: [EntryID] = []
        for access in mixed(trace) {
            if access.isPrefetch && cache.contains(access.entry) { continue }
            _ = cache.access(access)
            _ = checked.access(access)
            cache.takeVictims(into: &victims)
        }
        #expect(!victims.isEmpty && victims == checked.outer.victims)
    }
}
