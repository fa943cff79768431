import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization

@testable import HalcyonCache
@testable import HalcyonNetworking

/// A manager over a temporary folder and a transport.
struct ViewFixture {
    let folder: TemporaryFolder
    let transport: HeldTransport
    let shown = ShownKeys()
    let cache: ImageCache<Bitmap>
    let downloader: ImageDownloader
    let manager: HalcyonManager

    init() throws { try self.init(over: nil) }

    /// - Parameter transport: A transport in place of the held one.
    init(over other: (any Transport)?) throws {
        folder = try TemporaryFolder()
        transport = HeldTransport()
        cache = ImageCache(
            memory: MemoryStorageConfig(totalCostLimit: 1 << 24, expiration: .never, cleanInterval: .zero),
            disk: DiskStorageConfig(
                name: "test", directory: URL(fileURLWithPath: folder.path), cleanInterval: .zero),
            serializer: BitmapSerializer(), recorder: shown, triggers: [])
        var configuration = ImageDownloader.Configuration()
        configuration.request = { url in
            var request = TransportRequest(url)
            request.proxy = .none
            (request.timeouts.connect, request.timeouts.idle) = (.seconds(300), .seconds(300))
            return request
        }
        downloader = ImageDownloader(name: "test", configuration: configuration, transport: other ?? transport)
        manager = HalcyonManager(cache: cache, downloader: downloader)
    }

    /// Puts an image into memory, under the URL of a name.
    func remember(_ name: String, _ sample: NumberedPicture) async {
        await cache.store(
            sample.picture, original: sample.file, forKey: held(name).absoluteString, toDisk: false)
    }
}

/// Records the lists that are shown, each as the last components of its keys.
final class ShownKeys: AccessRecorder {
    private let shown = Mutex<[[String]]>([])

    var lists: [[String]] { shown.withLock { $0 } }

    func record(_ access: RecordedAccess) {}
    func record(_ list: RecordedList) {
        let keys = list.items.map { $0.key.split(separator: "/").last.map(String.init) ?? "" }
        shown.withLock { $0.append(keys) }
    }
}

/// A picture in the colour of a number, and its file.
struct NumberedPicture: Equatable {
    let picture: Bitmap
    let file: Data

    init(_ number: Int, width: Int = 8, height: Int = 6) throws {
        let color = PixelColor(
            red: UInt8(truncatingIfNeeded: number &* 37), green: UInt8(truncatingIfNeeded: number &* 91 &+ 5),
            blue: UInt8(truncatingIfNeeded: number &* 53 &+ 90))
        guard let picture = Bitmap(width: width, height: height, color: color) else { throw ImageError.unknownFormat }
        self.picture = picture
        file = try ImageEncoder.png().encode(picture)
    }
}

/// A view that records what it shows. It owns its binding, as views do.
@MainActor
final class RecordingView: ImageDisplaying {
    enum Shown: Equatable {
        case nothing
        case picture(Bitmap)
        case faded(Bitmap)
    }

    private(set) var shown: [Shown] = []
    var displaySize: DisplaySize?
    /// Called by each `display`.
    var onDisplay: (() -> Void)?
    let manager: HalcyonManager
    private(set) lazy var images = ImageBinding(self, manager: manager)

    init(_ manager: HalcyonManager) { self.manager = manager }

    var picture: Bitmap? {
        switch shown.last {
        case .picture(let picture)?, .faded(let picture)?: picture
        case .nothing?, nil: nil
        }
    }

    func display(_ picture: Bitmap?, transition: ImageTransition) {
        switch (picture, transition) {
        case (nil, _): shown.append(.nothing)
        case (let picture?, .fade): shown.append(.faded(picture))
        case (let picture?, _): shown.append(.picture(picture))
        }
        onDisplay?()
    }
}

/// An indicator that records its calls.
@MainActor
final class RecordingIndicator: ImageIndicator {
    enum Call: Equatable { case start, stop, report(Int) }

    private(set) var calls: [Call] = []

    var starts: Int { calls.count { $0 == .start } }
    var stops: Int { calls.count { $0 == .stop } }

    nonisolated init() {}

    func start() { calls.append(.start) }
    func stop() { calls.append(.stop) }
    func report(_ progress: DownloadProgress) { calls.append(.report(progress.received)) }
}

/// Collects the results of requests, as short words.
@MainActor
final class Results {
    private(set) var words: [String] = []

    nonisolated init() {}

    /// A completion that adds a word.
    func note(_ name: String) -> ImageBinding.Completion {
        { result in self.words.append("\(name) \(Self.word(result))") }
    }

    private static func word(_ result: Result<ImageResult, DisplayError>) -> String {
        switch result {
        case .success: "shown"
        case .failure(.superseded): "superseded"
        case .failure(.cancelled): "cancelled"
        case .failure(.viewGone): "gone"
        case .failure(.noResource): "none"
        case .failure(.loadFailed): "failed"
        }
    }
}
