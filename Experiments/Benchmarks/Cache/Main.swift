import Foundation
import Halcyon
import HalcyonEviction

/// How fast the live cache is, as one table. Everything is measured in one run, so that ratios hold.
///
///     swift run -c release --package-path Experiments/Benchmarks CacheBenchmark
///
/// Names of parts (`hits`, `policies`, `threads`, `beside`, `overhead`, `disk`) leave out the others. With
/// `--count WORK ROUNDS [POLICY]` it does nothing but that work, for a tool that counts instructions; the difference between two
/// numbers of rounds is what the work takes by itself (``MemoryBenchmark/count(_:rounds:policy:)``). `--count-hits NAME ROUNDS`
/// does the same for the subjects of `hits` whose names begin so.
@main
enum Main {
    static func main() async throws {
        let memory = MemoryBenchmark()
        let arguments = CommandLine.arguments
        if arguments.count > 3, arguments[1] == "--count-hits", let rounds = Int(arguments[3]) {
            return try await HitBenchmark().count(arguments[2], rounds: rounds)
        }
        if arguments.count > 3, arguments[1] == "--count", let rounds = Int(arguments[3]) {
            return try memory.count(arguments[2], rounds: rounds, policy: arguments.count > 4 ? arguments[4] : nil)
        }
        func isWanted(_ part: String) -> Bool { arguments.count == 1 || arguments.dropFirst().contains(part) }
        if isWanted("hits") { try await HitBenchmark().run() }
        if isWanted("policies") { try memory.hits() }
        if isWanted("threads") { try memory.threads() }
        if isWanted("beside") { memory.beside() }
        if isWanted("overhead") { memory.overhead() }
        if isWanted("disk") { try DiskBenchmark().run() }
    }
}

/// Whether the environment asks for the short form.
let isShort = ProcessInfo.processInfo.environment["HALCYON_BENCH_SHORT"] != nil

/// One line of the table.
func report(_ what: String, _ value: Double, _ unit: String) {
    let padded = what.padding(toLength: 58, withPad: " ", startingAt: 0)
    print(padded, String(format: "%12.1f", value), unit)
}

/// The seconds that some work takes.
func seconds(_ work: () throws -> Void) rethrows -> Double {
    let clock = ContinuousClock()
    let (whole, rest) = try clock.measure { try work() }.components
    return Double(whole) + Double(rest) * 1e-18
}

/// A value that is an object, as an image would be.
final class Picture: CacheCostCalculable, Sendable {
    let cacheCost: Int

    init(cost: Int) { cacheCost = cost }
}

/// Keys as long as the addresses of images are.
func keys(_ count: Int) -> [String] {
    (0..<count).map { "https://images.example.com/catalogue/\($0 &* 7_919 % 1_000_003)/full.jpg" }
}
