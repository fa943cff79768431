import Foundation
import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonSimulation
import HalcyonTrace

/// Runs a policy of one's own against the built-in ones on a synthetic trace.
@main
struct Main {
    static func main() async throws {
        var catalogue = PolicyCatalogue.standard
        catalogue.add(PolicyEntry(SecondGlance.self))

        let trace = try ZipfModel(requests: 50_000, objects: 5_000, alpha: 0.9).generate(seed: 1)
        let sweep = try Sweep(
            trace: trace, policies: ["second-glance", "clock", "lru", "s3-fifo", "belady"], capacities: ["1%", "5%"],
            catalogue: catalogue)
        let report = ReplayReport(trace: TraceSummary(trace, path: "zipf"), runs: await sweep.run())
        print(report.table(), terminator: "")

        // This policy is CLOCK with another name, so that it must hit exactly as often.
        let hits = Dictionary(grouping: report.runs, by: \.policy).mapValues { $0.map(\.hits) }
        guard let own = hits["second-glance"], own == hits["clock"] else {
            print("second-glance and clock differ")
            exit(1)
        }
    }
}
