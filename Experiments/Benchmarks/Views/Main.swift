import Foundation
import HalcyonViews

/// What a view costs and saves, beside a view without a binding, as one table.
///
///     swift run -c release --package-path Experiments/Benchmarks ViewBenchmark
///
/// With `HALCYON_BENCH_SHORT` in the environment it does a little of everything, to see that it works; the figures
/// mean nothing.
@main
@MainActor
enum Main {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.count == 3, arguments[0] == "--peak" {
            return try await PeakBenchmark.show(
                URL(fileURLWithPath: arguments[2]), isDownsampled: arguments[1] == "downsampled")
        }
        try await ScrollBenchmark().run()
        try await PeakBenchmark().run()
        try await HitBenchmark().run()
    }
}

/// Whether the environment asks for the short form.
let isShort = ProcessInfo.processInfo.environment["HALCYON_BENCH_SHORT"] != nil

/// One line of the table.
func report(_ what: String, _ value: Double, _ unit: String) {
    let padded = what.padding(toLength: 72, withPad: " ", startingAt: 0)
    print(padded, String(format: "%10.3f", value), unit)
}

/// The milliseconds of a duration.
func milliseconds(_ duration: Duration) -> Double { duration / .milliseconds(1) }

/// The median.
func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
}

/// A view that keeps what it shows, and reports it.
@MainActor
final class PlainView: ImageDisplaying {
    private let manager: HalcyonManager
    private(set) lazy var images = ImageBinding(self, manager: manager)
    private(set) var picture: Bitmap?
    /// The row that a view without a binding shows.
    var row = -1

    init(_ manager: HalcyonManager) { self.manager = manager }

    func display(_ picture: Bitmap?, transition: ImageTransition) { self.picture = picture }
}

/// A manager over a folder, with an empty cache.
func manager(in folder: URL, _ transport: (any Transport)? = nil) -> HalcyonManager {
    var configuration = ImageDownloader.Configuration()
    configuration.request = { url in
        var request = TransportRequest(url)
        request.proxy = .none
        return request
    }
    return HalcyonManager(
        cache: ImageCache<Bitmap>(
            memory: .init(totalCostLimit: 1 << 28), disk: .init(name: "views", directory: folder),
            serializer: BitmapSerializer(), triggers: []),
        downloader: transport.map { ImageDownloader(name: "views", configuration: configuration, transport: $0) }
            ?? ImageDownloader(name: "views", configuration: configuration))
}

/// A folder that is removed after some work.
@MainActor
func withFolder<Value>(_ work: @MainActor (URL) async throws -> Value) async throws -> Value {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("halcyon-views-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await work(folder)
}

/// The file of a picture with detail, as a photograph has: a JPEG of some 40 kB at 400 × 300.
func photograph(width: Int, height: Int) throws -> Data {
    var (pixels, state): ([UInt8], UInt32) = ([], 1)
    pixels.reserveCapacity(width * height * 4)
    for y in 0..<height {
        for x in 0..<width {
            state = state &* 1_664_525 &+ 1_013_904_223
            let noise = Int(state >> 27)
            pixels += [
                UInt8(x * 200 / width + noise), UInt8(y * 200 / height + noise), UInt8((x + y) & 127 + noise), 255,
            ]
        }
    }
    guard let picture = Bitmap(width: width, height: height, pixels: pixels) else { throw ImageError.outOfMemory }
    return try ImageEncoder.jpeg(quality: 85).encode(picture)
}
