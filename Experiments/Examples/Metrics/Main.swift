import Foundation
import Halcyon
import HalcyonObservability

/// Prints the metrics of a short run in Prometheus's text format.
///
///     swift run --package-path Experiments/Examples MetricsExample
///
/// A manager whose memory holds four images prefetches three of twelve, loads all, then the last three and the first two
/// again. The exit code is 1 if the counts are not those of the run.
@main
enum Main {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("halcyon-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let cache = ImageCache<Bitmap>(
            memory: .init(totalCostLimit: 4 * 64 * 64 * 4), disk: .init(name: "metrics", directory: folder),
            serializer: BitmapSerializer(), triggers: [])
        var options = ImageOptions()
        options.waitForCache = true
        let manager = HalcyonManager(cache: cache, defaultOptions: options)
        let registry = PrometheusRegistry()
        let metrics = CacheMetrics(manager, name: "pictures", factory: registry)

        let pictures = try (0..<12).map { number in
            let category = number < 6 ? "lakes" : "forests"
            return Resource(
                .data(try picture(number), cacheKey: "\(category)/\(number)"), categories: [category], user: "visitor")
        }
        _ = await ImagePrefetcher(resources: Array(pictures.prefix(3)), manager: manager, maxConcurrent: 1).run()
        for picture in pictures + pictures.suffix(3) + pictures.prefix(2) { _ = try await manager.image(for: picture) }
        metrics.collect()
        print(registry.text)
        let lookUps = cache.statistics.lookUps
        await cache.close()
        if lookUps != TierCounts(memory: 3, disk: 5, none: 9) { exit(1) }
    }

    static func picture(_ number: Int) throws -> Data {
        let color = PixelColor(red: UInt8(number * 20), green: 120, blue: 80)
        guard let bitmap = Bitmap(width: 64, height: 64, color: color) else { throw ImageError.outOfMemory }
        return try ImageEncoder.png().encode(bitmap)
    }
}
