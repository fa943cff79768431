import Foundation
import HalcyonEviction
import HalcyonSimulation
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonBoosting

/// Misses of LRB and 3L-Cache compared with the committed counts of libCacheSim 0.3.5.
///
/// `Experiments/peers.md` has all cells over five seeds. These are the shortest, with two seeds.
@Suite("Counts beside the authors' code", .timeLimit(.minutes(20)))
struct PeerCountTests {
    static let file = packageFolder.appending(path: "Experiments/results/peers/libcachesim-0.3.5.csv")

    /// Returns the misses of a policy of the release.
    private func counted(_ trace: String, _ policy: String, _ parameters: String, _ capacity: Int) throws -> Int {
        let start = "\(trace),"
        let middle = ",\(policy),\(parameters),\(capacity),"
        let lines = try String(contentsOf: Self.file, encoding: .utf8).split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix(start) && $0.contains(middle) })
        return try #require(Int(line.split(separator: ",", omittingEmptySubsequences: false)[6]))
    }

    private func misses(_ policy: String, _ trace: Trace, _ capacity: Int, seeds: UInt64) throws -> [Int] {
        let policy = try PolicyCatalogue.laboratory.policy(policy)
        return try (1...seeds).map { seed in
            var options = ReplayOptions()
            options.seed = seed
            let job = ReplayJob(policy: policy, capacity: .number(capacity), options: options)
            let result = try job.run(over: ReplayInput(trace))
            return result.requests - result.hits
        }
    }

    @Test("As long as the release does not train, the misses are equal")
    func missesEqualTheReleaseBeforeTraining() throws {
        guard lightGBM(for: "the comparison with libCacheSim") != nil else { return }
        let feed = try Trace.load(BundledTrace.path("feed.csv"))
        let capacity = 30_590_078
        for (own, peer) in [
            ("lrb(objective=object-miss-ratio)", "LRB"), ("3l-cache(objective=object-miss-ratio)", "ThreeLCache"),
        ] {
            let expected = try counted("feed", peer, "objective=object-miss-ratio", capacity)
            #expect(try misses(own, feed, capacity, seeds: 1) == [expected], "\(own)")
        }
    }

    @Test(
        "Mean misses on a real trace are within 1 % of the release",
        arguments: [
            ("lirs-loop", "3l-cache", "", 202), ("lirs-loop", "lrb", "objective=object-miss-ratio", 101),
        ])
    func missesAreWithinOnePercentOfTheRelease(trace: String, policy: String, parameters: String, capacity: Int) throws
    {
        guard lightGBM(for: "the comparison with libCacheSim") != nil else { return }
        guard let folder = realTraces(for: "the comparison with libCacheSim") else { return }
        let loaded = try Trace.load(folder.appending(path: "plain/\(trace).csv.gz").path)
        let peer = policy == "lrb" ? "LRB" : "ThreeLCache"
        let expected = Double(try counted(trace, peer, parameters, capacity))
        let own = parameters.isEmpty ? policy : "\(policy)(\(parameters))"
        let found = try misses(own, loaded, capacity, seeds: 2)
        let mean = Double(found.reduce(0, +)) / Double(found.count)
        #expect(abs(mean / expected - 1) < 0.01, "\(found) beside \(expected)")
    }
}
