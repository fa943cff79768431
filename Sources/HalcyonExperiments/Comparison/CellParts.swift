import HalcyonSimulation

/// Cells that were each run for a part of the users, put together by the cell that they are parts of.
struct CellParts {
    /// A whole cell with its parts.
    struct Sum {
        /// The name of the whole cell.
        let hash: String
        /// The whole cell.
        let cell: StoredCell
        /// The names of the parts, in their order.
        let parts: [String]
    }

    /// Parts that do not make a whole cell.
    struct Incomplete {
        /// The name of the whole cell.
        let whole: String
        /// The names of the parts, in their order.
        let parts: [String]
        /// The reason, as a sentence.
        let sentence: String
    }

    /// The cells of which all parts are there, in the order of their names.
    private(set) var sums: [Sum] = []
    /// The other parts, in the order of the names of their cells.
    private(set) var incomplete: [Incomplete] = []

    private struct Key: Hashable {
        let whole: CellIdentity
        let count: Int
    }

    /// Adds up parts. O(parts × units).
    ///
    /// - Parameter parts: cells whose identity names a part of the users, with the names of the cells.
    /// - Throws: `ReplayError.data(_:)` if a part is not named as i/n, or two parts of a cell do not fit together.
    init(_ parts: [(hash: String, cell: StoredCell)]) throws(ReplayError) {
        var groups: [Key: [Int: (hash: String, cell: StoredCell)]] = [:]
        for (hash, cell) in parts {
            let part: Shard
            do { part = try Shard(parsing: cell.identity.users ?? "") } catch {
                throw .data("The cell \(hash): \(error)")
            }
            var whole = cell.identity
            whole.users = nil
            groups[Key(whole: whole, count: part.count), default: [:]][part.number] = (hash, cell)
        }
        for (key, members) in groups.map({ (hash: $0.key.whole.hash, key: $0.key, parts: $0.value) })
            .sorted(by: { ($0.hash, $0.key.count) < ($1.hash, $1.key.count) }).map({ ($0.key, $0.parts) })
        {
            let sorted = members.sorted { $0.key < $1.key }.map(\.value)
            guard let first = sorted.first else { continue }
            let missing = (1...key.count).filter { members[$0] == nil }
            let name = ResultRow(first.cell, hash: first.hash, provenance: nil).words
            if missing.isEmpty, first.cell.latency == nil {
                let cell = try Self.sum(sorted, whole: key.whole)
                sums.append(Sum(hash: key.whole.hash, cell: cell, parts: sorted.map(\.hash)))
                continue
            }
            let reason =
                missing.isEmpty
                ? "parts of two tiers cannot be added up, because percentiles of latencies cannot; run it without --users"
                : "\(missing.count.counted("part")) of \(key.count) \(missing.count == 1 ? "is" : "are") missing: "
                    + missing.prefix(20).map { "\($0)/\(key.count)" }.joined(separator: ", ")
                    + (missing.count > 20 ? ", …" : "")
            incomplete.append(
                Incomplete(whole: key.whole.hash, parts: sorted.map(\.hash), sentence: "\(name): \(reason)."))
        }
    }

    /// Returns the whole cell. Counts are whole numbers, so the sum is exact.
    private static func sum(
        _ parts: [(hash: String, cell: StoredCell)], whole: CellIdentity
    ) throws(ReplayError) -> StoredCell {
        var sum = parts[0].cell
        sum.identity = whole
        for (hash, cell) in parts.dropFirst() {
            let units = cell.units
            guard cell.trace == sum.trace, cell.label == sum.label, cell.capacity == sum.capacity,
                cell.memoryCapacity == sum.memoryCapacity, cell.latency == nil, units.kind == sum.units.kind,
                units.requests.count == sum.units.requests.count, (units.sizes == nil) == (sum.units.sizes == nil),
                (units.hitSizes == nil) == (sum.units.hitSizes == nil), cell.series.window == sum.series.window,
                cell.series.hits.count == sum.series.hits.count
            else {
                throw .data(
                    "The cells \(parts[0].hash) and \(hash) are parts of one cell, but do not fit together: run one of them "
                        + "again.")
            }
            sum.counts.add(cell.counts)
            func added(_ one: [Int], _ other: [Int]) -> [Int] { zip(one, other).map { $0 + $1 } }
            sum.units.requests = added(sum.units.requests, units.requests)
            sum.units.hits = added(sum.units.hits, units.hits)
            if let sizes = sum.units.sizes, let more = units.sizes { sum.units.sizes = added(sizes, more) }
            if let sizes = sum.units.hitSizes, let more = units.hitSizes { sum.units.hitSizes = added(sizes, more) }
            sum.series.hits = added(sum.series.hits, cell.series.hits)
        }
        return sum
    }
}

extension StoredCell.Counts {
    /// Adds the counts of other requests.
    mutating func add(_ other: StoredCell.Counts) {
        requests += other.requests
        hits += other.hits
        size += other.size
        hitSize += other.hitSize
        evictions += other.evictions
        refused += other.refused
        refusedTooLarge += other.refusedTooLarge
        stale += other.stale
        warmupRequests += other.warmupRequests
        func added(_ one: Int?, _ other: Int?) -> Int? { one.map { $0 + (other ?? 0) } ?? other }
        prefetched = added(prefetched, other.prefetched)
        prefetchesUsed = added(prefetchesUsed, other.prefetchesUsed)
        prefetchesLate = added(prefetchesLate, other.prefetchesLate)
        announcedBytes = added(announcedBytes, other.announcedBytes)
        listOpenings = added(listOpenings, other.listOpenings)
        listHits = added(listHits, other.listHits)
        prefetchedSize = added(prefetchedSize, other.prefetchedSize)
        prefetchWastedSize = added(prefetchWastedSize, other.prefetchWastedSize)
        memoryHits = added(memoryHits, other.memoryHits)
        diskHits = added(diskHits, other.diskHits)
        networkFetches = added(networkFetches, other.networkFetches)
    }
}
