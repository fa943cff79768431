import Foundation
import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

/// Requests, users and objects of public traces, as counted by another program with Python's `csv`.
@Suite(.timeLimit(.minutes(20))) struct RealTraceTests {
    @Test(arguments: [
        ("taobao_users", 42_080, 409, 29_132), ("lastfm_albumart", 62_469, 3, 11_411),
        ("weblog_strabal", 9_107, 1_088, 632),
        ("weblog_nasa", 12_181, 1_503, 661), ("movielens100k", 100_000, 943, 1_682),
    ])
    func countsOfRealTracesAgree(name: String, requests: Int, users: Int, objects: Int) throws {
        guard let folder = ProcessInfo.processInfo.environment["HALCYON_TRACES"] else {
            print("skipped: HALCYON_TRACES is not set")
            return
        }
        let path = "\(folder)/categories/\(name).csv.gz"
        let trace = try Trace.load(path, .with { $0.names = .all })
        #expect(trace.count == requests)
        #expect(trace.userCount == users)
        #expect(trace.objectCount == objects)
        #expect(trace.names.users.count == users)
        #expect(trace.names.keys.count == trace.objectCount)

        let temporary = try TemporaryFolder()
        let copy = "\(temporary.path)/copy.csv.zst"
        try TraceWriter.write(trace, to: copy, format: .csv)
        #expect(try Trace.load(copy, .with { $0.threads = 3 }).fingerprint == trace.fingerprint)
    }
}
