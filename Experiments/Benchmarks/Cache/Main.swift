import Foundation
import Halcyon
import HalcyonEviction

/// How fast the live cache is, as one table. Everything is measured in one run, so that ratios hold.
///
///     swift run -c release CacheBenchmark
///
/// With `--hits-only` it does nothing but the hits of lru, for a profiler.
@main
enum Main {
    static func main() throws {
        let memory = MemoryBenchmark()
        memory.hits()
        if CommandLine.arguments.contains("--hits-only") { return }
        try memory.threads()
        memory.beside()
        memory.overhead()
        try DiskBenchmark().run()
    }
}

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
