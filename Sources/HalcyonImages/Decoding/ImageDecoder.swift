import Foundation

/// Turns files into pictures, by the decoders of a registry.
///
/// ```swift
/// let decoder = ImageDecoder()
/// let picture = try decoder.decode(data)
/// let small = try decoder.decode(data, covering: PixelSize(width: 400, height: 300))
/// let animation = try decoder.animation(of: data)
/// ```
///
/// With the standard registry: JPEG by TurboJPEG, PNG and APNG by libpng, WebP by libwebp, GIF. Pictures are turned as EXIF says, and
/// colours converted to sRGB where the file has a profile (``ImageDecodingOptions/Colors``). Grey and CMYK JPEG (inverted, as Adobe
/// writes them) become RGB; 16 bits are rounded to 8.
public struct ImageDecoder: Sendable {
    /// The decoders and, for serializers, encoders.
    public var codecs: ImageCodecs
    /// How files are decoded, and what is refused. Its ``ImageDecodingOptions/covering`` is not used.
    public var options: ImageDecodingOptions

    /// A decoder by a registry.
    public init(codecs: ImageCodecs, options: ImageDecodingOptions = ImageDecodingOptions()) {
        (self.codecs, self.options) = (codecs, options)
    }

    /// The limit of pixels that one picture allocates memory for; see ``ImageDecodingOptions/pixelLimit``.
    public var pixelLimit: Int {
        get { options.pixelLimit }
        set { options.pixelLimit = newValue }
    }

    /// Returns the header's contents. No pixel is decoded, and the file may end after its header.
    ///
    /// - Throws: ``ImageError``, or the error of a decoder of one's own.
    public func information(of data: Data) throws -> ImageInformation {
        try find(data).decoder.information(of: data)
    }

    /// Returns the picture in full size; of an animation the first frame.
    ///
    /// - Throws: ``ImageError``, or the error of a decoder of one's own.
    public func decode(_ data: Data) throws -> Bitmap { try decode(data, covering: nil) }

    /// Returns the picture at a smaller scale, where the codec can do that while it decodes.
    ///
    /// JPEG comes in the smallest eighth that covers `size`, WebP in just that; PNG and GIF in full size.
    ///
    /// - Parameter size: what is needed at least, on both axes, as shown; larger than the picture: all of it.
    /// - Throws: ``ImageError``, or the error of a decoder of one's own.
    public func decode(_ data: Data, covering size: PixelSize) throws -> Bitmap {
        guard size.width > 0, size.height > 0 else { throw ImageError.invalidSize(size) }
        return try decode(data, covering: size as PixelSize?)
    }

    /// Returns the frames of an animation; `nil` for a still picture. Frames are decoded when they are asked for.
    ///
    /// - Parameter pool: keeps decoded frames; by default the one that all animations share.
    /// - Throws: ``ImageError``, or the error of a decoder of one's own.
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

    /// What tells this decoder's results from others'.
    package var identifier: String { "\(options.identifier)@\(ObjectIdentifier(codecs).hashValue)" }
}
