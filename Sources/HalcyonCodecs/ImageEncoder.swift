import Foundation
import HalcyonImages

// The codecs of the platform: see Package.swift.
#if HALCYON_APPLE
    import HalcyonImageIO
#else
    import HalcyonPortableCodecs
#endif

/// The built-in encoders of JPEG, PNG and WebP. On Apple's platforms ImageIO writes JPEG and PNG, and WebP is not
/// written. This code, also that of the members, was type-checked, never run.
///
/// ```swift
/// let data = try ImageEncoder.jpeg(quality: 85).encode(picture)
/// ```
///
/// See `EncodingTests.losslessFormatsKeepEveryPixel()` and `EncodingTests.higherQualityHasSmallerError()`.
public enum ImageEncoder: ImageEncoding, Hashable {
    /// Lossy, without alpha: transparent pixels are blended with `background`. Below a quality of 90, chroma has half the resolution.
    /// - quality: 1 to 100.
    case jpeg(quality: Int = 85, background: PixelColor = .white)
    /// Lossless. Opaque pictures are written without an alpha channel.
    /// - compression: the level of zlib, 0 to 9. ImageIO, on Apple's platforms, ignores it.
    case png(compression: Int = 6)
    /// Lossy, with lossless alpha. On Apple's platforms ``encode(_:)`` throws.
    /// - quality: 0 to 100.
    case webp(quality: Double = 80)
    /// Lossless, also for the colours of transparent pixels. On Apple's platforms ``encode(_:)`` throws.
    case webpLossless

    /// The format of the files.
    public var format: ImageFormat {
        switch self {
        case .jpeg: .jpeg
        case .png: .png
        case .webp, .webpLossless: .webp
        }
    }

    /// Whether decoding restores the same pixels.
    public var isLossless: Bool {
        switch self {
        case .png, .webpLossless: true
        case .jpeg, .webp: false
        }
    }

    /// Returns whether the format can hold a picture: its sides are within the limit, and for JPEG it is opaque. For
    /// WebP it returns `false` on Apple's platforms.
    public func canEncode(_ picture: Bitmap) -> Bool {
        (format != .webp || PlatformCodecs.writesWebP) && max(picture.width, picture.height) <= longestSide
            && (format.holdsAlpha || picture.isOpaque)
    }

    /// The maximum side in pixels; the codecs' limits.
    private var longestSide: Int {
        switch self {
        case .jpeg: 65_500
        case .webp, .webpLossless: 16_383
        case .png: 1_000_000
        }
    }

    /// Returns a file with a picture.
    ///
    /// - Throws: `ImageError.invalidParameter(_:)`, `ImageError.cannotEncode(_:reason:)` for sides longer than the
    ///   format's limit (65,500 for JPEG, 16,383 for WebP, 1,000,000 for PNG) and for WebP on Apple's platforms,
    ///   `ImageError.outOfMemory`.
    public func encode(_ picture: Bitmap) throws -> Data {
        try check(picture)
        return switch self {
        case .jpeg(let quality, let background):
            try PlatformCodecs.jpeg(picture.flattened(on: background), quality: quality)
        case .png(let compression): try PlatformCodecs.png(picture, compression: compression)
        case .webp(let quality): try PlatformCodecs.webp(picture, quality: quality)
        case .webpLossless: try PlatformCodecs.webp(picture, quality: nil)
        }
    }

    private func check(_ picture: Bitmap) throws(ImageError) {
        switch self {
        case .jpeg(let quality, let background):
            guard (1...100).contains(quality) else {
                throw .invalidParameter("A JPEG quality of \(quality) is none; 1 to 100 are")
            }
            guard background.alpha == 255 else {
                throw .invalidParameter(
                    "The background \(background) of a JPEG file is not opaque; its alpha is to be 255")
            }
        case .png(let compression):
            guard (0...9).contains(compression) else {
                throw .invalidParameter("A PNG compression of \(compression) is none; 0 to 9 are")
            }
        case .webp(let quality):
            guard (0...100).contains(quality) else {
                throw .invalidParameter("A WebP quality of \(quality) is none; 0 to 100 are")
            }
        case .webpLossless: break
        }
        let limit = longestSide
        guard max(picture.width, picture.height) <= limit else {
            throw .cannotEncode(format, reason: "it has \(picture.size) pixels, and a side at most \(limit)")
        }
    }
}
