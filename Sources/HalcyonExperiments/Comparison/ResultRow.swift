import Foundation
import HalcyonSimulation

/// A stored cell as one row of named values: its identity, its counts and how it was run, flattened.
///
/// Names are those of `halcyon.cell/1`. A value that a cell does not have is absent.
public struct ResultRow: Sendable {
    /// A value of a row.
    package enum Value: Sendable, Equatable {
        /// Text.
        case text(String)
        /// A whole number.
        case whole(Int64)
        /// A real number.
        case real(Double)
        /// A truth value.
        case truth(Bool)

        /// The value as text: whole numbers in digits, real numbers with the fewest digits that read as the same number.
        package var text: String {
            switch self {
            case .text(let text): text
            case .whole(let number): "\(number)"
            case .real(let number): "\(number)"
            case .truth(let truth): "\(truth)"
            }
        }
    }

    /// The name of the cell's file.
    package let hash: String
    /// The cell.
    package let cell: StoredCell
    /// How it was run. Nil if that is not stored.
    package let provenance: CellProvenance?

    /// Creates a row. O(1), because a value is made when it is asked for.
    package init(_ cell: StoredCell, hash: String, provenance: CellProvenance?) {
        self.hash = hash
        self.cell = cell
        self.provenance = provenance
    }

    /// The prefix of columns for the parameters of a policy.
    static let prefix = "p_"

    /// Returns the value of a column; `nil` if the cell does not have it.
    package subscript(column: String) -> Value? {
        if column == "hash" { return .text(hash) }
        if let value = Self.columnsByName[column] { return value(cell, provenance) }
        guard column.hasPrefix(Self.prefix) else { return nil }
        return cell.identity.parameters[String(column.dropFirst(Self.prefix.count))].map { .text($0) }
    }

    /// The names of the columns of some rows, in order: the fixed ones, then one for each parameter of a policy.
    package static func columnNames(_ rows: [ResultRow]) -> [String] {
        var parameters: Set<String> = []
        for row in rows { parameters.formUnion(row.cell.identity.parameters.keys) }
        return ["hash"] + columns.map(\.name) + parameters.sorted().map { prefix + $0 }
    }

    private typealias Column = (name: String, value: @Sendable (StoredCell, CellProvenance?) -> Value?)

    private static let columns: [Column] = identityColumns + countColumns + provenanceColumns
    private static let columnsByName = Dictionary(uniqueKeysWithValues: columns.map { ($0.name, $0.value) })

    private static let identityColumns: [Column] = [
        ("trace", { cell, _ in .text(cell.trace.name) }), ("policy", { cell, _ in .text(cell.identity.policy) }),
        ("label", { cell, _ in .text(cell.label) }),
        ("parameters", { cell, _ in json(cell.identity.parameters) }),
        ("mode", { cell, _ in .text(cell.identity.mode.rawValue) }),
        ("knowledge", { cell, _ in cell.identity.knowledge.map { .text($0.rawValue) } }),
        ("capacity", { cell, _ in cell.identity.capacity.map { .text($0) } }),
        ("capacity_size", { cell, _ in .whole(Int64(cell.capacity)) }),
        ("memory_capacity_size", { cell, _ in whole(cell.memoryCapacity) }),
        ("size_unit", { cell, _ in .text(cell.trace.sizeUnit.rawValue) }),
        ("tiers", { cell, _ in cell.identity.tiers.flatMap { json($0) } }),
        ("labels", { cell, _ in .text(cell.identity.labels) }),
        ("label_control", { cell, _ in .text(cell.identity.labelControl) }),
        ("permutation", { cell, _ in cell.identity.permutation.map { .whole(Int64($0)) } }),
        (
            "seed",
            { cell, _ in cell.identity.seed.map { seed in Int64(exactly: seed).map { .whole($0) } ?? .text("\(seed)") }
            }
        ),
        ("prefetch", { cell, _ in cell.identity.prefetch.map { .text($0.policy) } }),
        ("prefetch_parameters", { cell, _ in cell.identity.prefetch.flatMap { json($0.parameters) } }),
        ("prefetch_budget", { cell, _ in cell.identity.prefetch.map { .text($0.budget) } }),
        ("prefetch_latency_us", { cell, _ in cell.identity.prefetch.map { .whole($0.latencyUs) } }),
        ("announce", { cell, _ in cell.identity.announce.map { .text($0) } }),
        ("pretrain", { cell, _ in cell.identity.pretrain.map { .text($0) } }),
        ("restart", { cell, _ in cell.identity.restart.map { .text($0) } }),
        ("time_resolution_us", { cell, _ in cell.trace.timeResolutionUs.map { .whole($0) } }),
        ("warmup", { cell, _ in .text(cell.identity.warmup) }),
        ("users_part", { cell, _ in cell.identity.users.map { .text($0) } }),
        ("result_version", { cell, _ in .whole(Int64(cell.identity.resultVersion)) }),
        ("kernels", { cell, _ in cell.identity.kernels.map { .text($0) } }),
        ("fingerprint", { cell, _ in .text(cell.identity.fingerprint) }),
    ]

