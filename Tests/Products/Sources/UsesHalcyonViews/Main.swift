import Foundation
import HalcyonViews

/// A view of the program's own.
@MainActor
final class Frame: ImageDisplaying {
    private(set) lazy var images = ImageBinding(self, manager: manager)
    private(set) var picture: Bitmap?
    private let manager: HalcyonManager

    init(_ manager: HalcyonManager) { self.manager = manager }

    func display(_ picture: Bitmap?, transition: ImageTransition) { self.picture = picture }
}

/// A picture in a view, without the rest of the laboratory.
@main
struct Main {
    @MainActor
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("uses-halcyon-views-\(getpid())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let cache = try ImageCache<Bitmap>(name: "a", cacheDirectoryURL: folder)
        guard let picture = Bitmap(width: 1, height: 1, pixels: [255, 0, 0, 255]) else { fatalError("No picture.") }
        let frame = Frame(HalcyonManager(cache: cache))
        let file = try ImageEncoder.png().encode(picture)
        let isShown = await withCheckedContinuation { continuation in
            ImageContext.data(file, cacheKey: "a")
                .onResult { result in continuation.resume(returning: (try? result.get()) != nil) }
                .set(to: frame.images)
        }
        guard isShown, frame.picture == picture else { fatalError("Not the same.") }
    }
}
