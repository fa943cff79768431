import HalcyonEviction

/// Mithril: prefetches the blocks that were repeatedly requested together with the requested block.
///
/// Misses are recorded with the number of the request. Blocks with R to S records are mined, M of them at a time. Two
/// blocks are *weakly associated* if they have equally many records and no record is more than Δ requests from its
/// counterpart. They are *strongly associated* if moreover two counterparts are consecutive requests. The earlier
/// block of a pair prefetches the later one if they are strongly associated, or if the later one is the first that is
/// associated with it.
///
/// The requests of all users are one sequence, as for the block storage of the paper. An access is O(S); once in M R
/// misses it is at least O(M (log M + Δ S)). A plan is O(P). Bytes: 8 an object, at most 128 MB, and 1.9 MB. Objects
/// numbered 2²⁴ or more are ignored.
///
/// Yang, Karimi, Sæmundsson, Wildani, Vigfusson: MITHRIL: Mining sporadic associations for cache prefetching, SoCC
/// 2017.
public final class MithrilPrefetch: PrefetchPolicy {
    private let lookahead: Int
    private var records: MithrilRecords
    private var rules: MithrilRules
    /// The number of requests.
    var requests = 0
    private var minings = 0
    private var associations = 0

    /// Creates a policy that has recorded nothing.
    public init(_ context: PrefetchContext, parameters: MithrilParameters = MithrilParameters()) {
        lookahead = parameters.lookahead
        records = MithrilRecords(parameters)
        rules = MithrilRules(parameters)
    }

    public func note(_ access: Access, isHit: Bool) {
        requests += 1
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
                if others[0] - times[0] > lookahead { break }
                guard let isStrong = association(times, others), isStrong || isFirst else { continue }
                isFirst = false
                associations += 1
                rules.add(records.block(at: later), to: records.block(at: order[place]))
            }
        }
        records.forgetMined()
    }

    /// Returns whether two blocks are strongly associated; `nil` if they are not even weakly associated.
    private func association(_ times: UnsafeBufferPointer<Int>, _ others: UnsafeBufferPointer<Int>) -> Bool? {
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

/// The parameters of Mithril. Δ, R, S and P have the defaults of the authors' code.
///
/// The table sizes differ. The authors use M = 2,560, for disks of millions of blocks. A shop or a feed has some
/// thousand objects, of which never so many are ready at a time, so nothing would ever be mined. The authors' other
/// tables are shares of a cache's bytes, which is not known here.
public struct MithrilParameters: Sendable {
    /// Δ: the maximum distance of associated blocks, in requests.
    public var lookahead = 20
    /// R: the number of records at which a block is ready to be mined.
    public var minSupport = 2
    /// S: the maximum number of records. A block with more is frequent, so not sporadic, and is dropped.
    public var maxSupport = 8
    /// M: the number of blocks that are mined together.
    public var miningRows = 256
    /// The maximum number of blocks with fewer than R records; the oldest is replaced.
    public var recordingRows = 1 << 15
    /// P: the maximum number of associated blocks of one block; the oldest is replaced.
    public var listLength = 2
    /// The maximum number of blocks with associated ones; the oldest is replaced.
    public var prefetchingRows = 1 << 16

    /// Creates the default parameters.
    public init() {}
}
