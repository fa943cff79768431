import Foundation
import HalcyonTestSupport
import HalcyonTrace

/// The miss counts of libCacheSim 0.3.5, by trace, variant, capacity and policy, and the traces they were counted on.
struct PeerTable {
    /// One count.
    struct Row: Sendable {
        let trace: String
        let honoursSizes: Bool
        let capacity: Int
        let policy: String
        let misses: Int
    }

    /// A table that cannot be parsed: traces without the peers' counts fail a test.
    struct Unreadable: Error {
        let line: String
    }

    /// The table and its traces, read once for all tests; empty where there are no real traces.
    static let shared = Result { try PeerTable() }

    let rows: [Row]
    /// Each trace in both variants.
    let traces: [String: (bytes: Trace, objects: Trace)]

    private init() throws {
        guard let folder = realTraces(for: "the table of exact counts") else {
            rows = []
            traces = [:]
            return
        }
        let file = folder.appendingPathComponent("../peers/libcachesim-0.3.5-misses.csv")
        rows = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").dropFirst().map(Self.row)
        var traces: [String: (Trace, Trace)] = [:]
        for name in Set(rows.map(\.trace)) {
            let path = folder.appendingPathComponent("plain/\(name).csv.gz").path
            var unit = TraceLoadOptions()
            unit.sizes = .unit
            traces[name] = (try Trace.load(path), try Trace.load(path, unit))
        }
        self.traces = traces
    }

    private static func row(_ line: Substring) throws -> Row {
        let fields = line.split(separator: ",", omittingEmptySubsequences: false)
        guard fields.count == 6, let capacity = Int(fields[2]), let misses = Int(fields[5]) else {
            throw Unreadable(line: String(line))
        }
        return Row(
            trace: String(fields[0]), honoursSizes: fields[1] == "bytes", capacity: capacity,
            policy: String(fields[3]), misses: misses)
    }
}
