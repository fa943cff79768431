import Foundation

/// Turns files into pictures: JPEG by TurboJPEG, PNG by libpng, WebP by libwebp, the first frame of GIF and of animated WebP.
///
/// ```swift
/// let decoder = ImageDecoder()
/// let picture = try decoder.decode(data)
/// let small = try decoder.decode(data, covering: PixelSize(width: 400, height: 300))
/// ```
///
/// Pictures are turned as EXIF says. Files that end early are refused even where most of the picture is there: what is cached is
/// whole. Sizes are read and held against ``pixelLimit`` before memory is taken for pixels. Colour profiles are not applied: the
/// numbers are taken for sRGB. Grey and CMYK JPEG (inverted, as Adobe writes them) come out as RGB; 16 bits are rounded to 8.
public struct ImageDecoder: Sendable {
    /// How many pixels a file's picture may have, before any scaling. A picture takes 4 bytes a pixel; a progressive JPEG up to 6
    /// more while it is decoded, whatever it is scaled to. No more than 2^30, whatever is set.
    public var pixelLimit: Int

    /// A decoder that refuses what has more pixels.
    public init(pixelLimit: Int = 100_000_000) { self.pixelLimit = pixelLimit }

    /// What the header says. No pixel is decoded, and the file may end after its header.
    ///
    /// - Throws: ``ImageError``.
    public func information(of data: Data) throws -> ImageInformation {
        try open(data) { image throws(ImageError) in
            ImageInformation(
                format: type(of: image).format,
                size: image.orientation.isTransposed ? image.size.transposed : image.size,
                orientation: image.orientation, declaresAlpha: image.declaresAlpha)
        }
    }

    /// The picture in full size.
    ///
    /// - Throws: ``ImageError``.
    public func decode(_ data: Data) throws -> Bitmap { try decode(data, covering: nil) }

    /// The picture at a smaller scale, where the codec can do that while it decodes.
    ///
    /// JPEG comes in the smallest eighth that covers `size`, WebP in just that; PNG and GIF in full size.
    ///
    /// - Parameter size: what is needed at least, on both axes, as shown; larger than the picture: all of it.
    /// - Throws: ``ImageError``.
    public func decode(_ data: Data, covering size: PixelSize) throws -> Bitmap {
        guard size.width > 0, size.height > 0 else { throw ImageError.invalidSize(size) }
        return try decode(data, covering: size as PixelSize?)
    }

    private func decode(_ data: Data, covering wanted: PixelSize?) throws -> Bitmap {
        try open(data) { image throws(ImageError) in
            let limit = min(pixelLimit, 1 << 30)
            guard image.size.pixelCount <= limit else { throw .tooManyPixels(image.size, limit: limit) }
            try image.checkComplete()
            var size = image.size
            if let wanted {
                size = image.size(covering: image.orientation.isTransposed ? wanted.transposed : wanted)
            }
            var picture = try image.pixels(at: size)
            picture.provenance = Bitmap.Provenance(
                format: type(of: image).format, isUnaltered: picture.size == image.size)
            return image.orientation.applied(to: picture)
        }
    }

    private func open<Result>(
        _ data: Data, _ use: (any CodedImage) throws(ImageError) -> Result
    ) throws -> Result {
        try data.withUnsafeBytes { (raw: UnsafeRawBufferPointer) throws in
            let bytes = ByteView(raw)
            let image: any CodedImage =
                switch ImageFormat.detect(bytes) {
                case .jpeg: try JPEGImage(bytes)
                case .png: try PNGImage(bytes)
                case .webp: try WebPImage(bytes)
                case .gif: try GIFImage(bytes)
                case nil: throw ImageError.unknownFormat
                }
            return try use(image)
        }
    }
}
