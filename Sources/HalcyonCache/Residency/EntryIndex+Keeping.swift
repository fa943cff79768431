import Foundation
import HalcyonEviction
import HalcyonSupport

// The state of a policy across starts. A policy is deterministic, so that it gets the state that it had by the calls
// that it had.

extension EntryIndex {
    /// An entry that is on the disk when a tier starts.
    struct FoundEntry {
        let key: String
        let cost: Int
        let accessed: Int64
        let deadline: Int64
        let categories: [String]
    }

    /// What the next start continues with; `nil` if the policy does not learn, or nothing is to be kept.
    var callsSource: CallsSource? {
        guard let calls else { return nil }
        let all = users.all
        return CallsSource(
            calls: calls, requests: requests, model: calls.isWhole ? nil : partitions[0].cache.trainedModel,
            keys: keys.names, released: keys.released, awaiting: awaitingRelease.elements, categories: categories.names,
            sets: categories.members, users: all.names, hashed: (names, categories.hashed, all.hashed))
    }

    /// Continues an empty index with what was kept. Of the entries that were resident then, those stay that are in
    /// `found`.
    ///
    /// Entries whose categories have a rule with limits are left out. The caller stores them.
    ///
    /// - Parameter found: the entries that are there, in the order of their last access.
    /// - Returns: the number of each of `found`, `EntryID.none` for one that the policy refused or evicted, and `nil`
    ///   for one that was left out. The reason why the kept model is not used, if there is one.
    mutating func restore(_ kept: KeptCalls, _ key: NameHashKey, found: [FoundEntry]) -> (
        entries: [EntryID?], fault: String?
    ) {
        guard keys.bound == 0, let calls = kept.cacheCalls, let numbered = kept.numberedKeys else {
            return (found.map { _ in nil }, nil)
        }
        (names.key, categories.hashed.key) = (key, key)
        let userNumbers = users.restore(kept.users, key)
        let members = kept.categories.map { categories.intern(categories.hashed.add($0, .category)) }
        let sets = [0] + kept.sets.map { categories.set(ofNumbers: $0.map { members[Int($0)] }) }
        keys.restore(
            numbered.map { ($0.number, names.add($0.hash, .key)) }, bound: kept.entryBound, last: kept.released)
        let start = startingPolicy(kept)
        partitions[0] = makePartition(nil, partitions[0].rule, start.policy)
        for partition in partitions.dropFirst() {
            for (set, members) in categories.members.enumerated().dropFirst() {
                partition.cache.define(categorySet: CategorySetID(set), members: members)
            }
        }
        var list = calls.mapped { call in
            var call = call
            call.access.categories = sets[Int(call.access.categories)]
            if call.access.user != .max { call.access.user = userNumbers[Int(call.access.user)] }
            return call
        }
        // What the policy knows of an entry's categories is what its last access named.
        list.forEach {
            if $0.access.entry != .none, $0.kind != .remove { notes[$0.access.entry].set = $0.access.categories }
        }
        let residents = found.map { found -> CacheCalls.Resident? in
            let set = set(of: found.categories)
            guard partition(of: set) == 0 else { return nil }
            let entry = keys.hasher.withHashed(found.key) { intern(found.key, $0) }
            notes[entry].set = set
            return CacheCalls.Resident(
                Access(
                    entry: entry, requestNumber: kept.requests, time: found.accessed, size: found.cost, categories: set),
                deadline: found.deadline)
        }
        let cache = partitions[0].cache
        list.replay(
            on: cache, residents: residents.compactMap { $0 }, end: EntryID(keys.bound),
            model: start.fault == nil ? kept.model.map { Array($0) } : nil)
        if self.calls != nil { self.calls = list }
        requests = kept.requests
        finishRestoring(awaiting: kept.awaiting)
        let entries = residents.map { one in
            one.map { cache.contains($0.access.entry) ? $0.access.entry : EntryID.none }
        }
        return (entries, start.fault)
    }

    /// Returns the policy that starts with the kept model, or the one of the tier and the reason why.
    private func startingPolicy(_ kept: KeptCalls) -> (policy: ConfiguredPolicy, fault: String?) {
        guard let model = kept.model else { return (policy, nil) }
        guard kept.resultVersion == Halcyon.resultVersion else {
            return (
                policy,
                "The kept model has result version \(kept.resultVersion) and this release has \(Halcyon.resultVersion): "
                    + "\(policy.info.name) starts without it."
            )
        }
        do { return (try policy.starting(with: Array(model)), nil) } catch {
            return (policy, "The kept model is not used: \(error.description)")
        }
    }

    /// Counts what is resident, and releases the numbers that neither the cache nor the policy needs.
    private mutating func finishRestoring(awaiting: [EntryID]) {
        let cache = partitions[0].cache
        let isFree = Set(keys.released)
        for entry in awaiting where !isFree.contains(entry) && !cache.contains(entry) && !notes[entry].awaitsRelease {
            notes[entry].awaitsRelease = true
            awaitingRelease.push(entry)
        }
        for entry in 0..<EntryID(keys.bound) where !isFree.contains(entry) {
            if cache.contains(entry) {
                counters.added(categories.members[Int(notes[entry].set)], cost: cache.lastSize(of: entry))
            } else {
                release(entry)
            }
        }
    }
}
