import Foundation

/// Decodes files with the decoders of a registry.
///
/// ```swift
/// let decoder = ImageDecoder()
/// let picture = try decoder.decode(data)
/// let small = try decoder.decode(data, covering: PixelSize(width: 400, height: 300))
/// let animation = try decoder.animation(of: data)
/// ```
///
/// The standard registry decodes JPEG with libjpeg-turbo, PNG and APNG with libpng, WebP with libwebp, and GIF.
/// Pictures are rotated by their EXIF orientation. Colours are converted to sRGB if the file has a profile
/// (``ImageDecodingOptions/Colors``). Grey and CMYK JPEG (inverted, as Adobe writes it) are converted to RGB, and 16
/// bits are rounded to 8.
///
/// This is the registry of Linux. On Apple's platforms the standard registry decodes with ImageIO: see <doc:Images>.
/// The code for Apple's platforms, also that of the members, was type-checked, never run.
///
/// Whatever the bytes are, the result is a picture of the size in the header, or an error, and never memory that was
/// not written. See `DecodingTests.decodedPixelsEqualPillows()`, `RefusalTests.randomChangesGivePictureOrError()` and
/// `RefusalTests.libjpegErrorAfterWarningIsReported()`.
public struct ImageDecoder: Sendable {
    /// The registry of decoders and, for serializers, of encoders.
    public var codecs: ImageCodecs
    /// The options of decoding. ``ImageDecodingOptions/covering`` is ignored.
    public var options: ImageDecodingOptions

    /// Creates a decoder with a registry.
    public init(codecs: ImageCodecs, options: ImageDecodingOptions = ImageDecodingOptions()) {
        (self.codecs, self.options) = (codecs, options)
    }

    /// The limit of pixels that one picture allocates memory for; see ``ImageDecodingOptions/pixelLimit``.
    public var pixelLimit: Int {
        get { options.pixelLimit }
        set { options.pixelLimit = newValue }
    }

    /// Returns the contents of the header without decoding pixels. The file may end after its header.
    ///
    /// - Throws: ``ImageError``, or an error of a custom decoder.
    public func information(of data: Data) throws -> ImageInformation {
        try find(data).decoder.information(of: data)
    }

    /// Returns the picture in full size; of an animation the first frame.
    ///
    /// - Throws: ``ImageError``, or an error of a custom decoder.
    public func decode(_ data: Data) throws -> Bitmap { try decode(data, covering: nil) }

    /// Returns the picture at a smaller scale, if the codec can scale while it decodes.
    ///
    /// JPEG is decoded at the smallest number of eighths that covers `size`, WebP at the smallest size that covers it,
    /// and PNG and GIF at full size. ImageIO, on Apple's platforms, decodes every format at the smallest size that
    /// covers it.
    ///
    /// See `DecodingTests.decodedSizeCoversWantedSize()`, `DecodingTests.scaledJPEGEqualsPillows()` and
    /// `DecodingTests.scaledWebPKeepsPlacesAndColors()`.
    ///
    /// - Parameter size: the minimum width and height of the picture as shown. If it is larger than the picture, the full size is decoded.
    /// - Throws: ``ImageError``, or an error of a custom decoder.
    public func decode(_ data: Data, covering size: PixelSize) throws -> Bitmap {
        guard size.width > 0, size.height > 0 else { throw ImageError.invalidSize(size) }
        return try decode(data, covering: size as PixelSize?)
    }

    /// Returns the animation of a file; `nil` for a still picture. Frames are decoded on request.
    ///
    /// - Parameter pool: the pool of decoded frames; by default the one that all animations share.
    /// - Throws: ``ImageError``, or an error of a custom decoder.
    public func animation(of data: Data, pool: AnimationFramePool = .shared) throws -> ImageAnimation? {
        var options = options
        options.covering = nil
        return try find(data).decoder.animation(of: data, options: options).map { ImageAnimation($0, pool: pool) }
    }

