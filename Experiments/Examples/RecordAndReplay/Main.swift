import Foundation
import Halcyon
import HalcyonAccessLog
import HalcyonExperiments
import HalcyonTrace

/// An image cache serves users who browse a shop and records what it was asked for; the record is then replayed under
/// other policies, at the size that the cache's memory had.
///
///     swift run --package-path Experiments/Examples RecordAndReplay [POLICY [REQUESTS [LOG]]]
///
/// Under the policy of the live cache the replay must hit exactly as often as its memory did, or the exit code is 1.
/// LOG keeps the access log under this name, such as `access.sqlite`; the file must not exist. Without it the log is
/// deleted.
@main
enum Main {
    static let memoryLimit = 1_000_000
    static let diskLimit = 8_000_000
    /// The learner of a cache that many users share. By default it begins with a model for the cache of one user, which a
    /// replay of a shared cache does not.
    static let shared = "learned(model=none)"

    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count <= 3, let requests = Int(arguments.dropFirst().first ?? "10000"), requests > 0 else {
            print("usage: RecordAndReplay [POLICY [REQUESTS [LOG]]]")
            exit(64)
        }
        let kept = arguments.count > 2 ? URL(fileURLWithPath: arguments[2]) : nil
        if let kept, FileManager.default.fileExists(atPath: kept.path) {
            print("\(kept.path) exists; name another file for the log.")
            exit(64)
        }
        if let folder = kept?.deletingLastPathComponent(), !FileManager.default.fileExists(atPath: folder.path) {
            print("there is no folder \(folder.path) for the log.")
            exit(64)
        }
        do {
            if try await !run(policy: arguments.first ?? shared, requests: requests, keeping: kept) { exit(1) }
        } catch {
            print(error)
            exit(64)
        }
    }

    /// Records a session, replays its log, and moves the log to `kept`, if that is not nil.
    ///
    /// - Returns: Whether the replay hit as often as the live cache's memory.
    static func run(policy: String, requests: Int, keeping kept: URL?) async throws -> Bool {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("halcyon-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let clock = SessionClock()
        // By the session's time, too: by today's, what was recorded is older than the log keeps it.
        var logging = AccessLog.Configuration()
        logging.now = { clock.now }
        let log = AccessLog(path: folder.appendingPathComponent("access.sqlite").path, logging)
        let cache = try makeCache(in: folder, policy: policy, log: log, clock: clock)
        try await BrowsingSession(requests: requests).browse(cache, clock: clock)
        try await log.close()
        print("Live, memory of \(memoryLimit) and disk of \(diskLimit) bytes under \(policy), \(requests) requests:")
        print(liveTable(cache.statistics), terminator: "")

        let recorded = try Trace.load(log.path)
        let sweep = try Sweep(
            trace: recorded, policies: [policy] + ["lru", shared, "belady"].filter { $0 != policy },
            capacities: ["\(memoryLimit)"])
        let runs = await sweep.run()
        print("\nThe log of it, replayed through one cache of \(memoryLimit) bytes:")
        print(replayTable(runs), terminator: "")

        if let kept {
            try keep(log.path, as: kept)
            print("\nThe log is in \(kept.path).")
        }
        let hits = cache.statistics.lookUps.memory
        if recorded.count == requests && runs.first?.hits == hits { return true }
        print("The live cache found \(hits) of \(requests) in memory; the replay under \(policy) does not.")
        return false
    }

    /// Copies a closed log to a file beside `target`, which is then renamed.
    static func keep(_ path: String, as target: URL) throws {
        let part = target.deletingLastPathComponent().appendingPathComponent(".\(target.lastPathComponent).part")
        try? FileManager.default.removeItem(at: part)
        try FileManager.default.copyItem(at: URL(fileURLWithPath: path), to: part)
        try FileManager.default.moveItem(at: part, to: target)
    }

    /// The cache of the example: two tiers, policies by name, a rule for one category, a log.
    static func makeCache(
        in folder: URL, policy: String, log: AccessLog, clock: any CacheClock
    ) throws -> ImageCache<Data> {
        try ImageCache<Data>(
            memory: .init(totalCostLimit: memoryLimit, expiration: .never),
            disk: .init(
                name: "shop", directory: folder, sizeLimit: diskLimit, expiration: .days(30),
                categoryRules: ["toys": CategoryRule(expiration: .days(2), costLimit: 500_000)]),
            memoryPolicyNamed: policy, diskPolicyNamed: policy, in: .standard, clock: clock, recorder: log,
            // A replay knows nothing of memory pressure, which would empty the live cache.
            triggers: [])
    }
}
