import Foundation
import Halcyon

/// A gallery: pictures with categories from a server on this machine, through a manager, as thumbnails.
///
///     swift run --package-path Experiments/Examples Gallery [FOLDER]
///
/// The first row is prefetched, then a visitor looks around; at last all thumbnails are wanted in black and white, which
/// takes no download because the originals were kept. The thumbnails are written to FOLDER, if there is one. Then the visitor
/// opens posts of a feed, whose pages the app announces. The exit code is 1 if a picture of the gallery was loaded twice or came
/// out at another size than it should, or if the feed has other counts.
@main
enum Main {
    static let thumbnail = DownsamplingImageProcessor(size: PixelSize(width: 96, height: 96))

    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count <= 1 else {
            print("usage: Gallery [FOLDER]")
            exit(64)
        }
        do {
            if try await !run(thumbnails: arguments.first.map { URL(fileURLWithPath: $0) }) { exit(1) }
        } catch {
            print(error)
            exit(65)
        }
    }

    static func run(thumbnails: URL?) async throws -> Bool {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("halcyon-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = try PictureServer(try Pictures().files)
        server.start()
        let gallery = Pictures.list(at: server.port)
        let manager = makeManager(in: folder)
        var options = manager.defaultOptions

        options.priority = .low
        let report = await ImagePrefetcher(
            resources: Array(gallery.prefix(Pictures.perCategory)), manager: manager, options: options
        ).run()
        print("prefetched \(report.completed.count), failed \(report.failed.count)")

        var table = HitTable()
        var isRight = report.completed.count == Pictures.perCategory
        for step in visit(gallery.count, steps: 300) {
            let result = try await manager.image(for: gallery[step])
            isRight = isRight && result.image.size == PixelSize(width: 96, height: 72)
            table.add(result, gallery[step])
        }
        options = manager.defaultOptions
        options.processor = thumbnail |> BlackWhiteImageProcessor()
        for resource in gallery {
            let result = try await manager.image(for: resource, options: options)
            table.add(result, resource)
            if let thumbnails { try write(result.image, of: resource, to: thumbnails) }
        }
        print(table.rendered)
        print("\(gallery.count) pictures, \(server.requestCount) requests to the server")
        isRight = isRight && server.requestCount == gallery.count
        let feed = try Feed(port: server.port, makeManager(in: folder, name: "feed", thumbnails: 1_000))
        return try await feed.run() && isRight
    }

    /// A manager whose memory holds some thumbnails: by default eight, so that the disk has something to do.
    static func makeManager(in folder: URL, name: String = "gallery", thumbnails: Int = 8) -> HalcyonManager {
        var options = ImageOptions(processor: thumbnail)
        options.cacheOriginalImage = true
        options.waitForCache = true
        options.retryStrategy = DelayRetryStrategy(maxRetryCount: 2, retryInterval: .seconds(1))
        var configuration = ImageDownloader.Configuration()
        configuration.request = { url in
            var request = TransportRequest(url)
            request.proxy = .none
            return request
        }
        let cache = ImageCache<Bitmap>(
            memory: .init(totalCostLimit: thumbnails * 96 * 72 * 4), disk: .init(name: name, directory: folder),
            serializer: BitmapSerializer(), triggers: [])
        return HalcyonManager(
            cache: cache, downloader: ImageDownloader(name: name, configuration: configuration),
            defaultOptions: options)
    }

    /// Who looks around: every picture once, then rather the first ones of the list, the same each time.
    static func visit(_ count: Int, steps: Int) -> [Int] {
        var state: UInt64 = 1
        return Array(0..<count)
            + (0..<steps).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let share = Double(state >> 11) / Double(1 << 53)
                return Int(share * share * Double(count))
            }
    }

    static func write(_ image: Bitmap, of resource: Resource, to folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let name = resource.categories.joined() + "-" + (resource.source.url?.lastPathComponent ?? "picture.jpg")
        try ImageEncoder.jpeg().encode(image).write(to: folder.appendingPathComponent(name), options: .atomic)
    }
}