    private static let countColumns: [Column] = [
        ("trace_requests", { cell, _ in whole(cell.trace.requests) }),
        ("trace_objects", { cell, _ in whole(cell.trace.objects) }),
        ("trace_users", { cell, _ in whole(cell.trace.users) }),
        ("trace_categories", { cell, _ in whole(cell.trace.categories) }),
        ("trace_distinct_size", { cell, _ in whole(cell.trace.distinctSize) }),
        ("requests", { cell, _ in whole(cell.counts.requests) }), ("hits", { cell, _ in whole(cell.counts.hits) }),
        ("size", { cell, _ in whole(cell.counts.size) }), ("hit_size", { cell, _ in whole(cell.counts.hitSize) }),
        ("evictions", { cell, _ in whole(cell.counts.evictions) }),
        ("refused", { cell, _ in whole(cell.counts.refused) }),
        ("refused_too_large", { cell, _ in whole(cell.counts.refusedTooLarge) }),
        ("stale", { cell, _ in whole(cell.counts.stale) }),
        ("warmup_requests", { cell, _ in whole(cell.counts.warmupRequests) }),
        ("prefetched", { cell, _ in whole(cell.counts.prefetched) }),
        ("prefetches_used", { cell, _ in whole(cell.counts.prefetchesUsed) }),
        ("announced_bytes", { cell, _ in whole(cell.counts.announcedBytes) }),
        ("list_openings", { cell, _ in whole(cell.counts.listOpenings) }),
        ("list_hits", { cell, _ in whole(cell.counts.listHits) }),
        ("prefetches_late", { cell, _ in whole(cell.counts.prefetchesLate) }),
        ("prefetched_size", { cell, _ in whole(cell.counts.prefetchedSize) }),
        ("prefetch_wasted_size", { cell, _ in whole(cell.counts.prefetchWastedSize) }),
        ("memory_hits", { cell, _ in whole(cell.counts.memoryHits) }),
        ("disk_hits", { cell, _ in whole(cell.counts.diskHits) }),
        ("network_fetches", { cell, _ in whole(cell.counts.networkFetches) }),
        ("object_hit_ratio", { cell, _ in cell.counts.requests == 0 ? nil : .real(cell.objectHitRatio) }),
        ("byte_hit_ratio", { cell, _ in cell.counts.size == 0 ? nil : .real(cell.byteHitRatio) }),
        ("latency_mean_ms", { cell, _ in cell.latency.flatMap { Double($0.meanMs) }.map { .real($0) } }),
        ("latency_p99_ms", { cell, _ in cell.latency.flatMap { Double($0.p99Ms) }.map { .real($0) } }),
        ("unit_kind", { cell, _ in .text(cell.units.kind.rawValue) }),
        ("units", { cell, _ in whole(cell.units.requests.count) }),
    ]

    private static let provenanceColumns: [Column] = [
        ("build_id", { _, run in run.map { .text($0.buildId) } }),
        ("halcyon_version", { _, run in run.map { .text($0.halcyonVersion) } }),
        ("is_optimised", { _, run in run.map { .truth($0.isOptimised) } }),
        ("host", { _, run in run.map { .text($0.host) } }), ("system", { _, run in run.map { .text($0.system) } }),
        ("cores", { _, run in whole(run?.cores) }),
        ("kernels_used", { _, run in run.map { .text($0.kernels.joined(separator: "; ")) } }),
        ("seconds", { _, run in run.map { .real($0.seconds) } }),
        ("requests_per_second", { _, run in run.map { .real($0.requestsPerSecond) } }),
        ("metadata_bytes", { _, run in whole(run?.metadataBytes) }),
        ("planning_microseconds", { _, run in (run?.planningMicroseconds).map { .real($0) } }),
        ("finished_at", { _, run in run.map { .text($0.finishedAt) } }),
        ("suite", { _, run in run.map { .text($0.suite) } }),
    ]

