import HalcyonEviction
import HalcyonTrace

/// Replays a trace while it is read, for traces larger than memory.
///
/// Memory: what ``HalcyonTrace/TraceStream`` holds for each distinct key, and the policies' bookkeeping; nothing for each
/// request. What needs the whole trace beforehand cannot be asked: offline policies, shares of the distinct objects,
/// a warm-up share, a cache for each user.
public struct StreamReplay {
    /// The number of requests in each stretch of the series over time.
    public static let windowLength = 1_000_000

    private let path: String
    private let load: LoadOptions
    private let policies: [ConfiguredPolicy]
    private let capacities: [CapacityRequest]
    private let seed: UInt64

    /// A replay of the trace at `path`.
    ///
    /// - Throws: ``ReplayError`` for an offline policy or a capacity that is a share.
    public init(
        path: String, load: LoadOptions, policies: [ConfiguredPolicy], capacities: [CapacityRequest], seed: UInt64 = 1
    ) throws(ReplayError) {
        if let offline = policies.first(where: { $0.card.traits.contains(.needsFuture) }) {
            throw ReplayError.usage("\(offline.card.name) needs the whole trace beforehand, and a stream has none.")
        }
        for capacity in capacities { _ = try capacity.resolved(unit: .bytes, distinct: nil) }
        self.path = path
        self.load = load
        self.policies = policies
        self.capacities = capacities
        self.seed = seed
    }

    /// Reads the trace once and serves every policy at every capacity on the way.
    ///
    /// - Parameter notes: what else the reader should know.
    /// - Throws: ``HalcyonTrace/TraceError`` where the trace cannot be read, ``ReplayError`` if it is empty or a capacity
    ///   in bytes was asked for and no size is known.
    public func run(notes: [String] = []) throws -> ReplayReport {
        var stream = try TraceStream(path, load)
        var batch = StreamBatch()
        var members: [Member] = []
        for policy in policies {
            for capacity in capacities {
                members.append(Member(policy, capacity, costsAreOne: costsAreOne, seed: seed))
            }
        }
        var identity = StreamIdentity()
        var scratch = StreamColumns()
        var requests = 0
        while try stream.next(into: &batch) {
            scratch.fill(batch)
            identity.add(batch)
            for index in members.indices {
                members[index].serve(scratch, firstIndex: requests, sets: stream.categorySets)
            }
            requests += batch.entries.count
        }
        guard requests > 0 else { throw ReplayError.data("\(path): holds no request") }
        for capacity in capacities { _ = try capacity.resolved(unit: stream.costUnit, distinct: nil) }
        return ReplayReport(
            trace: TraceSummary(
                stream, path: path, requests: requests, identity: identity, notes: notes),
            runs: members.map {
                $0.result(unit: stream.costUnit, requests: requests, entries: identity.objects.count)
            })
    }

    private var costsAreOne: Bool { load.sizes == .unit }
}

/// One policy at one capacity, served batch by batch.
private struct Member {
    let policy: ConfiguredPolicy
    let asked: CapacityRequest
    let capacity: Int
    let cache: CacheRun
    let seed: UInt64
    var counts = Counts(windowLength: StreamReplay.windowLength)
    var seconds = 0.0
    var definedSets = 0

    init(_ policy: ConfiguredPolicy, _ asked: CapacityRequest, costsAreOne: Bool, seed: UInt64) {
        self.policy = policy
        self.asked = asked
        self.seed = seed
        // The replay's initialiser has resolved every capacity once, so none fails here.
        capacity = (try? asked.resolved(unit: .bytes, distinct: nil)) ?? 0
        cache = policy.makeCache(PolicyContext(capacity: capacity, everyCostIsOne: costsAreOne, seed: seed))
    }

    mutating func serve(_ columns: StreamColumns, firstIndex: Int, sets: CategorySets) {
        if policy.card.traits.contains(.usesCategories) {
            while definedSets < sets.count {
                cache.define(UInt32(definedSets), Array(sets[UInt32(definedSets)]))
                definedSets += 1
            }
        }
        let clock = ContinuousClock()
        let began = clock.now
        var outcomes = [AccessOutcome](repeating: .miss, count: columns.entries.count)
        columns.withBatch(firstIndex: firstIndex) { batch in
            outcomes.withUnsafeMutableBufferPointer { buffer in
                if let start = buffer.baseAddress { cache.replay(batch, start) }
            }
            outcomes.withUnsafeBufferPointer { buffer in
                var position = 0
                while position < buffer.count {
                    let length = counts.stretch(from: firstIndex + position, limit: buffer.count - position)
                    counts.count(
                        from: firstIndex + position,
                        UnsafeBufferPointer(rebasing: buffer[position..<position + length]),
                        costs: batch.costs.map { $0 + position }, categories: nil, users: nil)
                    position += length
                }
            }
        }
        seconds += (clock.now - began).inSeconds
    }

    func result(unit: CostUnit, requests: Int, entries: Int) -> RunResult {
        let state = cache.state()
        let empty = CacheState(used: 0, count: 0, evictions: 0, expirations: 0, metadataBytes: 0, metrics: [])
        var result = RunResult(
            policy, unit: unit, requests: requests, mode: .shared, options: ReplayOptions(seed: seed),
            Measured(counts: counts, caches: [(empty, state)], seconds: seconds), entries: entries)
        result.capacity = capacity
        result.capacityAsked = asked.description
        return result
    }
}
