import Foundation
import Halcyon

/// What the documentation's examples use, by one import.
@main
struct Main {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("uses-halcyon-\(getpid())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let log = AccessLog(path: folder.path + "/access.sqlite")
        let cache = try ImageCache<Bitmap>(
            disk: DiskStorageConfig(name: "photos", directory: folder), memoryPolicyNamed: "learned", in: .standard,
            recorder: log)
        let manager = HalcyonManager(cache: cache, downloader: ImageDownloader(name: "images"))

        var configuration = PrefetchConfiguration()
        configuration.budget = try PrefetchBudget(parsing: "2/request,20/minute,10MB/day")
        let predictive = manager.startPredicting(configuration)
        predictive.conditions = [.meteredNetwork]

        let thumbnail =
            DownsamplingImageProcessor(size: PixelSize(width: 2, height: 2))
            |> RoundCornerImageProcessor(cornerRadius: .pixels(1))
        guard let picture = Bitmap(width: 4, height: 4, color: .white) else { fatalError("No picture.") }
        let source = Source.data(try ImageEncoder.png().encode(picture), cacheKey: "a")
        let result = try await manager.image(
            for: Resource(source, categories: ["shoes"], user: "u7"), options: ImageOptions(processor: thumbnail))
        guard result.image.width == 2, result.cacheType == CacheType.none else { fatalError("Not the picture.") }
        await predictive.settle()
        manager.stopPredicting()

        var options = DownloadOptions()
        options.priority = .high
        options.retryStrategy = DelayRetryStrategy(maxRetryCount: 2)
        let missing = folder.path + "/none.safetensors"
        do {
            _ = PolicyCatalogue.standard.serving(try PretrainedModel(contentsOf: missing), mode: .frozen)
            fatalError("There is no model.")
        } catch {}
        await cache.close()
        try await log.close()
    }
}
