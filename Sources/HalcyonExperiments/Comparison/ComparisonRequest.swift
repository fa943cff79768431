import Foundation
import HalcyonSimulation

/// Comparisons of stored cells whose pairs the caller chooses by the names of cells: the input of
/// `replay compare --pairs FILE`.
///
/// ```json
/// {"schema": "halcyon.comparison-request/1", "folders": ["results/demo"],
///  "comparisons": [{"pairs": [{"a": ["04f1…", "9c20…"], "b": ["5be7…"]}]}]}
/// ```
///
/// Side `a` has two seeds here, which are averaged. A pair may have a `"trace"`, the name of the trace that it counts
/// as. Each cell is read once for all comparisons.
package struct ComparisonRequest: Sendable, Decodable {
    /// Two sides by the names of their cells.
    package struct Pair: Sendable, Decodable {
        /// The cells of side A. They differ only in their seed, or in the number of a permutation of labels.
        package var a: [String]
        /// The cells of side B.
        package var b: [String]
        /// The trace that the pair counts as. Pairs with one name count as one trace, such as those of a trace with
        /// its sizes and with every size 1; its mean is that over all its cells. The default is the cells' trace.
        package var trace: String?
    }

    /// One comparison.
    package struct Item: Sendable, Decodable {
        /// The compared hit ratio; the default is that of objects.
        package var measure: HitMeasure?
        /// The confidence level; the default is 0.95.
        package var confidence: Double?
        /// The pairs, at least one.
        package var pairs: [Pair]
    }

    /// The version of this structure.
    package static let schema = "halcyon.comparison-request/1"

    /// The version of this structure.
    package var schema: String
    /// The folders of results. A cell is read from the first folder that contains it.
    package var folders: [String]
    /// The comparisons.
    package var comparisons: [Item]

    /// Reads a request.
    ///
    /// - Parameters:
    ///   - data: the JSON text.
    ///   - source: the file that messages name.
    /// - Throws: `ReplayError.data(_:)` for other text.
    package init(json data: Data, source: String) throws(ReplayError) {
        do { self = try JSONDecoder().decode(Self.self, from: data) } catch {
            throw .data("\(source): does not have the fields of \(Self.schema), which --pairs reads.")
        }
        guard schema == Self.schema else {
            throw .data("\(source): has the schema '\(schema.shortened)'; \(Self.schema) is needed.")
        }
        for item in comparisons {
            if item.pairs.isEmpty { throw .data("\(source): has a comparison without pairs.") }
            if item.pairs.contains(where: { $0.a.isEmpty || $0.b.isEmpty }) {
                throw .data("\(source): has a pair with a side without cells.")
            }
            if item.pairs.contains(where: { $0.trace == "" }) {
                throw .data("\(source): has a pair that counts as a trace without a name.")
            }
            if let confidence = item.confidence, !(confidence > 0 && confidence < 1) {
                throw .data("\(source): has the confidence \(confidence); a value between 0 and 1 is expected.")
            }
        }
    }

    /// Returns the comparisons, each with its pairs in the given order. O(cells × units).
    ///
    /// - Throws: `ReplayError.data(_:)` if a cell is not stored or broken. The same if a side has cells that differ in more
    ///   than seed and permutation, and if two sides count different requests.
    package func run() throws(ReplayError) -> ComparisonReport {
        var stores: [(store: ResultStore, hashes: Set<String>)] = []
        for folder in folders {
            let store = ResultStore(folder: folder)
            stores.append((store, Set(try store.hashes())))
        }
        func row(_ hash: String) throws(ReplayError) -> ResultRow {
            guard let (store, _) = stores.first(where: { $0.hashes.contains(hash) }) else {
                throw .data("\(folders.joined(separator: ", ")): no cell \(hash.shortened) is stored.")
            }
            return ResultRow(try store.cell(hash), hash: hash, provenance: nil)
        }
        var rows: [String: ResultRow] = [:]
        var results: [Comparison] = []
        for item in comparisons {
            var pairs: [ComparedPair] = []
            for pair in item.pairs {
                let measure = item.measure ?? .object
                for hash in pair.a + pair.b where rows[hash] == nil { rows[hash] = try row(hash) }
                let a = try Self.runs(pair.a.compactMap { rows[$0] }, measure)
                let b = try Self.runs(pair.b.compactMap { rows[$0] }, measure)
                guard a.first.identity.fingerprint == b.first.identity.fingerprint else {
                    throw .data("The cells \(a.rows[0].hash) and \(b.rows[0].hash) are of different requests.")
                }
                try ComparisonPairing.verify(a, b)
                pairs.append(ComparedPair(a, b, countsAs: pair.trace))
            }
            func selection(_ side: KeyPath<Pair, [String]>) -> Comparison.Selection {
                let cells = Set(item.pairs.flatMap { $0[keyPath: side] })
                return Comparison.Selection(selector: "cells by name", cells: cells.count, unpaired: 0)
            }
            results.append(
                Comparison(pairs, a: selection(\.a), b: selection(\.b), confidence: item.confidence ?? 0.95))
        }
        return ComparisonReport(comparisons: results)
    }

    /// Returns the runs of a side, by seed.
    private static func runs(_ rows: [ResultRow], _ measure: HitMeasure) throws(ReplayError) -> ComparedRuns {
        let rows = rows.sorted { ResultOrder($0) < ResultOrder($1) }
        let first = rows[0].cell.identity.partsOfRuns
        if let other = rows.first(where: { $0.cell.identity.partsOfRuns != first }) {
            throw .data(
                "The cells \(rows[0].hash) (\(rows[0].words)) and \(other.hash) (\(other.words)) are on one side, and differ "
                    + "in more than seed and permutation.")
        }
        return ComparedRuns(rows: rows, measure: measure)
    }
}

/// The results of a ``ComparisonRequest``, in its order.
package struct ComparisonReport: Sendable, Codable {
    /// The version of this structure.
    package var schema = "halcyon.comparisons/1"
    /// The comparisons.
    package var comparisons: [Comparison]

    /// The report as one JSON object in one line.
    package func json() throws -> Data { try JSONReport.lines([self]) }
}

extension CellIdentity {
    /// The parts that the averaged runs of one side have in common: all but the seed and the number of a permutation.
    fileprivate var partsOfRuns: [String: String] {
        var parts = parts
        parts["labels"] = labelControl
        return parts
    }
}
