import HalcyonEviction

/// A rule that holds for every policy, and its check on small made-up traces.
///
/// A policy of your own is tested by:
///
/// ```swift
/// @Test("My policy keeps the rules", arguments: PolicyRule.allCases)
/// func keepsRules(rule: PolicyRule) { #expect(rule.breaches(of: ConfiguredPolicy(MyPolicy.self)) == []) }
/// ```
public enum PolicyRule: String, Sendable, CaseIterable, CustomStringConvertible {
    /// Calls come in order, a victim is resident, and the used size never exceeds the capacity.
    case bounds
    /// An object larger than the cache is refused and evicts nothing.
    case largeObjects
    /// Decisions on a prefix do not depend on later requests.
    case causality
    /// The same seed gives the same decisions, in batches of any size; without the trait `isRandomised` any seed does.
    case determinism
    /// Entries can be removed at any moment, and an emptied cache serves on.
    case removal

    /// The name of the rule.
    public var description: String { rawValue }

    /// Returns what a policy breaks, one sentence for each trace and capacity; empty if it keeps the rule.
    public func breaches(of policy: ConfiguredPolicy) -> [String] {
        switch self {
        case .bounds: Self.boundsBreaches(policy)
        case .largeObjects: Self.largeObjectBreaches(policy)
        case .causality: Self.causalityBreaches(policy)
        case .determinism: Self.determinismBreaches(policy)
        case .removal: Self.removalBreaches(policy)
        }
    }

    private static let everything = 1 << 40
    /// The capacities that ``bounds`` is checked at: from nothing to everything.
    public static let capacities = [0, 1, 2, 7, 40, 400, everything]

    private static func boundsBreaches(_ policy: ConfiguredPolicy) -> [String] {
        var breaches: [String] = []
        for trace in MicroTrace.all {
            for capacity in capacities {
                let place = "\(policy.label) on \(trace) at \(capacity)"
                let run = CheckedRun(policy, trace.context(for: policy, capacity: capacity))
                var overfull = 0
                var absent = 0
                for access in trace.accesses {
                    let outcome = run.cache.access(access)
                    if run.cache.contains(access.entry) != (outcome != .refused) { absent += 1 }
                    if outcome != .hit {
                        let used = run.cache.state.used
                        if used > capacity || used < 0 { overfull += 1 }
                    }
                }
                if overfull > 0 { breaches.append("\(place): the used size exceeds the capacity \(overfull) times.") }
                if absent > 0 { breaches.append("\(place): an outcome differs from what is resident \(absent) times.") }
                breaches += run.record.breaches.prefix(3).map { "\(place): \($0)." }
                // Where a part of the cache overflows a hit evicts, too.
                let state = run.cache.state
                if run.record.used != state.used || run.record.sizes.count != state.count {
                    breaches.append("\(place): the cache and the calls of the policy count different residents.")
                }
                if capacity == everything, !run.record.victims.isEmpty {
                    breaches.append("\(place): an entry is evicted although everything fits.")
                }
            }
        }
        return breaches
    }

    private static func largeObjectBreaches(_ policy: ConfiguredPolicy) -> [String] {
        guard !policy.info.traits.contains(.needsFuture) else { return [] }
        let run = CheckedRun(policy, PolicyContext(capacity: 10, usesUniformSizes: false))
        for entry in EntryID(0)..<5 { _ = run.cache.access(Access(entry: entry, requestNumber: Int(entry), size: 2)) }
        var breaches: [String] = []
        for (entry, size) in [(EntryID(9), 11), (10, .max)] {
            if run.cache.access(Access(entry: entry, requestNumber: Int(entry), size: size)) != .refused {
                breaches.append("\(policy.label): an object of \(size) is not refused at a capacity of 10.")
            }
        }
        if !run.record.victims.isEmpty { breaches.append("\(policy.label): an object that is refused evicts others.") }
        return breaches + run.record.breaches.map { "\(policy.label): \($0)." }
    }

    private static func causalityBreaches(_ policy: ConfiguredPolicy) -> [String] {
        guard !policy.info.traits.contains(.needsFuture) else { return [] }
        var breaches: [String] = []
        for trace in MicroTrace.all {
            let prefix = Array(trace.accesses.prefix(700))
            var context = trace.context(for: policy, capacity: 40)
            let alone = CheckedRun(policy, context)
            let expected = alone.serve(prefix, batchesOf: prefix.count)
            // A policy without the trait `needsFuture` must not read the future.
            context.future = FutureKnowledge(entries: trace.entries, entryCount: trace.objectCount)
            let whole = CheckedRun(policy, context)
            let outcomes = whole.serve(trace.accesses, batchesOf: trace.accesses.count)
            let events = whole.record.events.prefix(alone.record.events.count)
            if Array(outcomes.prefix(prefix.count)) != expected || Array(events) != alone.record.events {
                breaches.append("\(policy.label) on \(trace): decisions depend on later requests.")
            }
        }
        return breaches
    }

    private static func determinismBreaches(_ policy: ConfiguredPolicy) -> [String] {
        var breaches: [String] = []
        for trace in MicroTrace.all {
            let context = trace.context(for: policy, capacity: 40)
            let first = CheckedRun(policy, context)
            let outcomes = first.serve(trace.accesses)
            func require(_ run: CheckedRun, _ others: [AccessOutcome], _ what: String) {
                guard others != outcomes || run.record.events != first.record.events else { return }
                breaches.append("\(policy.label) on \(trace): decisions differ \(what).")
            }
            for size in [1, 7, 4096] {
                let again = CheckedRun(policy, context)
                require(again, again.serve(trace.accesses, batchesOf: size), "in batches of \(size)")
            }
            let growing = CheckedRun(policy, trace.context(for: policy, capacity: 40, roomForEntries: false))
            require(growing, growing.serve(trace.accesses), "if the number of entries is not known")
            guard !policy.info.traits.contains(.isRandomised) else { continue }
            let reseeded = CheckedRun(policy, trace.context(for: policy, capacity: 40, seed: 12345))
            require(reseeded, reseeded.serve(trace.accesses), "with another seed, without the trait isRandomised")
        }
        return breaches
    }

    private static func removalBreaches(_ policy: ConfiguredPolicy) -> [String] {
        var breaches: [String] = []
        for trace in MicroTrace.all {
            for capacity in [1, 7, 40, 400] {
                let place = "\(policy.label) on \(trace) at \(capacity)"
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
                if stillThere > 0 { breaches.append("\(place): \(stillThere) removed entries are still resident.") }
                if run.cache.state.used != 0 || run.cache.state.count != 0 {
                    breaches.append("\(place): a cache whose entries were all removed is not empty.")
                }
                // An emptied cache serves on.
                for access in trace.accesses.suffix(200) { _ = run.cache.access(access) }
                breaches += run.record.breaches.prefix(3).map { "\(place): \($0)." }
            }
        }
        return breaches
    }
}
