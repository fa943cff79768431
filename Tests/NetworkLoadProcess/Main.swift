import Foundation

/// A process for tests: many loads by many tasks from a server that fails now and then, and what is left of it afterwards, as
/// one line of JSON.
///
///     NetworkLoadProcess [manager] LOADS TASKS URLS FAULTS [ROUNDS]
///
/// Loads go to a downloader, or to a manager over a cache. FAULTS is the share of answers that are faults, in percent. All of it is
/// done ROUNDS times (once unless said); what came of the loads is that of the last. Exit code 1: a load returned a wrong
/// picture or a cancellation that it did not request; 64: usage.
@main
enum Main {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        let isManaged = arguments.first == "manager"
        let numbers = arguments.dropFirst(isManaged ? 1 : 0).compactMap { Int($0) }
        guard (4...5).contains(numbers.count), numbers.allSatisfy({ $0 >= 0 }), numbers[1] > 0, numbers[2] > 0 else {
            exit(64)
        }
        func run(_ loads: Int, _ urls: Int) async throws -> [String: Int] {
            isManaged
                ? try await ManagerLoad(loads: loads, tasks: numbers[1], urls: urls, faults: numbers[3]).run()
                : try await NetworkLoad(loads: loads, tasks: numbers[1], urls: urls, faults: numbers[3]).run()
        }
        // Once for whatever is made once, then for what is measured.
        _ = try await run(300, 100)
        let before = await Resources.settled()
        for _ in 1..<max(numbers.count > 4 ? numbers[4] : 1, 1) { _ = try await run(numbers[0], numbers[2]) }
        var counts = try await run(numbers[0], numbers[2])
        let after = await Resources.settled(downTo: before.descriptors)
        counts["descriptorsLeft"] = after.descriptors - before.descriptors
        counts["networkThreadsLeft"] = after.networkThreads
        counts["threadsLeft"] = after.threads - before.threads
        counts["residentKilobytesLeft"] = after.residentKilobytes - before.residentKilobytes
        counts["heapKilobytesLeft"] = after.heapKilobytes - before.heapKilobytes
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        print(String(decoding: try encoder.encode(counts), as: UTF8.self))
        let wrong = ["wrong image", "cancelled by nobody", "waiting", "over the limits"]
        if wrong.contains(where: { (counts[$0] ?? 0) > 0 }) { exit(1) }
    }
}
