import HalcyonEviction

/// Mithril: fetches what was asked for together with the block, each time that was asked for.
///
/// Misses are recorded with the number of the request. Blocks with R to S records are mined, M of them at a time. Two of
/// them are *weakly associated* if they have equally many records and none of these lies more than Δ requests from its
/// counterpart, and *strongly* if moreover two counterparts are consecutive requests. The earlier one of a pair fetches
/// the later one if they are strongly associated, or if no other block after it is associated with it sooner.
///
/// All users' requests are one sequence, as for the block device that the paper serves. An access is O(S), and once in M R
/// misses at least O(M (log M + Δ S)); a plan is O(P). Bytes: 8 an object, at most 128 MB: objects numbered 2²⁴ or more are
/// of no account; beside them 1.6 MB.
///
/// Yang, Karimi, Sæmundsson, Wildani, Vigfusson: MITHRIL: Mining sporadic associations for cache prefetching, SoCC 2017.
public final class MithrilPrefetch: PrefetchPolicy {
    private let lookahead: UInt32
    private var records: MithrilRecords
    private var rules: MithrilRules
    private var requests: UInt32 = 0
    private var minings = 0
    private var associations = 0

    /// Nothing is recorded yet.
    public init(_ context: PrefetchContext, parameters: MithrilParameters = MithrilParameters()) {
        lookahead = UInt32(parameters.lookahead)
        records = MithrilRecords(parameters)
        rules = MithrilRules(parameters)
    }

    public func note(_ access: Access, isHit: Bool) {
        requests &+= 1
        guard !isHit, access.object < BaselineBounds.objects else { return }
        records.record(access.object, at: requests)
        if records.isFull { mine() }
    }

    public func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        var missing = outlook.limit
        for object in rules[access.object].reversed() {
            guard missing > 0 else { return }
            if object == access.object || outlook.holds(object) { continue }
            plan.propose(object)
            missing -= 1
        }
    }

    public var metadataBytes: Int { records.byteCount + rules.byteCount }

    public var metrics: [PolicyMetric] {
        [PolicyMetric("minings", Double(minings)), PolicyMetric("associations", Double(associations))]
    }

    private func mine() {
        minings += 1
        // No two blocks have the same first record: one request is for one block.
        let order = (0..<records.ready).sorted { records.times(at: $0)[0] < records.times(at: $1)[0] }
        for place in order.indices {
            let times = records.times(at: order[place])
            var isFirst = true
            for later in order[(place + 1)...] {
                let others = records.times(at: later)
                if others[0] &- times[0] > lookahead { break }
                guard let isStrong = association(times, others), isStrong || isFirst else { continue }
                isFirst = false
                associations += 1
                rules.add(records.block(at: later), to: records.block(at: order[place]))
            }
        }
        records.forgetMined()
    }

    /// Whether two blocks are strongly associated; `nil` if not even weakly.
    private func association(_ times: UnsafeBufferPointer<UInt32>, _ others: UnsafeBufferPointer<UInt32>) -> Bool? {
        guard times.count == others.count else { return nil }
        var isStrong = false
        for record in times.indices {
            let (one, other) = (times[record], others[record])
            let distance = max(one, other) - min(one, other)
            if distance > lookahead { return nil }
            if distance == 1 { isStrong = true }
        }
        return isStrong
    }
}

/// What Mithril may be given; Δ, R, S and P are by default what its authors' own code has.
///
/// The tables' sizes are not. There M is 2,560, for disks of millions of blocks; a shop or a feed has some thousand objects,
/// of which never so many are ready at a time, so that nothing would ever be mined. The other tables are shares of a
/// cache's bytes there, which nobody knows here.
public struct MithrilParameters: Sendable {
    /// Δ: how many requests apart associated blocks are asked for at most.
    public var lookahead = 20
    /// R: after how many records a block is ready to be mined.
    public var minSupport = 2
    /// S: a block with more records than this is frequent, so not sporadic, and dropped.
    public var maxSupport = 8
    /// M: how many blocks are mined together.
    public var miningRows = 256
    /// How many blocks with fewer than R records are kept; the oldest makes room.
    public var recordingRows = 1 << 15
    /// P: how many associated blocks are kept for one; the oldest makes room.
    public var listLength = 2
    /// How many blocks have associated ones; the oldest makes room.
    public var prefetchingRows = 1 << 16

    /// The defaults.
    public init() {}
}
