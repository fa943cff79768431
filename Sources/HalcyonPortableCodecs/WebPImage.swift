import CImageCodecs
import Foundation
import HalcyonImages

/// A WebP file. Its container is parsed here, and libwebp decodes its pixels.
///
/// The picture of an animation is its first frame. ``WebPFrames`` has all frames.
struct WebPImage: CodedImage {
    static let format = ImageFormat.webp
    let size: PixelSize
    private(set) var orientation = ImageOrientation.up
    private(set) var declaresAlpha = false
    private let bytes: ByteView
    /// The number of bytes of the container, by its length field.
    private let announced: Int
    /// The first frame of an animation.
    private var frame: Frame?
    private var profilePlace: ByteView?
    /// Whether the codec keeps the whole stored picture in memory while it scales.
    private var isLossless = false

    /// The chunks of a frame, and its position on the canvas.
    struct Frame {
        var chunks: ByteView
        var size: PixelSize
        var x: Int
        var y: Int
        var duration: Int
        var flags: UInt8
    }

    init(_ bytes: ByteView) throws(ImageError) {
        guard let length = bytes.little(4, 4) else { throw .truncated(.webp) }
        self.bytes = bytes
        announced = length + 8
        var canvas: PixelSize?
        var isAnimated = false
        var at = 12
        while at < announced, let size = bytes.little(at + 4, 4) {
            let content = bytes.slice(at + 8, size)
            if bytes.holds("VP8X".utf8, at: at), let content, let flags = content[0], let width = content.little(4, 3),
                let height = content.little(7, 3)
            {
                canvas = PixelSize(width: width + 1, height: height + 1)
                isAnimated = flags & 2 != 0
                declaresAlpha = flags & 16 != 0
            } else if bytes.holds("ANMF".utf8, at: at), frame == nil {
                frame = content.flatMap(Self.frame)
            } else if bytes.holds("ICCP".utf8, at: at), profilePlace == nil {
                profilePlace = content
            } else if bytes.holds("EXIF".utf8, at: at), let content {
                let isPrefixed = content.starts(with: "Exif\0\0".utf8)
                orientation = EXIF.orientation(
                    content.slice(isPrefixed ? 6 : 0, content.count - (isPrefixed ? 6 : 0)) ?? content)
            } else if canvas == nil, let still = Self.still(bytes, at: at) {
                (canvas, declaresAlpha) = still
            }
            if bytes.holds("VP8L".utf8, at: at) { isLossless = true }
            at += 8 + size + size % 2
        }
        guard let canvas else {
            if bytes.count < announced { throw .truncated(.webp) }
            throw .damaged(.webp, reason: "it has no picture")
        }
        self.size = canvas
        guard isAnimated else {
            frame = nil
            return
        }
        guard let frame else {
            if bytes.count < announced { throw .truncated(.webp) }
            throw .damaged(.webp, reason: "it has no frame")
        }
        guard frame.x + frame.size.width <= canvas.width, frame.y + frame.size.height <= canvas.height else {
            throw .damaged(.webp, reason: "a frame is larger than the picture")
        }
    }

    /// Returns the size in a lossy or lossless bit stream, and whether it may have alpha.
    private static func still(_ bytes: ByteView, at: Int) -> (PixelSize, Bool)? {
        if bytes.holds("VP8 ".utf8, at: at), let width = bytes.little(at + 14, 2), let height = bytes.little(at + 16, 2)
        {
            return (PixelSize(width: width & 0x3FFF, height: height & 0x3FFF), false)
        }
        if bytes.holds("VP8L".utf8, at: at), let bits = bytes.little(at + 9, 4) {
            return (PixelSize(width: bits & 0x3FFF + 1, height: bits >> 14 & 0x3FFF + 1), bits >> 28 & 1 == 1)
        }
        return nil
    }

    static func frame(_ content: ByteView) -> Frame? {
        guard let x = content.little(0, 3), let y = content.little(3, 3), let width = content.little(6, 3),
            let height = content.little(9, 3), let duration = content.little(12, 3), let flags = content[15],
            let chunks = content.slice(16, content.count - 16)
        else { return nil }
        return Frame(
            chunks: chunks, size: PixelSize(width: width + 1, height: height + 1), x: x * 2, y: y * 2,
            duration: duration, flags: flags)
    }

    func profile() -> [UInt8]? { profilePlace?.bytes }

    func allocatedPixels(at wanted: PixelSize) -> Int {
        isLossless ? max(size.pixelCount, wanted.pixelCount) : wanted.pixelCount
    }

    /// libwebp scales to any size while it decodes. Frames of animations are decoded at full size.
    func size(covering wanted: PixelSize) -> PixelSize {
        guard frame == nil, wanted.width < size.width, wanted.height < size.height, wanted.width > 0, wanted.height > 0
        else { return size }
        // The larger of both scales keeps the proportions.
        if wanted.width * size.height >= wanted.height * size.width {
            return PixelSize(
                width: wanted.width, height: (wanted.width * size.height + size.width - 1) / size.width)
        }
        return PixelSize(width: (wanted.height * size.width + size.height - 1) / size.height, height: wanted.height)
    }

    func pixels(
        at wanted: PixelSize, _ options: ImageDecodingOptions
    ) throws(ImageError) -> (Bitmap, isComplete: Bool) {
        if bytes.count < announced { throw .truncated(.webp) }
        guard let frame else { return (try Self.decode(bytes, size, scaledTo: wanted), true) }
        let part = try Self.decode(frame.chunks, frame.size, scaledTo: frame.size)
        return (part.placed(on: size, x: frame.x, y: frame.y), true)
    }

    static func animation(of data: Data, _ options: ImageDecodingOptions) throws -> (any AnimatedImageSource)? {
        try WebPFrames(data, options)
    }

    /// Decodes the chunks of a still picture or a frame.
    static func decode(
        _ chunks: ByteView, _ size: PixelSize, scaledTo wanted: PixelSize
    ) throws(ImageError) -> Bitmap {
        guard let file = chunks.pointer else { throw .truncated(.webp) }
        let pixels = try PixelMemory.attempt(wanted) { output throws(ImageError) in
            try codec_webp_decode(
                file, chunks.count, Int32(size.width), Int32(size.height), Int32(wanted.width), Int32(wanted.height),
                output
            ).check(.webp)
        }
        // The flags of the container are only a hint.
        return Bitmap(size: wanted, pixels: pixels, isOpaque: nil)
    }
}
