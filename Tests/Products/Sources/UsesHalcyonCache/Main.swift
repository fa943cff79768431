import Foundation
import HalcyonCache

/// The cache alone: memory and disk tiers under a classical policy.
@main
struct Main {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("uses-halcyon-cache-\(getpid())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let cache = try ImageCache<Data>(name: "a", cacheDirectoryURL: folder, policyNamed: "s3-fifo")
        await cache.store(Data([1, 2, 3]), forKey: "a")
        cache.clearMemoryCache()
        guard try await cache.image(forKey: "a").image == Data([1, 2, 3]) else { fatalError("The value is lost.") }
    }
}
