import HalcyonEviction
import HalcyonTrace

/// Replays a trace while it is read, for traces larger than memory.
///
/// Memory: what ``HalcyonTrace/TraceStream`` holds for each distinct key, and the policies' bookkeeping; nothing for each
/// request. What needs the whole trace beforehand cannot be asked: offline policies, shares of the distinct objects,
/// a warm-up share, a cache for each user. Sizes are uniform until one differs; see ``run(notes:)``.
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
        if let offline = policies.first(where: { $0.info.traits.contains(.needsFuture) }) {
            throw ReplayError.usage("\(offline.info.name) needs the whole trace beforehand, and a stream has none.")
        }
        for capacity in capacities { _ = try capacity.resolved(unit: .bytes, distinct: nil) }
        self.path = path
        self.load = load
        self.policies = policies
        self.capacities = capacities
        self.seed = seed
    }

    /// Reads the trace and serves every policy at every capacity on the way.
    ///
    /// Sizes are taken for uniform as long as all requests so far have the same size. Where a later request has another
    /// one, the replay starts again from the beginning with variable sizes, which reads that part of the file twice. The
    /// requests of the first piece (about 1 MB of text) are looked at before any of them is served.
    ///
    /// - Parameter notes: what else the reader should know.
    /// - Throws: ``HalcyonTrace/TraceError`` where the trace cannot be read. ``ReplayError`` if it is empty, or if a
    ///   capacity in bytes was asked for and no size is known. ``ReplayError`` also where sizes vary only after the first
    ///   piece of a source that can be read once.
    public func run(notes: [String] = []) throws -> ReplayReport {
        switch try pass(expectsUniformSizes: true, notes) {
        case .finished(let report): return report
        case .sizeChanged(let change):
            guard TraceStream.canReadAgain(path) else { throw ReplayError.data("\(path): \(change.sentence)") }
        }
        guard case .finished(let report) = try pass(expectsUniformSizes: false, notes) else {
            preconditionFailure("A replay with variable sizes takes every size.")
        }
        return report
    }

    /// How a pass over the trace ended.
    private enum Ending {
        case finished(ReplayReport)
        case sizeChanged(SizeChange)
    }

    private func pass(expectsUniformSizes: Bool, _ notes: [String]) throws -> Ending {
        var stream = try TraceStream(path, load)
        var batch = StreamBatch()
        guard try stream.next(into: &batch) else { throw ReplayError.data("\(path): holds no request") }
        let size = batch.sizes[0]
        let isUniform = expectsUniformSizes && batch.sizes.allSatisfy { $0 == size }
        let unit = CacheUnit(uniformSize: isUniform ? size : nil)
        var members = policies.flatMap { policy in
            capacities.map { Member(policy, $0, unit: unit, seed: seed) }
        }
        var identity = StreamIdentity()
        var scratch = StreamColumns()
        var requests = 0
        repeat {
            if isUniform, load.sizes != .unit, let other = batch.sizes.firstIndex(where: { $0 != size }) {
                return .sizeChanged(
                    SizeChange(
                        request: max(load.skip, 0) + requests + other + 1, size: batch.sizes[other], sizeBefore: size))
            }
            scratch.fill(batch, unit: unit)
            identity.add(batch)
            for index in members.indices {
                members[index].serve(scratch, firstRequest: requests, sets: stream.categorySets)
            }
            requests += batch.entries.count
        } while try stream.next(into: &batch)
        for capacity in capacities { _ = try capacity.resolved(unit: stream.sizeUnit, distinct: nil) }
        return .finished(
            ReplayReport(
                trace: TraceSummary(
                    stream, path: path, requests: requests, identity: identity, notes: notes),
                runs: members.map {
                    $0.result(unit: stream.sizeUnit, requests: requests, objects: identity.objects.count)
                }))
    }
}

/// The first request of a stream whose size differs from that of all requests before it.
private struct SizeChange {
    /// The number of the request in the trace, from 1.
    let request: Int
    let size: UInt64
    let sizeBefore: UInt64

    /// Why the replay of a source that can be read only once ends here, and what to do.
    var sentence: String {
        "request \(request) has the size \(size) and all before it have the size \(sizeBefore); a replay that took sizes "
            + "for equal has to start again, and this source can be read only once: save it as a file."
    }
}

/// One policy at one capacity, served batch by batch.
private struct Member {
    let policy: ConfiguredPolicy
    let asked: CapacityRequest
    let capacity: Int
    let cache: CacheRun
    let seed: UInt64
    var counts: Counts
    var seconds = 0.0
    var definedSets = 0

    init(_ policy: ConfiguredPolicy, _ asked: CapacityRequest, unit: CacheUnit, seed: UInt64) {
        self.policy = policy
        self.asked = asked
        self.seed = seed
        // The replay's initialiser has resolved every capacity once, so none fails here.
        capacity = (try? asked.resolved(unit: .bytes, distinct: nil)) ?? 0
        cache = policy.makeCache(unit.context(capacity: capacity, seed: seed))
        counts = Counts(windowLength: StreamReplay.windowLength, unit: unit)
    }

    mutating func serve(_ columns: StreamColumns, firstRequest: Int, sets: CategorySets) {
        if policy.info.traits.contains(.usesCategories) {
            while definedSets < sets.count {
                cache.define(UInt32(definedSets), Array(sets[UInt32(definedSets)]))
                definedSets += 1
            }
        }
        let clock = ContinuousClock()
        let began = clock.now
        var outcomes = [AccessOutcome](repeating: .miss, count: columns.entries.count)
        columns.withBatch(firstRequest: firstRequest) { batch in
            outcomes.withUnsafeMutableBufferPointer { buffer in
                if let start = buffer.baseAddress { cache.replay(batch, start) }
            }
            outcomes.withUnsafeBufferPointer { buffer in
                var position = 0
                while position < buffer.count {
                    let length = counts.stretch(from: firstRequest + position, limit: buffer.count - position)
                    counts.count(
                        from: firstRequest + position,
                        UnsafeBufferPointer(rebasing: buffer[position..<position + length]),
                        sizes: batch.sizes.map { $0 + position }, categories: nil, users: nil)
                    position += length
                }
            }
        }
        seconds += (clock.now - began).inSeconds
    }

    /// - Parameter objects: the distinct objects of the requests that were served.
    func result(unit: SizeUnit, requests: Int, objects: Int) -> RunResult {
        let state = cache.state()
        var entries = EntryCounts()
        entries.add(cache, numbers: objects)
        let empty = CacheState(
            used: 0, count: 0, evictions: 0, expirations: 0, metadataBytes: MetadataBytes(), metrics: [])
        var result = RunResult(
            policy, unit: unit, requests: requests, mode: .shared, options: ReplayOptions(seed: seed),
            Measured(counts: counts, caches: [(empty, state)], seconds: seconds, entries: entries))
        result.capacity = capacity
        result.capacityAsked = asked.description
        return result
    }
}
