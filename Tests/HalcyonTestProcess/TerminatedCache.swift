import Foundation
import Halcyon
import HalcyonCache

/// A cache with a ``TerminationTrigger`` in a process that waits for SIGTERM.
struct TerminatedCache {
    let directory: URL

    func run() throws {
        let cache = try ImageCache<Data>(
            disk: DiskStorageConfig(name: "terminated", directory: directory), memoryPolicyNamed: "lru",
            triggers: [TerminationTrigger()])
        Task {
            await cache.store(
                Data("lasting".utf8), forKey: "lasting",
                options: CacheOptions(categories: ["lasting"]))
            var short = CacheOptions()
            short.diskCacheExpiration = .seconds(0.001)
            await cache.store(Data("short".utf8), forKey: "short", options: short)
            try await Task.sleep(for: .milliseconds(20))
            while !TerminationSignal.shared.isHandled { try await Task.sleep(for: .milliseconds(1)) }
            Main.say("ready")
        }
        withExtendedLifetime(cache) {
            while true { sleep(60) }
        }
    }
}
