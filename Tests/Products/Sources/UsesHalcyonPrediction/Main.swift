import Foundation
import HalcyonPrediction

/// The whole pipeline with prediction and the learned policy.
@main
struct Main {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "uses-halcyon-prediction-\(getpid())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let cache = try ImageCache<Bitmap>(
            name: "a", cacheDirectoryURL: folder, policyNamed: "learned", in: .standard)
        let manager = HalcyonManager(cache: cache)
        let predictive = manager.startPredicting(PrefetchPrediction())
        await predictive.settle()
        manager.stopPredicting()
    }
}
