import Foundation
import HalcyonEviction
import HalcyonExperiments
import HalcyonSimulation
import HalcyonTestSupport
import HalcyonTrace
import Testing

/// Policies that draw at random, or whose paper leaves details open: within 1 % of the miss ratio of libCacheSim 0.3.5
/// on average, or better.
@Suite("Miss ratios beside libCacheSim", .timeLimit(.minutes(20)))
struct PeerRatioTests {
    /// The traces small enough for every run of the tests, and their folders.
    static let traces = [
        ("plain", "web12"), ("plain", "lirs-sprite"), ("plain", "adapt_size"), ("plain", "cloudPhysicsIO"),
        ("categories", "lastfm_albumart"), ("categories", "movielens100k"),
    ]

    @Test(
        "The mean miss ratio is at most 1 % above that of libCacheSim",
        arguments: ["lecar", "cacheus", "hyperbolic", "lhd"])
    func missRatioIsWithinOnePercentOfLibCacheSim(name: String) throws {
        guard let folder = realTraces(for: "the miss ratios of \(name)") else { return }
        let policy = try PolicyCatalogue.standard.policy(name)
        var differences: [Double] = []
        for (group, file) in Self.traces {
            let rows = try Self.rows(folder, group: group).filter { $0.trace == file && $0.policy == name }
            for honoursSizes in [true, false] {
                let cells = rows.filter { $0.honoursSizes == honoursSizes }
                if cells.isEmpty { continue }
                var options = TraceLoadOptions()
                if !honoursSizes { options.sizes = .unit }
                let trace = try Trace.load(folder.appendingPathComponent("\(group)/\(file).csv.gz").path, options)
                let input = ReplayInput(trace, for: ReplayJob.grid(policies: [policy], capacities: [.number(1)]))
                for cell in cells {
                    let result = try ReplayJob(policy: policy, capacity: .number(cell.capacity)).run(over: input)
                    let missRatio = Double(result.requests - result.hits) / Double(result.requests)
                    differences.append(missRatio / cell.missRatio - 1)
                }
            }
        }
        let mean = differences.reduce(0, +) / Double(differences.count)
        #expect(differences.count >= 24)
        #expect(mean <= 0.01, "the miss ratio of \(name) is \(mean * 100) % higher")
    }

    private static func rows(
        _ folder: URL, group: String
    ) throws -> [(trace: String, honoursSizes: Bool, capacity: Int, policy: String, missRatio: Double)] {
        let file = folder.appendingPathComponent("../peers/libcachesim-0.3.5-\(group).csv")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").dropFirst().map { line in
            let field = line.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            let capacity = try #require(Int(field[3]))
            let missRatio = try #require(Double(field[7]))
            return (field[0], field[1] == "bytes", capacity, field[4], missRatio)
        }
    }
}
