import Foundation

/// A process for tests: many loads by many tasks from a server that fails now and then, and what is left of it afterwards, as
/// one line of JSON.
///
/// Arguments: how many loads, tasks and URLs, and the share of answers that are faults, in percent.
@main
enum Main {
    static func main() async throws {
        let numbers = CommandLine.arguments.dropFirst().compactMap { Int($0) }
        guard numbers.count == 4 else { exit(64) }
        // Once for whatever is made once, then for what is measured.
        _ = try await NetworkLoad(loads: 300, tasks: numbers[1], urls: 100, faults: numbers[3]).run()
        let before = await Resources.settled()
        var outcome = try await NetworkLoad(
            loads: numbers[0], tasks: numbers[1], urls: numbers[2], faults: numbers[3]
        ).run()
        let after = await Resources.settled(downTo: before.descriptors)
        outcome.counts["descriptorsLeft"] = after.descriptors - before.descriptors
        outcome.counts["networkThreadsLeft"] = after.networkThreads
        outcome.counts["threadsLeft"] = after.threads - before.threads
        outcome.counts["kilobytesLeft"] = after.kilobytes - before.kilobytes
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        print(String(decoding: try encoder.encode(outcome.counts), as: UTF8.self))
    }
}
