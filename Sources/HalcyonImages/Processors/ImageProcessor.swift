import Foundation

/// What a processor is given: the bytes of a file, or a picture.
public enum ImageProcessItem: Sendable {
    /// A file as it was loaded.
    case data(Data)
    /// A picture that was decoded.
    case image(Bitmap)

    /// The picture, decoded if need be.
    public func picture(decoder: ImageDecoder) throws -> Bitmap {
        switch self {
        case .data(let data): try decoder.decode(data)
        case .image(let image): image
        }
    }
}

/// Makes one picture of another, or of a file's bytes.
///
/// ```swift
/// let thumbnail = DownsamplingImageProcessor(size: PixelSize(width: 200, height: 200)) |> RoundCornerImageProcessor(radius: .pixels(20))
/// let picture = try thumbnail.process(.data(file), decoder: ImageDecoder())
/// ```
///
/// The result depends on the item and on nothing else. Processors are called on any thread, also at the same time.
public protocol ImageProcessor: Sendable {
    /// What tells this processor's results from others': two with the same identifier make the same of the same. It is part of the
    /// key under which a result is cached, and empty only for what changes nothing.
    var identifier: String { get }
    /// The picture that comes out.
    ///
    /// - Throws: ``ImageError``, or whatever a processor of one's own throws.
    func process(_ item: ImageProcessItem, decoder: ImageDecoder) throws -> Bitmap
}

/// A processor that needs the whole picture: it says what to do with that, bytes are decoded for it.
public protocol BitmapProcessor: ImageProcessor {
    func process(_ picture: Bitmap) throws -> Bitmap
}

extension BitmapProcessor {
    public func process(_ item: ImageProcessItem, decoder: ImageDecoder) throws -> Bitmap {
        try process(try item.picture(decoder: decoder))
    }
}

/// Decodes and changes nothing; its identifier is empty, so that its result is the original's.
public struct DefaultImageProcessor: BitmapProcessor {
    public let identifier = ""
    /// The processor.
    public init() {}
    public func process(_ picture: Bitmap) -> Bitmap { picture }
}
