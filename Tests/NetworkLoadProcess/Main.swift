import Foundation

/// A process for tests: many loads by many tasks from a server that fails now and then, and what is left of it afterwards, as
/// one line of JSON.
///
/// Arguments: how many loads, tasks and URLs, the share of answers that are faults, in percent, and how often all of it is done
/// (once unless said); what came of the loads is that of the last time.
@main
enum Main {
    static func main() async throws {
        let numbers = CommandLine.arguments.dropFirst().compactMap { Int($0) }
        guard (4...5).contains(numbers.count) else { exit(64) }
        let load = NetworkLoad(loads: numbers[0], tasks: numbers[1], urls: numbers[2], faults: numbers[3])
        // Once for whatever is made once, then for what is measured.
        _ = try await NetworkLoad(loads: 300, tasks: numbers[1], urls: 100, faults: numbers[3]).run()
        let before = await Resources.settled()
        for _ in 1..<max(numbers.count > 4 ? numbers[4] : 1, 1) { _ = try await load.run() }
        var outcome = try await load.run()
        let after = await Resources.settled(downTo: before.descriptors)
        outcome.counts["descriptorsLeft"] = after.descriptors - before.descriptors
        outcome.counts["networkThreadsLeft"] = after.networkThreads
        outcome.counts["threadsLeft"] = after.threads - before.threads
        outcome.counts["residentKilobytesLeft"] = after.residentKilobytes - before.residentKilobytes
        outcome.counts["heapKilobytesLeft"] = after.heapKilobytes - before.heapKilobytes
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        print(String(decoding: try encoder.encode(outcome.counts), as: UTF8.self))
    }
}
