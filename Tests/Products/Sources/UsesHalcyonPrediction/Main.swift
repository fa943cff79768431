import Foundation
import HalcyonPrediction

/// The whole pipeline with prediction and the learned policy.
@main
struct Main {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "uses-halcyon-configuration-\(getpid())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let cache = try ImageCache<Bitmap>(
            name: "a", cacheDirectoryURL: folder, policyNamed: "learned", in: .standard)
        let manager = HalcyonManager(cache: cache)
        let predictive = manager.startPredicting(PrefetchConfiguration())
        await predictive.settle()
        manager.stopPredicting()
    }
}