    private func decode(_ data: Data, covering size: PixelSize?) throws -> Bitmap {
        let (decoder, format) = try find(data)
        var options = options
        options.covering = size
        var picture = try decoder.decode(data, options: options)
        if picture.provenance == nil {
            let isWhole = try size == nil || decoder.information(of: data).size == picture.size
            picture.provenance = Bitmap.Provenance(format: format, isUnaltered: isWhole)
        }
        return picture
    }

    private func find(_ data: Data) throws(ImageError) -> (decoder: any ImageDecoding, format: ImageFormat) {
        if let found = codecs.decoder(of: data) { return found }
        throw ImageFormat(of: data).map { .noDecoder($0) } ?? .unknownFormat
    }

    /// The identifier of the registry and the options. Decoders with the same identifier give equal pictures.
    package var identifier: String { "\(options.identifier)@\(ObjectIdentifier(codecs).hashValue)" }
}

/// The options of decoding: scale, limits, treatment of truncated files, and colours.
///
/// The code of the members for Apple's platforms was type-checked, never run.
public struct ImageDecodingOptions: Sendable, Hashable {
    /// The treatment of colours in a file with a colour profile.
    public enum Colors: String, Sendable, Hashable {
        /// Colours are converted to sRGB from RGB profiles with a matrix and curves, and from grey profiles with a
        /// curve. Others are kept. On Apple's platforms Core Graphics converts from all profiles.
        case convertedToSRGB
        /// The values of the file are kept, as if every profile were sRGB. On Apple's platforms only those of RGB
        /// profiles are.
        case kept
    }

    /// The size to cover, of the picture as shown; by default `nil`, full size. Only codecs that can decode at a smaller scale use it.
    public var covering: PixelSize?
    /// The limit of memory for one picture, in pixels of 4 bytes. By default 100,000,000; at most 2^30.
    ///
    /// It limits the decoded picture and the codec's own buffer for the stored one, each by itself. The buffer has up
    /// to 1.5 pixels per stored pixel for progressive JPEG, and one for lossless WebP. A baseline JPEG decoded at an
    /// eighth counts a 64th of its pixels. On Apple's platforms JPEG counts at the scale of decoding, and every other
    /// format at its full size.
    ///
    /// It is checked before memory is allocated. See `RefusalTests.pixelLimitIsCheckedBeforeAllocation()` and
    /// `RefusalTests.pixelLimitIsInclusive()`.
    public var pixelLimit = 100_000_000
    /// The limit of pixels in a file, at any scale of decoding. It bounds time, not memory. By default 2^28; at least ``pixelLimit``.
    public var storedPixelLimit = 1 << 28
    /// Whether a JPEG is decoded that lacks only its end marker, and a GIF that lacks only its trailer. By default
    /// `true`, as in libjpeg, browsers and Kingfisher. On Apple's platforms it has no effect: ImageIO does not tell
    /// such files from truncated ones.
    public var showsUnterminated = true
    /// Whether a truncated JPEG or GIF is decoded, with the missing part in grey or transparent. By default `false`:
    /// it is rejected.
    ///
    /// ``Bitmap/Provenance/isComplete`` of such a picture is `false`, and it is never cached. Truncated files of other formats are always
    /// rejected.
    ///
    /// See `RefusalTests.truncatedFileIsRecognized()` and `RefusalTests.truncatedFileIsRefusedWhenScaled()`.
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

/// The contents of a file's header.
public struct ImageInformation: Sendable, Hashable {
    /// The format, by the signature.
    public var format: ImageFormat
    /// The size of the picture as shown, after ``orientation``.
    public var size: PixelSize
    /// The orientation of the stored picture. Decoding applies it.
    public var orientation: ImageOrientation
    /// Whether pixels can be transparent. ``Bitmap/isOpaque`` of the decoded picture says whether any is.
    public var declaresAlpha: Bool

    /// Creates the information of a custom decoder.
    public init(format: ImageFormat, size: PixelSize, orientation: ImageOrientation, declaresAlpha: Bool) {
        (self.format, self.size) = (format, size)
        (self.orientation, self.declaresAlpha) = (orientation, declaresAlpha)
    }
}
