import CImageCodecs
import Foundation
import HalcyonImages

/// A PNG file. Its chunks are parsed here, and libpng decodes its pixels.
///
/// The picture of an animation is the default image, which decoders without support of APNG show. ``APNGFrames`` has its frames.
struct PNGImage: CodedImage {
    static let format = ImageFormat.png
    let size: PixelSize
    let orientation: ImageOrientation
    let declaresAlpha: Bool
    private let bytes: ByteView
    private let hasEnd: Bool
    private let isGrey: Bool
    /// The range of the compressed colour profile.
    private let profilePlace: ByteView?

    init(_ bytes: ByteView) throws(ImageError) {
        guard let width = bytes.big(16, 4), let height = bytes.big(20, 4), let color = bytes[25] else {
            throw .truncated(.png)
        }
        guard bytes.holds("IHDR".utf8, at: 12) else {
            throw .damaged(.png, reason: "its header is not its first chunk")
        }
        guard width > 0, height > 0, width < 1 << 31, height < 1 << 31 else {
            throw .damaged(.png, reason: "its size is \(width)x\(height)")
        }
        var (orientation, hasEnd, hasKey) = (ImageOrientation.up, false, false)
        var profilePlace: ByteView?
        var at = 8
        while !hasEnd, let length = bytes.big(at, 4), bytes.slice(at + 8, length + 4) != nil {
            if bytes.holds("IEND".utf8, at: at + 4) { hasEnd = true }
            if bytes.holds("tRNS".utf8, at: at + 4) { hasKey = true }
            if bytes.holds("eXIf".utf8, at: at + 4), let content = bytes.slice(at + 8, length) {
                orientation = EXIF.orientation(content)
            }
            if profilePlace == nil, bytes.holds("iCCP".utf8, at: at + 4) { profilePlace = bytes.slice(at + 8, length) }
            at += 12 + length
        }
        self.bytes = bytes
        self.profilePlace = profilePlace
        isGrey = color & 2 == 0
        size = PixelSize(width: width, height: height)
        self.orientation = orientation
        self.hasEnd = hasEnd
        declaresAlpha = color & 4 != 0 || hasKey
    }

    var profileSpace: ColorProfile.Space? { isGrey ? .grey : .rgb }

    /// Returns the profile. It follows a zero-terminated name and a byte with the compression method.
    func profile() -> [UInt8]? {
        guard let profilePlace else { return nil }
        guard let end = profilePlace.first(0, from: 0),
            let packed = profilePlace.slice(end + 2, profilePlace.count - end - 2), let source = packed.pointer
        else { return [] }
        var file = codec_file()
        defer { codec_free(&file) }
        guard codec_inflate(source, packed.count, ColorProfile.sizeLimit, &file).status == codec_ok,
            let bytes = file.bytes
        else { return [] }
        return [UInt8](UnsafeBufferPointer(start: bytes, count: file.count))
    }

    func pixels(
        at wanted: PixelSize, _ options: ImageDecodingOptions
    ) throws(ImageError) -> (Bitmap, isComplete: Bool) {
        guard hasEnd, let file = bytes.pointer else { throw .truncated(.png) }
        let pixels = try PixelMemory.attempt(size) { output throws(ImageError) in
            try check(codec_png_decode(file, bytes.count, Int32(size.width), Int32(size.height), output))
        }
        return (Bitmap(size: size, pixels: pixels, isOpaque: declaresAlpha ? nil : true), true)
    }

    static func animation(of data: Data, _ options: ImageDecodingOptions) throws -> (any AnimatedImageSource)? {
        try APNGFrames(data, options)
    }
}
