import Foundation
import HalcyonPipeline

/// The pipeline without prediction: cache, network and pictures.
@main
struct Main {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("uses-halcyon-pipeline-\(getpid())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let cache = try ImageCache<Bitmap>(name: "a", cacheDirectoryURL: folder)
        let manager = HalcyonManager(cache: cache)
        guard let picture = Bitmap(width: 1, height: 1, pixels: [255, 0, 0, 255]) else { fatalError("No picture.") }
        let source = Source.data(try ImageEncoder.png().encode(picture), cacheKey: "a")
        guard try await manager.image(for: source).image == picture else { fatalError("Not the same.") }
    }
}
