import Foundation
import Halcyon
import Synchronization

/// What a load, a hit, a prefetch and an animation cost a manager, as one table; the processor time of the process, in medians.
///
///     swift run -c release --package-path Experiments/Benchmarks ManagerBenchmark
///
/// With `HALCYON_BENCH_SHORT` in the environment it does a little of everything, to see that it works; the figures mean nothing.
@main
enum ManagerBenchmark {
    private static let isShort = ProcessInfo.processInfo.environment["HALCYON_BENCH_SHORT"] != nil
    private static let rounds = isShort ? 1 : 7
    private static let loads = isShort ? 100 : 4_000
    private static let few = isShort ? 1 : 8

    static func main() async throws { try await run() }

    /// Off the main actor, on which a load by `await` costs two switches more.
    private static func run() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("halcyon-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        guard let pixel = Bitmap(width: 1, height: 1, color: PixelColor(red: 1, green: 2, blue: 3)) else { return }
        let transport = AnsweringTransport(try ImageEncoder.png().encode(pixel))
        let photo = AnsweringTransport(try ImageEncoder.jpeg().encode(try photo()))
        let cache = ImageCache(
            memory: .init(totalCostLimit: 1 << 30), disk: .init(name: "manager", directory: folder),
            serializer: BitmapSerializer(), triggers: [])
        let manager = HalcyonManager(cache: cache, downloader: ImageDownloader(name: "bench", transport: transport))

        let nothingKept = ImageOptions { ($0.cacheMemoryOnly, $0.memoryCacheExpiration) = (true, .expired) }
        var round = 0
        try await report("a load, answered at once, nothing kept", "µs") {
            round += 1
            try await together { [round] number in
                _ = try await manager.image(for: url("load\(round)/\(number)"), options: nothingKept)
            }
        }
        try await report("a task, for comparison", "µs") { try await together { _ in await Task.yield() } }

        let kept = ImageOptions { $0.waitForCache = true }
        try await together { _ = try await manager.image(for: url("\($0)"), options: kept) }
        try await report("a hit on disk, the file in the system's cache", "µs") {
            cache.clearMemoryCache()
            for number in 0..<loads { _ = try await manager.image(for: url("\(number)")) }
        }
        let resources = (0..<loads).map { Resource(url("\($0)")) }
        try await report("a hit in memory, imageInMemory", "µs") {
            for resource in resources { _ = manager.imageInMemory(for: resource) }
        }
        try await onMainActor(manager, resources)
        let photos = HalcyonManager(cache: cache, downloader: ImageDownloader(name: "photos", transport: photo))
        try await report("a prefetch of 4000x3000 pixels to the disk", "ms", few) {
            round += 1
            let resources = (0..<few).map { [round] in Resource(url("photo\(round)/\($0)")) }
            _ = await ImagePrefetcher(resources: resources, manager: photos).run()
        }
        let original = ImageOptions { ($0.waitForCache, $0.forceRefresh) = (true, true) }
        _ = try await photos.image(for: url("original"), options: original)
        let three: [any ImageProcessor] = [
            BlackWhiteImageProcessor(), CroppingImageProcessor(size: PixelSize(width: 800, height: 600)),
            CroppingImageProcessor(size: PixelSize(width: 400, height: 300)),
        ]
        try await report("three images of it at a time, made of its file", "ms", 1) {
            cache.clearMemoryCache()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for processor in three {
                    let options = ImageOptions { ($0.processor, $0.cacheMemoryOnly) = (processor, true) }
                    group.addTask { _ = try await photos.image(for: url("original"), options: options) }
                }
                try await group.waitForAll()
            }
        }
        await cache.close()

