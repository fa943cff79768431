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
            // A line of these requests up to 65,536 blocks.
            let hasBlocks = [.arc, .spc, .msr].contains(options.format)
            loadBothWays(FuzzFolder.file("trace.bin", data.dropFirst().prefix(hasBlocks ? 256 : .max)), options)
        },
        seeds: {
            let written = try shortTraces().map { try rewritten($0, as: "trace.oracleGeneral") }
            var lcs = Data(count: 8_192)
            lcs.replaceSubrange(0..<16, with: [0x49, 0x1A, 0xCE, 0x3F, 0x3D, 0x2B, 0x1A, 0x0B, 1, 0, 0, 0, 0, 0, 0, 0])
            let twitter = Data("0,k1,10,100,3,get,0\n1,k2,10,200,3,set,60\n".utf8)
            let vscsi = Data((0..<64).map { UInt8($0) })
            let lines = [
                "1 a 10 7\n2 8 20\n", "5 3 0 0\n9 1 0 1\n", "5\n*\n7\n", "0,10,1025,R,0.5\n1,10,512,w,1\n",
                "128166372003061629,hm,1,Read,1211904,4608,1331\n",
                "5 REST.GET.OBJECT 8d4f 10 0 9\n6 REST.PUT.OBJECT a\n",
                "s 0x1fffff50 1\nff\n",
            ]
            return written.map { Data([0]) + $0 } + [Data([1]) + vscsi, Data([2]) + twitter, Data([3]) + lcs]
                + lines.enumerated().map { Data([UInt8(4 + $0.offset)]) + Data($0.element.utf8) }
                + (11...14).map { Data([$0]) + vscsi }
        })

    /// gzip, zstd and xz around CSV.
    static let traceCompressed = FuzzTarget(
        name: "trace-compressed",
        run: { data in
            var options = TraceLoadOptions()
            options.format = .csv
            options.limit = 100_000
            options.compression = [.gzip, .zstd, .xz][Int(data[data.startIndex]) % 3]
            loadBothWays(FuzzFolder.file("trace.csv.packed", data.dropFirst()), options)
        },
        seeds: {
            try shortTraces().flatMap { text in
                [
                    Data([0]) + (try rewritten(text, as: "trace.csv.gz")),
                    Data([1]) + (try rewritten(text, as: "trace.csv.zst")),
                ]
            } + [Data([2]) + xz]
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

    private static let binaryFormats: [TraceFormat] = [
        .oracleGeneral, .vscsi, .twitter, .lcs, .lrb, .arc, .lirs, .spc, .msr, .objectStore, .address, .int32, .int32be,
        .int64, .int64be,
    ]

    /// A CSV of three requests, compressed by `xz -9 --check=crc32`.
    private static let xz =
        Data(
            base64Encoded: "/Td6WFoAAAFpIt42AgAhARwAAAAQz1jMAQAidGltZSxrZXksc2l6ZQoxLGEsMTAK"
                + "MixiLDIwCjMsYSwxMAoAANzCyWEAATcjbWTmEpBCmQ0BAAAAAAFZWg==") ?? Data()

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
