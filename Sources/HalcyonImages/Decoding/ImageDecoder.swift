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
/// The standard registry decodes JPEG with TurboJPEG, PNG and APNG with libpng, WebP with libwebp, and GIF. Pictures are rotated by their
/// EXIF orientation. Colours are converted to sRGB if the file has a profile (``ImageDecodingOptions/Colors``). Grey and CMYK JPEG
/// (inverted, as Adobe writes it) are converted to RGB, and 16 bits are rounded to 8.
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
    /// JPEG is decoded at the smallest number of eighths that covers `size`, WebP at the smallest size that covers it, and PNG and GIF at
    /// full size.
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
        guard let found = codecs.decoder(of: data) else { throw .unknownFormat }
        return found
    }

    /// The identifier of the registry and the options. Decoders with the same identifier give equal pictures.
    package var identifier: String { "\(options.identifier)@\(ObjectIdentifier(codecs).hashValue)" }
}
