import CTurboJPEGBaseline
import Foundation
import Halcyon

/// How fast pictures are decoded and processed: each line is the median of fifteen runs in milliseconds of one thread's
/// processor time.
///
///     swift run -c release --package-path Experiments/Benchmarks ImageBenchmark [file.jpg]
///
/// `Experiments/Benchmarks/images.py` runs this beside Pillow. Without a file a picture of 4000 x 3000 pixels is made.
///
/// With `HALCYON_BENCH_SHORT` in the environment it does a little of everything, to see that it works; the figures mean nothing.
@main
enum Main {
    private static let runs = ProcessInfo.processInfo.environment["HALCYON_BENCH_SHORT"] == nil ? 15 : 1

    static func main() throws {
        let data: Data
        if CommandLine.arguments.count > 1 {
            data = try Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[1]))
        } else {
            data = try ImageEncoder.jpeg(quality: 85).encode(synthetic(width: 4_000, height: 3_000))
        }
        try decoding(data)
        try processing()
    }

    /// Decoding to 400 pixels beside TurboJPEG's own decoding at an eighth, turn by turn.
    static func decoding(_ data: Data) throws {
        let processor = DownsamplingImageProcessor(size: PixelSize(width: 400, height: 400))
        let decoder = ImageDecoder()
        var (ours, theirs): ([Double], [Double]) = ([], [])
        for _ in 0..<runs {
            theirs.append(try milliseconds { try turboEighth(data) })
            ours.append(try milliseconds { _ = try processor.process(.data(data), decoder: decoder) })
        }
        report("turbojpeg-eighth", median(theirs))
        report("downsample-400", median(ours))
        report("downsample-400 / turbojpeg-eighth", median(ours) / median(theirs))
    }

    /// A megapixel, opaque and not.
    static func processing() throws {
        let opaque = try synthetic(width: 1_000, height: 1_000)
        let clear = try RoundCornerImageProcessor(cornerRadius: .pixels(50)).process(opaque)
        let jobs: [(String, any BitmapProcessor)] = [
            ("resize-500", ResizingImageProcessor(referenceSize: PixelSize(width: 500, height: 500))),
            ("resize-2000", ResizingImageProcessor(referenceSize: PixelSize(width: 2_000, height: 2_000))),
            ("blur-2", BlurImageProcessor(blurRadius: 2)),
            ("blur-10", BlurImageProcessor(blurRadius: 10)),
            ("round-100", RoundCornerImageProcessor(cornerRadius: .pixels(100))),
        ]
        for (name, processor) in jobs {
            for (kind, picture) in [("rgb", opaque), ("rgba", clear)] {
                var times: [Double] = []
                for _ in 0..<runs { times.append(try milliseconds { _ = try processor.process(picture) }) }
                report("\(name)-\(kind)", median(times))
            }
        }
    }

    static func report(_ name: String, _ value: Double) { print("\(name)\t\(String(format: "%.3f", value))") }

    static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    /// The processor's time of this thread: what other programs take meanwhile does not count.
    static func milliseconds(_ work: () throws -> Void) rethrows -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) * 1e-6
        }
        let start = now()
        try work()
        return now() - start
    }
}

/// Gradients and noise.
func synthetic(width: Int, height: Int) throws -> Bitmap {
    var state: UInt32 = 2_463_534_242
    var pixels = [UInt8](repeating: 255, count: width * height * 4)
    for y in 0..<height {
        for x in 0..<width {
            state ^= state << 13
            state ^= state >> 17
            state ^= state << 5
            let at = (y * width + x) * 4
            pixels[at] = UInt8(x * 255 / width)
            pixels[at + 1] = UInt8(y * 255 / height)
            pixels[at + 2] = UInt8(truncatingIfNeeded: state >> 26) + ((x + y) % 200 < 100 ? 150 : 20)
        }
    }
    guard let picture = Bitmap(width: width, height: height, pixels: pixels) else {
        throw ImageError.invalidSize(PixelSize(width: width, height: height))
    }
    return picture
}

/// What TurboJPEG alone does at an eighth of the size.
func turboEighth(_ data: Data) throws {
    guard let handle = tjInitDecompress() else { throw ImageError.outOfMemory }
    defer { tjDestroy(handle) }
    let failed = data.withUnsafeBytes { (raw: UnsafeRawBufferPointer) -> Bool in
        let file = raw.bindMemory(to: UInt8.self).baseAddress
        var (width, height, sampling, colours): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
        guard tjDecompressHeader3(handle, file, UInt(data.count), &width, &height, &sampling, &colours) == 0 else {
            return true
        }
        (width, height) = ((width + 7) / 8, (height + 7) / 8)
        var pixels = [UInt8](repeating: 0, count: Int(width * height) * 4)
        return tjDecompress2(
            handle, file, UInt(data.count), &pixels, width, width * 4, height, Int32(TJPF_RGBA.rawValue), 0) != 0
    }
    if failed { throw ImageError.damaged(.jpeg, reason: "TurboJPEG alone refuses it") }
}
