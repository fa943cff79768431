import Foundation
import HalcyonImages

/// The frames of an animated GIF.
///
/// Disposal to the background makes pixels transparent, as in browsers, for any background colour. A file with n repetitions is shown
/// n + 1 times, and one with 0 repetitions endlessly. A file without a number is shown once.
struct GIFFrames: AnimatedImageSource {
    let size: PixelSize
    let frames: [AnimationFrame]
    let plays: Int?
    private let data: Data
    private let stored: [GIFImage.Frame]

    /// Reads the frames; `nil` if there is only one.
    init?(_ data: Data, _ options: ImageDecodingOptions) throws {
        let (size, stored, loops) = try data.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws in
            let image = try GIFImage(ByteView(bytes))
            let (frames, loops) = try image.frames()
            return (image.size, frames, loops)
        }
        guard stored.count > 1 else { return nil }
        try options.check(stored: size, allocated: size.pixelCount)
        self.data = data
        self.size = size
        self.stored = stored
        plays = loops.map { $0 == 0 ? nil : $0 + 1 } ?? 1
        frames = stored.map { frame in
            AnimationFrame(
                x: frame.x, y: frame.y, size: frame.size, duration: .milliseconds(frame.delay * 10),
                disposal: frame.disposal, blend: .over)
        }
    }

    func pixels(ofFrame index: Int) throws -> Bitmap {
        try data.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws in
            try GIFImage(ByteView(bytes)).pixels(of: stored[index])
        }
    }
}
