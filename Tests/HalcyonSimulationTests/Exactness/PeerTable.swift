import Foundation
import HalcyonTestSupport
import HalcyonTrace

/// The miss counts of libCacheSim 0.3.5, by trace, variant, capacity and policy.
struct PeerTable {
    /// One count.
    struct Row: Sendable {
        let trace: String
        let honoursSizes: Bool
        let capacity: Int
        let policy: String
        let misses: Int
    }

    /// The table's rows, or none where there are no real traces.
    static let rows: [Row] = {
        guard let folder = realTraces(for: "the table of exact counts") else { return [] }
        let file = folder.appendingPathComponent("../peers/libcachesim-0.3.5-misses.csv")
        // Traces without the peers' counts beside them are a broken set-up, not a reason to pass.
        let text = try! String(contentsOf: file, encoding: .utf8)
        return text.split(separator: "\n").dropFirst().map { line in
            let field = line.split(separator: ",", omittingEmptySubsequences: false)
            return Row(
                trace: String(field[0]), honoursSizes: field[1] == "bytes", capacity: Int(field[2])!,
                policy: String(field[3]), misses: Int(field[5])!)
        }
    }()

    /// The traces of the table, each in both variants, loaded once for all tests.
    static let traces: [String: (bytes: Trace, objects: Trace)] = {
        guard let folder = realTraces(for: "the table of exact counts") else { return [:] }
        var traces: [String: (Trace, Trace)] = [:]
        for name in Set(rows.map(\.trace)) {
            let path = folder.appendingPathComponent("plain/\(name).csv.gz").path
            var unit = LoadOptions()
            unit.sizes = .unit
            traces[name] = (try! Trace.load(path), try! Trace.load(path, unit))
        }
        return traces
    }()
}
