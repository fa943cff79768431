import Foundation
import HalcyonViews

/// The peak memory of a picture of 4000 × 3000 that is shown at 400 pixels, decoded in full size and downsampled. Each
/// is measured in a process of its own, as what the peak of its resident memory grows by. Linux only.
@MainActor
struct PeakBenchmark {
    func run() async throws {
        try await withFolder { folder in
            let (width, height) = isShort ? (1_000, 750) : (4_000, 3_000)
            let file = folder.appendingPathComponent("large.jpg")
            try photograph(width: width, height: height).write(to: file)
            print("a picture of \(width) × \(height), shown at 400 × 300, from a file")
            for mode in ["full", "downsampled"] {
                // Before the child's lines.
                fflush(nil)
                let child = Process()
                child.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
                child.arguments = ["--peak", mode, file.path]
                try child.run()
                child.waitUntilExit()
            }
        }
    }

    /// Shows the picture, and reports the growth of the peak.
    static func show(_ file: URL, isDownsampled: Bool) async throws {
        try await withFolder { folder in
            let view = PlainView(manager(in: folder))
            // What the first load of any picture needs is not counted.
            let small = try photograph(width: 64, height: 48)
            ImageContext.data(small, cacheKey: "small").set(to: view.images)
            while view.picture == nil { try await Task.sleep(for: .milliseconds(1)) }
            let before = try peak()
            let start = ContinuousClock.now
            ImageContext.url(file).downsampling(isDownsampled ? .to(PixelSize(width: 400, height: 300)) : .none)
                .set(to: view.images)
            while view.picture == nil { try await Task.sleep(for: .microseconds(200)) }
            let time = milliseconds(ContinuousClock.now - start)
            let size = view.picture?.size ?? PixelSize(width: 0, height: 0)
            let name = isDownsampled ? "downsampled" : "in full size"
            report("  growth of the peak: \(name), \(size)", Double(try peak() - before) / 1e6, "MB")
            report("  time to the picture: \(name)", time, "ms")
        }
    }

    /// The peak of the resident memory of this process, in bytes.
    private static func peak() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM") }
        return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) * 1_024
    }
}
