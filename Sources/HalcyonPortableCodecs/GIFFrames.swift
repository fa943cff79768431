import Foundation
import HalcyonImages

/// The frames of an animated GIF.
///
/// Disposal to the background makes pixels transparent, as in browsers, for any background colour. A file with n repetitions is shown
/// n + 1 times, and one with 0 repetitions endlessly. A file without a number is shown once.
///
/// A frame is clipped to the screen. One without a pixel on it, or with more pixels than the limit, takes its time and
/// draws nothing.
struct GIFFrames: AnimatedImageSource {
    let size: PixelSize
    let frames: [AnimationFrame]
    let plays: Int?
    private let data: Data
    /// The stored frames; `nil` for those that draw nothing.
    private let stored: [GIFImage.Frame?]

    /// Reads the frames; `nil` if there is only one.
    init?(_ data: Data, _ options: ImageDecodingOptions) throws {
        let (size, all, loops) = try data.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws in
            let image = try GIFImage(ByteView(bytes))
            return (image.size, try image.frames(options), image.loops)
        }
        guard all.count > 1 else { return nil }
        try options.check(stored: size, allocated: size.pixelCount)
        self.data = data
        self.size = size
        plays = loops.map { $0 == 0 ? nil : $0 + 1 } ?? 1
        let limit = min(options.pixelLimit, 1 << 30)
        stored = all.map { frame in
            let isDrawn = frame.x < size.width && frame.y < size.height && (1...limit).contains(frame.size.pixelCount)
            return isDrawn ? frame : nil
        }
        frames = zip(all, stored).map { frame, drawn in
            AnimationFrame(
                x: drawn?.x ?? 0, y: drawn?.y ?? 0,
                size: PixelSize(
                    width: drawn.map { min($0.size.width, size.width - $0.x) } ?? 1,
                    height: drawn.map { min($0.size.height, size.height - $0.y) } ?? 1),
                duration: .milliseconds(frame.control.delay * 10), disposal: drawn?.control.disposal ?? .keep,
                // Without a transparent colour a frame that covers the screen depends on no other.
                blend: drawn != nil && frame.control.transparent == nil ? .source : .over)
        }
    }

    func pixels(ofFrame index: Int) throws -> Bitmap {
        guard let frame = stored[index] else { return .transparent(frames[index].size) }
        return try data.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws in
            try GIFImage.pixels(ByteView(bytes), frame, in: frames[index].size)
        }
    }
}