        for films in [1, 4, 5, 10] {
            let sources = (0..<films).map { _ in Film() }
            let pool = AnimationFramePool(limit: 64 << 20)
            let animations = sources.map { ImageAnimation($0, pool: pool) }
            let shown = 12
            let time = try await seconds {
                for frame in 0..<shown { for animation in animations { _ = try animation.frame(at: frame) } }
            }
            let decoded = sources.reduce(0) { $0 + $1.decoded }
            print(
                "\(films) films of 1920x1080 side by side: \(decoded) frames decoded for \(shown * films) shown,",
                String(format: "%.2f ms a shown frame", time / Double(shown * films) * 1e3))
        }
    }

    private static func url(_ name: String) -> URL { URL(string: "http://bench/\(name)") ?? URL(fileURLWithPath: "/") }

    /// What hits cost the code of views.
    @MainActor
    private static func onMainActor(_ manager: HalcyonManager, _ resources: [Resource]) async throws {
        try await report("a hit in memory, by await on the main actor", "µs") {
            for resource in resources { _ = try await manager.image(for: resource) }
        }
    }

    /// A picture of 12 megapixels.
    private static func photo() throws -> Bitmap {
        let (width, height) = isShort ? (400, 300) : (4_000, 3_000)
        var pixels: [UInt8] = []
        pixels.reserveCapacity(width * height * 4)
        for y in 0..<height {
            for x in 0..<width {
                pixels += [UInt8(x * 255 / width), UInt8(y * 255 / height), UInt8((x * x + y * y) >> 9 & 255), 255]
            }
        }
        guard let picture = Bitmap(width: width, height: height, pixels: pixels) else { throw ImageError.outOfMemory }
        return picture
    }

    /// Does as many pieces of work as there are loads, in one group of tasks.
    private static func together(_ work: @escaping @Sendable (Int) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<loads { group.addTask { try await work(number) } }
            try await group.waitForAll()
        }
    }

    /// Prints the median of the time that a round takes, divided by its pieces of work.
    private static func report(
        _ what: String, _ unit: String, _ count: Int = loads, isolation: isolated (any Actor)? = #isolation,
        _ round: () async throws -> Void
    ) async throws {
        var times: [Double] = []
        for _ in 0..<rounds { times.append(try await seconds(round)) }
        let median = times.sorted()[times.count / 2] / Double(count) * (unit == "ms" ? 1e3 : 1e6)
        print(what.padding(toLength: 50, withPad: " ", startingAt: 0), String(format: "%8.2f", median), unit)
    }

    /// The processor time of the process that some work takes, in seconds.
    private static func seconds(
        isolation: isolated (any Actor)? = #isolation, _ work: () async throws -> Void
    ) async rethrows -> Double {
        let before = processorTime()
        try await work()
        return processorTime() - before
    }

    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}

/// A transport that answers each request at once with the same body.
private final class AnsweringTransport: Transport {
    private struct Ended: Transfer {
        func cancel() {}
        func pause() {}
        func resume() {}
        func setPriority(_ priority: TransferPriority) {}
    }

    private let body: Data

    init(_ body: Data) { self.body = body }

    func start(_ request: TransportRequest, receiver: any TransferReceiver) -> any Transfer {
        receiver.received(ResponseHead(url: request.url, status: 200))
        body.withUnsafeBytes { receiver.received($0) }
        receiver.finished(.success(TransferMetrics()))
        return Ended()
    }
}

/// A film whose frames are each drawn over the one before.
private final class Film: AnimatedImageSource {
    let size = PixelSize(width: 1_920, height: 1_080)
    let frames = [AnimationFrame](
        repeating: AnimationFrame(
            x: 0, y: 0, size: PixelSize(width: 1_920, height: 1_080), duration: .milliseconds(40), disposal: .keep,
            blend: .over), count: 12)
    let plays: Int? = nil
    private let calls = Atomic<Int>(0)
    var decoded: Int { calls.load(ordering: .relaxed) }

    func pixels(ofFrame index: Int) throws -> Bitmap {
        calls.add(1, ordering: .relaxed)
        let color = PixelColor(red: UInt8(index), green: 0, blue: 0, alpha: 200)
        guard let picture = Bitmap(width: size.width, height: size.height, color: color) else {
            throw ImageError.unknownFormat
        }
        return picture
    }
}
