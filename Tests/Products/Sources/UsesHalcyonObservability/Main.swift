import Foundation
import HalcyonCache
import HalcyonObservability

@main
struct Main {
    static func main() async {
        let cache = ImageCache<Data>(name: "products")
        let metrics = CacheMetrics(cache, name: "products")
        await cache.store(Data("a".utf8), forKey: "a", toDisk: false)
        metrics.collect()
        precondition(cache.statistics.description.hasPrefix("look-ups: 0;"))
    }
}
