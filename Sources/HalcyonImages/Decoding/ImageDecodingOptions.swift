/// How files are decoded, and what is refused.
public struct ImageDecodingOptions: Sendable, Hashable {
    /// The colours of pictures whose file has a colour profile.
    public enum Colors: String, Sendable, Hashable {
        /// RGB profiles of a matrix and curves, and grey profiles of a curve, are converted to sRGB. Others (tables, CMYK) are kept.
        case convertedToSRGB
        /// The numbers of the file are kept, as if every profile were sRGB.
        case kept
    }

    /// The size that the picture is to cover, as shown; `nil`: full size. Codecs that can decode at a smaller scale do.
    public var covering: PixelSize?
    /// The limit of pixels that one picture allocates memory for, at 4 bytes each: those of the decoded picture, or, where that is
    /// larger, the codec's own buffer for the stored one (progressive JPEG: up to 1.5 pixels of memory a stored pixel; lossless WebP:
    /// one). A baseline JPEG that is decoded at an eighth counts a 64th of its pixels. By default 100,000,000; at most 2^30.
    public var pixelLimit = 100_000_000
    /// The limit of pixels that a file may have, however small it is decoded: it bounds time, not memory. By default 2^28; no less
    /// than ``pixelLimit``.
    public var storedPixelLimit = 1 << 28
    /// Whether a JPEG whose data are all there, and only the end marker is not, is shown. By default it is, as libjpeg and
    /// Kingfisher do.
    public var showsUnterminated = true
    /// Whether a JPEG whose data end early is shown as far as they go, the rest in grey. By default it is refused. Such a picture has
    /// ``Bitmap/Provenance/isComplete`` `false` and is never cached. Truncated files of other formats are refused in either case.
    public var showsTruncated = false
    /// What happens to colours where the file has a profile. By default they are converted to sRGB.
    public var colors = Colors.convertedToSRGB

    /// The defaults.
    public init() {}

    /// Throws if a picture is beyond the limits.
    ///
    /// - Parameters:
    ///   - stored: the size of the picture in the file.
    ///   - allocated: the pixels of memory that decoding takes, 4 bytes each.
    /// - Throws: ``ImageError/tooManyPixels(_:limit:)``.
    public func check(stored: PixelSize, allocated: Int) throws(ImageError) {
        let limit = min(pixelLimit, 1 << 30)
        guard allocated <= limit else { throw .tooManyPixels(stored, limit: limit) }
        let storedLimit = max(min(storedPixelLimit, 1 << 32), limit)
        guard stored.pixelCount <= storedLimit else { throw .tooManyPixels(stored, limit: storedLimit) }
    }

    /// What tells the results of these options from others'.
    var identifier: String {
        "\(pixelLimit),\(storedPixelLimit),\(showsUnterminated),\(showsTruncated),\(colors.rawValue)"
    }
}
