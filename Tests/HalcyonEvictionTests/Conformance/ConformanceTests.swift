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
    static let capacities = [0, 1, 2, 7, 40, 400, 1 << 40]

    @Test("Calls come in order, a victim is resident, and used bytes never exceed the capacity", arguments: layered)
    func callsAreOrderedVictimsResidentAndCapacityKept(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        for trace in MicroTrace.all {
            for capacity in Self.capacities {
                let run = CheckedRun(policy, trace.context(for: policy, capacity: capacity))
                var overfull = 0
                var used = 0
                for access in trace.accesses {
                    let outcome = run.cache.access(access)
                    if run.cache.contains(access.entry) != (outcome != .refused) { overfull += 1 }
                    if outcome != .hit {
                        used = run.cache.state.used
                        if used > capacity || used < 0 { overfull += 1 }
                    }
                }
                #expect(overfull == 0, "\(name) on \(trace) at \(capacity)")
                #expect(
                    run.record.breaches.isEmpty, "\(name) on \(trace) at \(capacity): \(run.record.breaches.prefix(3))")
                // Where a part of the cache overflows a hit evicts, too.
                let state = run.cache.state
                #expect(run.record.used == state.used && run.record.sizes.count == state.count)
                if capacity == 1 << 40 { #expect(run.record.victims.isEmpty, "everything fits") }
            }
        }
    }

    @Test("An object larger than the cache is refused and evicts nothing", arguments: layered)
    func objectLargerThanTheCacheIsRefused(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        guard !policy.info.traits.contains(.needsFuture) else { return }
        let run = CheckedRun(policy, PolicyContext(capacity: 10, usesUniformSizes: false))
        for entry in EntryID(0)..<5 { _ = run.cache.access(Access(entry: entry, requestNumber: Int(entry), size: 2)) }
        #expect(run.cache.access(Access(entry: 9, requestNumber: 5, size: 11)) == .refused)
        #expect(run.cache.access(Access(entry: 10, requestNumber: 6, size: .max)) == .refused)
        #expect(run.record.victims.isEmpty)
        #expect(run.record.breaches.isEmpty, "\(run.record.breaches)")
    }

    @Test("Decisions on a prefix do not depend on later requests", arguments: names + behindAdaptSize)
    func decisionsDoNotDependOnLaterRequests(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        guard !policy.info.traits.contains(.needsFuture) else { return }
        for trace in MicroTrace.all {
            let prefix = Array(trace.accesses.prefix(700))
            var context = trace.context(for: policy, capacity: 40)
            let alone = CheckedRun(policy, context)
            let expected = alone.serve(prefix, batchesOf: prefix.count)
            // A policy without the trait `needsFuture` must not read the future.
            context.future = FutureKnowledge(entries: trace.entries, entryCount: trace.objectCount)
            let whole = CheckedRun(policy, context)
            let outcomes = whole.serve(trace.accesses, batchesOf: trace.accesses.count)
            #expect(Array(outcomes.prefix(prefix.count)) == expected, "\(name) on \(trace)")
            #expect(Array(whole.record.events.prefix(alone.record.events.count)) == alone.record.events)
        }
    }

    @Test(
        "The same seed gives the same decisions in batches of any size", arguments: names + behindAdaptSize)
    func sameSeedGivesSameDecisionsInAnyBatches(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        for trace in MicroTrace.all {
            let context = trace.context(for: policy, capacity: 40)
            let first = CheckedRun(policy, context)
            let outcomes = first.serve(trace.accesses)
            for size in [1, 7, 4096] {
                let again = CheckedRun(policy, context)
                #expect(
                    again.serve(trace.accesses, batchesOf: size) == outcomes, "\(name) on \(trace), batches of \(size)")
                #expect(again.record.events == first.record.events)
            }
            let growing = CheckedRun(policy, trace.context(for: policy, capacity: 40, roomForEntries: false))
            #expect(growing.serve(trace.accesses) == outcomes, "\(name) on \(trace), growing from nothing")
            #expect(growing.record.events == first.record.events)
            guard !policy.info.traits.contains(.isRandomised) else { continue }
            let reseeded = CheckedRun(policy, trace.context(for: policy, capacity: 40, seed: 12345))
            #expect(reseeded.serve(trace.accesses) == outcomes, "\(name) on \(trace) looks at the seed")
        }
    }

    @Test("Entries can be removed at any moment", arguments: layered)
    func entriesCanBeRemovedAtAnyMoment(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        for trace in MicroTrace.all {
            for capacity in [1, 7, 40, 400] {
                var random = SplitMix64(seed: 3)
                let run = CheckedRun(policy, trace.context(for: policy, capacity: capacity))
                var stillThere = 0
                for access in trace.accesses {
                    _ = run.cache.access(access)
                    guard random.next(below: 4) == 0 else { continue }
                    let recent = trace.accesses[max(0, access.requestNumber - random.next(below: 60))].entry
                    run.cache.remove(recent)
                    if run.cache.contains(recent) { stillThere += 1 }
                }
                for entry in 0..<EntryID(trace.objectCount) { run.cache.remove(entry) }
                #expect(stillThere == 0)
                #expect(
                    run.record.breaches.isEmpty, "\(name) on \(trace) at \(capacity): \(run.record.breaches.prefix(3))")
                #expect(run.cache.state.used == 0 && run.cache.state.count == 0, "emptied by hand")
                // An emptied cache serves on.
                for access in trace.accesses.suffix(200) { _ = run.cache.access(access) }
                #expect(run.record.breaches.isEmpty, "\(name) after it was emptied: \(run.record.breaches.prefix(3))")
            }
        }
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
