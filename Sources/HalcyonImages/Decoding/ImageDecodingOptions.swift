/// The options of decoding: scale, limits, treatment of truncated files, and colours.
public struct ImageDecodingOptions: Sendable, Hashable {
    /// The treatment of colours in a file with a colour profile.
    public enum Colors: String, Sendable, Hashable {
        /// Colours are converted to sRGB from RGB profiles with a matrix and curves, and from grey profiles with a curve. Others are kept.
        case convertedToSRGB
        /// The values of the file are kept, as if every profile were sRGB.
        case kept
    }

    /// The size to cover, of the picture as shown; by default `nil`, full size. Only codecs that can decode at a smaller scale use it.
    public var covering: PixelSize?
    /// The limit of memory for one picture, in pixels of 4 bytes. By default 100,000,000; at most 2^30.
    ///
    /// It limits the decoded picture and the codec's own buffer for the stored one, each by itself. The buffer has up to 1.5 pixels per
    /// stored pixel for progressive JPEG, and one for lossless WebP. A baseline JPEG decoded at an eighth counts a 64th of its pixels.
    public var pixelLimit = 100_000_000
    /// The limit of pixels in a file, at any scale of decoding. It bounds time, not memory. By default 2^28; at least ``pixelLimit``.
    public var storedPixelLimit = 1 << 28
    /// Whether a JPEG is decoded that lacks only its end marker. By default `true`, as in libjpeg and Kingfisher.
    public var showsUnterminated = true
    /// Whether a truncated JPEG is decoded, with the missing part in grey. By default `false`: it is rejected.
    ///
    /// ``Bitmap/Provenance/isComplete`` of such a picture is `false`, and it is never cached. Truncated files of other formats are always
    /// rejected.
    public var showsTruncated = false
    /// The treatment of colours in a file with a profile. By default they are converted to sRGB.
    public var colors = Colors.convertedToSRGB

    /// Creates the default options.
    public init() {}

    /// Throws if a picture exceeds the limits.
    ///
    /// - Parameters:
    ///   - stored: the size of the picture in the file.
    ///   - allocated: the memory that decoding takes, in pixels of 4 bytes.
    /// - Throws: ``ImageError/tooManyPixels(_:limit:)``.
    public func check(stored: PixelSize, allocated: Int) throws(ImageError) {
        let limit = min(pixelLimit, 1 << 30)
        guard allocated <= limit else { throw .tooManyPixels(stored, limit: limit) }
        let storedLimit = max(min(storedPixelLimit, 1 << 32), limit)
        guard stored.pixelCount <= storedLimit else { throw .tooManyPixels(stored, limit: storedLimit) }
    }

    /// The values of all options except ``covering``, as text.
    var identifier: String {
        "\(pixelLimit),\(storedPixelLimit),\(showsUnterminated),\(showsTruncated),\(colors.rawValue)"
    }
}
