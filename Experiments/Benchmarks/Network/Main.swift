import Foundation
import Halcyon
import HalcyonTestSupport

/// How fast loads are beside URLSession's, and what merging costs, as one table. Everything is measured in one run, in turns, so
/// that ratios hold. It starts an nginx of its own.
///
///     swift run -c release --package-path Experiments/Benchmarks NetworkBenchmark
///
/// With `--merging-only` it does nothing but what merging costs, and with a word behind it (`callbacks`, `tasks`, `bare`) nothing but
/// one of its three parts, for a profiler.
///
/// With `HALCYON_BENCH_SHORT` in the environment it does a little of everything, to see that it works; the figures mean nothing.
@main
enum Main {
    static func main() async throws {
        if CommandLine.arguments.contains("--merging-only") {
            return try await MergingBenchmark(only: MergingBenchmark.Part(rawValue: CommandLine.arguments.last ?? ""))
                .run()
        }
        let nginx = try NginxServer()
        try nginx.file("40k.bin", (0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) })
        try await LoadBenchmark(nginx: nginx).run()
        try await MergingBenchmark().run()
    }
}

/// Whether the environment asks for the short form.
let isShort = ProcessInfo.processInfo.environment["HALCYON_BENCH_SHORT"] != nil

/// One line of the table.
func report(_ what: String, _ value: Double, _ unit: String) {
    let padded = what.padding(toLength: 64, withPad: " ", startingAt: 0)
    print(padded, String(format: "%10.2f", value), unit)
}

/// The seconds that some work takes, by the clock and of the processor.
func seconds(_ work: () async throws -> Void) async rethrows -> (clock: Double, processor: Double) {
    let before = processorTime()
    let (whole, rest) = try await ContinuousClock().measure { try await work() }.components
    return (Double(whole) + Double(rest) * 1e-18, processorTime() - before)
}

/// The processor time of this process, in seconds.
private func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

/// The median.
func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
}