    private static func whole(_ number: Int?) -> Value? { number.map { .whole(Int64($0)) } }

    private static func json(_ value: some Encodable) -> Value? {
        (try? JSONReport.compact(value)).map { .text(String(decoding: $0, as: UTF8.self)) }
    }
}

extension ResultRow: Encodable {
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Encodes the present values by the names of their columns.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        for name in Self.columnNames([self]) {
            let key = Name(stringValue: name)
            switch self[name] {
            case .text(let text): try container.encode(text, forKey: key)
            case .whole(let number): try container.encode(number, forKey: key)
            case .real(let number): try container.encode(number, forKey: key)
            case .truth(let truth): try container.encode(truth, forKey: key)
            case nil: break
            }
        }
    }
}

extension ResultStore {
    /// Returns all stored cells with how they were run, in alphabetical order of their names. O(cells).
    ///
    /// - Throws: `ReplayError.data(_:)` as `cell(_:)` and `provenance(_:)`, or if the folder is no folder of results.
    public func rows() throws(ReplayError) -> [ResultRow] {
        var rows: [ResultRow] = []
        for hash in try hashes() {
            rows.append(ResultRow(try cell(hash), hash: hash, provenance: try provenance(hash)))
        }
        return rows
    }
}

extension CellIdentity {
    /// The labels without the number of a permutation: `permuted uniform` for `permuted uniform #2`.
    var labelControl: String {
        guard let mark = labels.range(of: " #", options: .backwards), permutation != nil else { return labels }
        return String(labels[..<mark.lowerBound])
    }

    /// The number of the permutation of the labels. Nil for other labels.
    var permutation: Int? {
        labels.hasPrefix("permuted ")
            ? labels.range(of: " #", options: .backwards).flatMap { Int(labels[$0.upperBound...]) } : nil
    }

    /// The capacity as requested, or those of the two tiers with the lifetimes of their entries.
    var capacityText: String {
        capacity ?? tiers.map { $0.text } ?? ""
    }

    /// The prefetching as text: the policy with its budget and its latency; `none` without.
    var prefetchText: String {
        guard let prefetch else { return "none" }
        let milliseconds = (Double(prefetch.latencyUs) / 1_000).decimals(prefetch.latencyUs % 1_000 == 0 ? 0 : 3)
        let latency = prefetch.latencyUs == 0 ? "" : ", latency \(milliseconds) ms"
        return "\(prefetch.policy), \(prefetch.budget)\(latency)" + (announce.map { ", announced \($0)" } ?? "")
    }
}

extension CellIdentity.Tiers {
    /// The capacities and the lifetimes as text: `memory=1%,disk=16%`, `memory=1%,disk=16%,lifetimes=300s/7d`.
    fileprivate var text: String {
        Self.text(memory: memory, disk: disk, lifetimes: [memoryLifetimeUs, diskLifetimeUs])
    }

    /// Returns the capacities of two tiers as text, with the lifetimes of their entries if one of them has any.
    ///
    /// - Parameters:
    ///   - memory: the capacity of the memory.
    ///   - disk: the capacity of the disk.
    ///   - lifetimes: the lifetimes in memory and on disk, in microseconds.
    static func text(memory: String, disk: String, lifetimes: [Int64?]) -> String {
        let capacities = "memory=\(memory),disk=\(disk)"
        if lifetimes.allSatisfy({ $0 == nil }) { return capacities }
        return "\(capacities),lifetimes=\(lifetimes.map { $0.map(span) ?? "none" }.joined(separator: "/"))"
    }

    /// Returns a duration in microseconds as days, hours, seconds or milliseconds, as a suite states it.
    private static func span(_ microseconds: Int64) -> String {
        let units: [(name: String, size: Int64)] = [("d", 86_400_000_000), ("h", 3_600_000_000), ("s", 1_000_000)]
        if let unit = units.first(where: { microseconds % $0.size == 0 }) {
            return "\(microseconds / unit.size)\(unit.name)"
        }
        return microseconds % 1_000 == 0 ? "\(microseconds / 1_000)ms" : "\(Double(microseconds) / 1_000)ms"
    }
}
