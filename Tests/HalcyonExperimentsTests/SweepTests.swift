import HalcyonExperiments
import HalcyonSimulation
import HalcyonTrace
import Testing

@Suite("Sweeps", .timeLimit(.minutes(20)))
struct SweepTests {
    /// A report with another fingerprint would show that the trace was hashed again, during or after the timed runs.
    @Test("The trace is hashed before the first run, and its report does not hash it again")
    func traceIsHashedOnceBeforeTheFirstRun() async throws {
        let trace = try ZipfModel(requests: 4_000, objects: 500, alpha: 0.8).generate(seed: 3, names: false)
        let sweep = try Sweep(trace: trace, policies: ["lru", "s3-fifo"], capacities: ["1%", "10%"])
        var summary = TraceSummary(trace, path: "zipf")
        #expect(summary.fingerprint == trace.fingerprint)
        summary.fingerprint = "computed before"
        let progress = sweep.makeProgress()
        #expect(progress.completed == 0)
        let report = await sweep.report(on: summary, workers: 2, progress: progress)
        #expect(report.trace.fingerprint == "computed before")
        #expect(progress.completed == 4 * trace.count)
        let runs = await sweep.run()
        #expect(report.runs.map(\.hits) == runs.map(\.hits) && runs.count == 4)
    }
}
