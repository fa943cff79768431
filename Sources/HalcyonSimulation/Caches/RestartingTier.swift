import HalcyonEviction

/// A tier of a device whose app is killed between visits: what the live library writes of it, and how it starts from
/// that.
///
/// A restart is O(calls + entries). Bytes: about 15 a call, and those of the last access of each entry.
struct RestartingTier {
    private let policy: ConfiguredPolicy
    private let context: PolicyContext
    /// Whether the residents stay.
    private let keepsResidents: Bool
    private var calls: CacheCalls
    private var last: [EntryID: Access] = [:]
    private var sets: [(number: CategorySetID, members: [UInt32])] = []

    init(_ policy: ConfiguredPolicy, _ context: PolicyContext, keepsResidents: Bool, options: RestartOptions) {
        (self.policy, self.context, self.keepsResidents) = (policy, context, keepsResidents)
        calls = CacheCalls(most: options.calls)
        // Nothing is written of a policy that does not learn.
        if !policy.learns { calls.isWhole = false }
    }

    /// The bytes of the calls.
    var byteCount: Int { calls.byteCount }

    mutating func define(_ set: CategorySetID, _ members: [UInt32]) { sets.append((set, members)) }

    /// Notes an access that the tier is about to receive.
    mutating func note(_ access: Access) {
        if policy.learns { calls.append(CacheCalls.Call(.request, access)) }
        if keepsResidents { last[access.entry] = access }
    }

    /// Notes that an entry is about to be removed.
    mutating func note(removed entry: EntryID) { if policy.learns { calls.append(.removal(of: entry)) } }

    /// Returns the cache with which the next visit starts, at a time in microseconds.
    mutating func restart(_ cache: AnyCache, at time: Int64) -> AnyCache {
        var (starting, model): (ConfiguredPolicy, [UInt8]?) = (policy, nil)
        if policy.learns {
            // As a file has them.
            guard let kept = CacheCalls(calls.bytes, most: calls.most) else {
                preconditionFailure("the calls as bytes")
            }
            calls = kept
            // A live cache does not use a model that cannot be read, such as one with weights out of range.
            if !kept.isWhole, let trained = cache.trainedModel, let continuing = try? policy.starting(with: trained) {
                (starting, model) = (continuing, trained)
            }
        }
        let fresh = starting.makeCache(context)
        for (number, members) in sets { fresh.define(categorySet: number, members: members) }
        last = last.filter { cache.contains($0.key, freshAt: time) }
        let residents = last.values.sorted { ($0.requestNumber, $0.entry) < ($1.requestNumber, $1.entry) }.map { one in
            CacheCalls.Resident(one, deadline: cache.deadline(of: one.entry))
        }
        calls.replay(on: fresh, residents: residents, end: EntryID(context.entries), model: model)
        if !policy.learns { calls.removeAll() }
        return fresh
    }
}
