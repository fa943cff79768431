import Foundation
import HalcyonSimulation
import HalcyonSupport

/// Stored cells as a table: one line for the runs that differ only in their seed.
package struct ResultTable: Sendable {
    /// The columns by which ``text(sortedBy:emphasis:)`` can sort.
    package static let columns = [
        "trace", "mode", "policy", "capacity", "prefetch", "knowledge", "pretrain", "labels", "seeds", "hit_ratio",
        "byte_hit_ratio", "requests_per_second",
    ]

    /// The cells.
    package let rows: [ResultRow]

    /// Creates a table.
    package init(_ rows: [ResultRow]) { self.rows = rows }

    /// Cells that differ only in their seed.
    private struct Group {
        var rows: [ResultRow]

        var first: ResultRow { rows[0] }
        var identity: CellIdentity { first.cell.identity }
        var objectRatios: [Double] { rows.map(\.cell.objectHitRatio) }
        var byteRatios: [Double] { rows.map(\.cell.byteHitRatio) }
        var rate: Double? {
            let rates = rows.compactMap { $0.provenance?.requestsPerSecond }
            return rates.isEmpty ? nil : Self.mean(rates)
        }
        var hasSizes: Bool { first.cell.trace.sizeUnit == .bytes }

        static func mean(_ values: [Double]) -> Double { values.reduce(0, +) / Double(max(1, values.count)) }
    }

    /// Returns the groups in the order of trace, mode, policy, capacity, prefetching and labels.
    private var groups: [Group] {
        var groups: [CellIdentity: Group] = [:]
        for row in rows {
            var identity = row.cell.identity
            identity.seed = nil
            groups[identity, default: Group(rows: [])].rows.append(row)
        }
        return groups.values.map { group in
            Group(
                rows: group.rows.sorted {
                    ($0.cell.identity.seed ?? 0, $0.hash) < ($1.cell.identity.seed ?? 0, $1.hash)
                })
        }.sorted { Self.order($0) < Self.order($1) }
    }

    private static func order(_ group: Group) -> ResultOrder { ResultOrder(group.first) }

    /// Returns the table as text.
    ///
    /// - Parameters:
    ///   - column: one of ``columns``: text from A to Z, figures from the highest; `nil` for the order of traces.
    ///   - emphasis: whether to set the titles in bold, as on a terminal.
    /// - Throws: `ReplayError.usage(_:)` for another column.
    package func text(sortedBy column: String? = nil, emphasis: Bool = false) throws(ReplayError) -> String {
        var groups = groups
        if let column { try Self.sort(&groups, by: column) }
        let shown: [(title: String, isFigure: Bool, value: (Group) -> String)] = [
            ("trace", false, { $0.first.cell.trace.name }), ("mode", false, { $0.identity.mode.words }),
            ("policy", false, { $0.first.cell.label }),
            ("policy version", true, { $0.identity.parameters["version"] ?? "" }),
            ("capacity", true, { $0.identity.capacityText }),
            ("knowledge", false, { $0.identity.knowledge?.rawValue ?? "" }),
            ("trained on", false, { $0.identity.pretrain ?? "" }),
            ("prefetch", false, { $0.identity.prefetchText }), ("labels", false, { $0.identity.labels }),
            ("restart", false, { $0.identity.restart ?? "" }), ("users", false, { $0.identity.users ?? "" }),
            ("version", true, { "\($0.identity.resultVersion)" }),
            ("seeds", true, { $0.identity.seed == nil ? "-" : "\($0.rows.count)" }),
            ("hit ratio", true, { Self.mean($0.objectRatios) }),
            ("byte hit ratio", true, { $0.hasSizes ? Self.mean($0.byteRatios) : "-" }),
            ("requests/s", true, { $0.rate.map { Int($0.rounded()).grouped } ?? "-" }),
        ]
        // Columns in which no row differs from what is usual are left out.
        let usual: [String: Set<String>] = [
            "knowledge": [""], "trained on": [""], "prefetch": ["none"], "labels": ["given"], "restart": [""],
            "users": [""],
            "byte hit ratio": ["-"],
        ]
        let columns = shown.filter { column in
            if column.title == "version" { return Set(groups.map(column.value)).count > 1 }
            // Policies of Halcyon have none.
            if column.title == "policy version" {
                return Set(groups.map(column.value)).subtracting([""]).count > 1
            }
            guard let usual = usual[column.title] else { return true }
            return groups.contains { !usual.contains(column.value($0)) }
        }
        var table = TextTable(columns.map { (title: $0.title, alignment: $0.isFigure ? .right : .left) })
        for group in groups { table.add(columns.map { $0.value(group) }) }
        let seeds =
            groups.count < rows.count ? " in \(groups.count.counted("row")); ± is the standard error over seeds" : ""
        return table.rendered(emphasis: emphasis) + "\(rows.count.counted("cell"))\(seeds).\n"
    }

    private static func sort(_ groups: inout [Group], by column: String) throws(ReplayError) {
        func words(_ value: (Group) -> String) {
            groups = groups.enumerated().sorted { (value($0.element), $0.offset) < (value($1.element), $1.offset) }
                .map(\.element)
        }
        func figures(_ value: (Group) -> Double) {
            groups = groups.enumerated().sorted { (-value($0.element), $0.offset) < (-value($1.element), $1.offset) }
                .map(\.element)
        }
        switch column {
        case "trace": words { $0.first.cell.trace.name }
        case "mode": words { $0.identity.mode.rawValue }
        case "policy": words { $0.first.cell.label }
        case "knowledge": words { $0.identity.knowledge?.rawValue ?? "" }
        case "pretrain": words { $0.identity.pretrain ?? "" }
        case "prefetch": words { $0.identity.prefetchText }
        case "labels": words { $0.identity.labels }
        case "capacity": figures { -Double($0.first.cell.capacity) }
        case "seeds": figures { Double($0.rows.count) }
        case "hit_ratio": figures { Group.mean($0.objectRatios) }
        case "byte_hit_ratio": figures { Group.mean($0.byteRatios) }
        case "requests_per_second": figures { $0.rate ?? 0 }
        default:
            throw .usage(
                "--sort-by has no column '\(column.shortened)': write one of \(columns.joined(separator: ", ")).")
        }
    }

    /// Returns a mean with the standard error over seeds: `71.20 % ± 0.05`.
    private static func mean(_ ratios: [Double]) -> String {
        let mean = Group.mean(ratios).percent
        guard ratios.count > 1 else { return mean }
        let error = RunNoise.spread(ratios).scaled(by: 1 / Double(ratios.count).squareRoot()).deviation
        return "\(mean) ± \((100 * error).decimals(2))"
    }

    /// The cells as CSV: a header, then one line per cell. A value that a cell does not have is empty.
    package var csv: Data {
        let names = ResultRow.columnNames(rows)
        var text = names.joined(separator: ",") + "\n"
        for row in sortedRows { text += names.map { (row[$0]?.text ?? "").asCSVField }.joined(separator: ",") + "\n" }
        return Data(text.utf8)
    }

    /// The cells as one JSON object with the schema `halcyon.results/1`.
    package func json() throws -> Data {
        struct Document: Encodable {
            let schema = "halcyon.results/1"
            let rows: [ResultRow]
        }
        return try JSONReport.data(Document(rows: sortedRows))
    }

    /// The cells as JSON objects, one per line.
    package func jsonLines() throws -> Data { try JSONReport.lines(sortedRows) }

    private var sortedRows: [ResultRow] { rows.sorted { ResultOrder($0) < ResultOrder($1) } }
}

/// The order of cells in tables: by trace, mode, policy, capacity, prefetching, knowledge, what models were trained on, labels
/// and seed.
struct ResultOrder: Comparable {
    private let words: [String]
    private let capacity: Int
    private let rest: [String]
    private let seed: UInt64
    private let hash: String

    /// Creates the order of a cell, or of a pair of cells.
    init(_ row: ResultRow, then other: ResultRow? = nil) {
        let identity = row.cell.identity
        words = [row.cell.trace.name, identity.mode == .shared ? "0" : "1", row.cell.label]
        capacity = row.cell.capacity
        rest = [
            identity.capacityText, identity.prefetchText, identity.knowledge?.rawValue ?? "", identity.pretrain ?? "",
            identity.labels,
        ]
        seed = identity.seed ?? 0
        hash = row.hash + (other?.hash ?? "")
    }

    static func < (one: ResultOrder, other: ResultOrder) -> Bool {
        if one.words != other.words { return one.words.lexicographicallyPrecedes(other.words) }
        if one.capacity != other.capacity { return one.capacity < other.capacity }
        if one.rest != other.rest { return one.rest.lexicographicallyPrecedes(other.rest) }
        return (one.seed, one.hash) < (other.seed, other.hash)
    }
}
