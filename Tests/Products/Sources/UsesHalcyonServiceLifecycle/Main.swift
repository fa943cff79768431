import Foundation
import HalcyonCache
import HalcyonServiceLifecycle

@main
struct Main {
    static func main() async throws {
        let cache = ImageCache<Data>(name: "products")
        let service = CacheService(cache)
        let running = Task { try await service.run() }
        running.cancel()
        try await running.value
        precondition(!cache.diskState.isOpen)
    }
}
