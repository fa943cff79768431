import Foundation
import HalcyonAccessLog
import HalcyonTrace

extension FuzzTarget {
    /// CSV with a header; the first byte chooses options.
    static let traceCSV = FuzzTarget(
        name: "trace-csv",
        run: { data in
            var options = TraceLoadOptions()
            let choice = data[data.startIndex]
            options.format = .csv
            options.skipBadLines = choice & 1 != 0
            options.sort = choice & 2 != 0
            options.sizes = choice & 4 != 0 ? .perRequest : .firstRequest
            options.names = choice & 8 != 0 ? .all : []
            loadBothWays(FuzzFolder.file("trace.csv", data.dropFirst()), options)
        },
        seeds: { try shortTraces().enumerated().map { Data([UInt8($0.offset)]) + $0.element } })

    /// Formats without a header of text; the first byte chooses one.
    static let traceBinary = FuzzTarget(
        name: "trace-binary",
        run: { data in
            var options = TraceLoadOptions()
            options.format = binaryFormats[Int(data[data.startIndex]) % binaryFormats.count]
            options.skipBadLines = data[data.startIndex] & 0x80 != 0
            loadBothWays(FuzzFolder.file("trace.bin", data.dropFirst()), options)
        },
        seeds: {
            let written = try shortTraces().map { try rewritten($0, as: "trace.oracleGeneral") }
            var lcs = Data(count: 8_192)
            lcs.replaceSubrange(0..<16, with: [0x49, 0x1A, 0xCE, 0x3F, 0x3D, 0x2B, 0x1A, 0x0B, 1, 0, 0, 0, 0, 0, 0, 0])
            let twitter = Data("0,k1,10,100,3,get,0\n1,k2,10,200,3,set,60\n".utf8)
            let vscsi = Data((0..<64).map { UInt8($0) })
            return written.map { Data([0]) + $0 } + [Data([1]) + vscsi, Data([2]) + twitter, Data([3]) + lcs]
        })

    /// gzip and zstd around CSV.
    static let traceCompressed = FuzzTarget(
        name: "trace-compressed",
        run: { data in
            var options = TraceLoadOptions()
            options.format = .csv
            options.limit = 100_000
            options.compression = data[data.startIndex] & 1 == 0 ? .gzip : .zstd
            loadBothWays(FuzzFolder.file("trace.csv.packed", data.dropFirst()), options)
        },
        seeds: {
            try shortTraces().flatMap { text in
                [
                    Data([0]) + (try rewritten(text, as: "trace.csv.gz")),
                    Data([1]) + (try rewritten(text, as: "trace.csv.zst")),
                ]
            }
        })

    /// The SQLite file of an access log.
    static let traceLog = FuzzTarget(
        name: "trace-log",
        run: { data in
            var options = TraceLoadOptions()
            options.format = .accessLog
            loadBothWays(FuzzFolder.file("log.sqlite", data), options)
        },
        seeds: { [try Data(contentsOf: URL(fileURLWithPath: recordedLog()))] })

    private static let binaryFormats: [TraceFormat] = [.oracleGeneral, .vscsi, .twitter, .lcs]

    /// The first lines of the bundled traces.
    private static func shortTraces() throws -> [Data] {
        try files(in: "Traces", "csv").map { data in
            Data(data.split(separator: 10, maxSplits: 20).prefix(20).joined(separator: [10])) + [10]
        }
    }

    private static func rewritten(_ text: Data, as name: String) throws -> Data {
        let trace = try Trace.load(FuzzFolder.file("seed.csv", text))
        try TraceWriter.write(trace, to: "\(FuzzFolder.path)/\(name)")
        return try Data(contentsOf: URL(fileURLWithPath: "\(FuzzFolder.path)/\(name)"))
    }

    /// Writes a log of twenty accesses and returns its path.
    private static func recordedLog() throws -> String {
        let path = "\(FuzzFolder.path)/seed.sqlite"
        let log = AccessLog(path: path)
        for number in 0..<20 {
            log.record("k\(number % 7)", cost: number, categories: ["c\(number % 3)"], outcome: .memory, user: "u")
        }
        let done = DispatchSemaphore(value: 0)
        Task {
            try? await log.close()
            done.signal()
        }
        done.wait()
        return path
    }
}

/// Loads a trace on one thread and on three: both give the same trace, or both an error, which is one line.
private func loadBothWays(_ path: String, _ options: TraceLoadOptions) {
    let results = [1, 3].map { threads in
        var options = options
        options.threads = threads
        return Result { () throws(TraceError) in try Trace.load(path, options) }
    }
    switch (results[0], results[1]) {
    case (.success(let one), .success(let other)):
        guard one.count == other.count, one.fingerprint == other.fingerprint else {
            fatalError("one thread reads \(one.count) requests, three read \(other.count), or others")
        }
        guard one.entries.allSatisfy({ Int($0) < one.objectCount }) else { fatalError("an object has no number") }
    case (.failure(let error), .failure):
        guard !"\(error)".contains("\n"), !"\(error)".isEmpty else { fatalError("the error is not one line: \(error)") }
    default: fatalError("one thread and three disagree: \(results)")
    }
}
