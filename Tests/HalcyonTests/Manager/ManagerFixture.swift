import Foundation
import Halcyon
import HalcyonCurl
import HalcyonTestSupport
import Synchronization

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

/// A manager over a cache in its own folder; cache and downloader use a manual clock.
struct ManagerFixture {
    let folder: TemporaryFolder
    let clock: ManualClock
    let recorder = Recorder()
    let cache: ImageCache<Bitmap>
    let downloader: ImageDownloader
    let manager: HalcyonManager

    /// - Parameter folder: The folder of an earlier fixture, to restart on its files.
    init(
        _ transport: any Transport = CurlTransport(), folder: TemporaryFolder? = nil,
        clock: ManualClock = ManualClock(),
        memory: MemoryStorageConfig = .lasting(cost: 1 << 20), sizeLimit: Int = 0, constrained: Bool = false,
        triggers: [any CacheTrigger] = []
    ) throws {
        self.folder = try folder ?? TemporaryFolder()
        self.clock = clock
        cache = ImageCache(
            memory: memory,
            disk: DiskStorageConfig(
                name: "test", directory: URL(fileURLWithPath: self.folder.path), sizeLimit: sizeLimit,
                cleanInterval: .zero),
            serializer: BitmapSerializer(), clock: clock, recorder: recorder,
            triggers: triggers)
        // Tests advance the clock by minutes, long after a real listing would have ended.
        if folder != nil { cache.diskStorage?.waitUntilListed() }
        downloader = .test(transport, clock: clock) { $0.isNetworkConstrained = { constrained } }
        manager = HalcyonManager(cache: cache, downloader: downloader)
    }

    /// Waits until the disk has completed its pending operations.
    func settle() async { await cache.settleDisk() }
}

/// A small picture and a file that decodes to it.
struct EncodedPicture: Equatable {
    let picture: Bitmap
    let file: Data

    init(_ color: PixelColor = PixelColor(red: 200, green: 40, blue: 90), width: Int = 8) throws {
        guard let picture = Bitmap(width: width, height: 6, color: color) else { throw ImageError.unknownFormat }
        self.picture = picture
        file = try ImageEncoder.png().encode(picture)
    }

    static var blue: EncodedPicture { get throws { try EncodedPicture(PixelColor(red: 10, green: 20, blue: 250)) } }
}

/// A provider that returns its bytes when a test releases it.
final class SlowProvider: ImageDataProvider {
    let cacheKey = "slow"
    private let bytes: Data
    private let gate = DispatchSemaphore(value: 0)
    private let asked = Atomic<Int>(0)

    init(_ bytes: Data) { self.bytes = bytes }

    var askedCount: Int { asked.load(ordering: .relaxed) }

    func release() { gate.signal() }

    /// Waits on a thread of its own, also after the task is cancelled. Tasks run on those of the global queue.
    func data() async throws -> Data {
        asked.add(1, ordering: .relaxed)
        return try await CallbackQueue.dispatch(DispatchQueue(label: "test.provider")).result { [gate, bytes] in
            gate.wait()
            return bytes
        }
    }
}

/// Decodes PNG as the built-in decoder, and counts.
final class CountingDecoder: ImageDecoding {
    private let calls = Atomic<Int>(0)
    var count: Int { calls.load(ordering: .relaxed) }
    /// A decoder that uses this one alone.
    var decoder: ImageDecoder { ImageDecoder(codecs: ImageCodecs(decoders: [self])) }

    func format(of data: Data) -> ImageFormat? { ImageFormat(of: data) == .png ? .png : nil }
    func information(of data: Data) throws -> ImageInformation { try ImageDecoder().information(of: data) }

    func decode(_ data: Data, options: ImageDecodingOptions) throws -> Bitmap {
        calls.add(1, ordering: .relaxed)
        return try ImageDecoder().decode(data)
    }
}

/// A URL at the fake transport.
func fake(_ name: String) -> URL { URL(string: "http://fake/\(name)") ?? URL(fileURLWithPath: "/") }

/// The error of some work.
func failure(_ work: () async throws -> some Any) async -> (any Error)? {
    do {
        _ = try await work()
        return nil
    } catch {
        return error
    }
}
