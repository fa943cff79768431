import Foundation
import HalcyonCache
import HalcyonImages

/// Keeps pictures on disk in the format that they came in, in one of one's own choice, or as the very bytes that they were made of.
///
/// ```swift
/// let cache = ImageCache<Bitmap>(disk: DiskStorageConfig(name: "photos"), serializer: BitmapSerializer(prefersOriginal: true))
/// ```
///
/// The original bytes are preferred only for a picture that still shows them: what a processor has made is always encoded anew, also
/// when the original is handed in with it, so that a variant's key never gets the original's picture.
public struct BitmapSerializer: CacheSerializer {
    /// Which format pictures are kept in.
    public enum Format: Sendable, Hashable {
        /// The one that they came in: JPEG at a quality of 90, WebP without loss; PNG where that is GIF or unknown, and in place of
        /// JPEG where a processor made something transparent.
        case asOriginal
        /// Always this one.
        case always(ImageEncoder)
    }

    /// Which format pictures are kept in.
    public var format: Format
    /// Whether a picture that nobody changed is kept as the bytes that it was made of.
    public var prefersOriginal: Bool
    /// Reads what is on disk.
    public var decoder: ImageDecoder

    /// A serializer; by default in the format that a picture came in, encoded anew.
    public init(
        format: Format = .asOriginal, prefersOriginal: Bool = false, decoder: ImageDecoder = ImageDecoder()
    ) {
        self.format = format
        self.prefersOriginal = prefersOriginal
        self.decoder = decoder
    }

    /// The picture as JPEG, whatever it came in.
    public static func jpeg(quality: Int = 90) -> BitmapSerializer {
        BitmapSerializer(format: .always(.jpeg(quality: quality)))
    }

    /// The picture as PNG, whatever it came in.
    public static var png: BitmapSerializer { BitmapSerializer(format: .always(.png())) }

    /// The picture as WebP, whatever it came in.
    public static func webp(quality: Double = 90) -> BitmapSerializer {
        BitmapSerializer(format: .always(.webp(quality: quality)))
    }

    public func data(with value: Bitmap, original: Data?) -> Data? {
        let isUnaltered = value.provenance?.isUnaltered == true
        if prefersOriginal, isUnaltered, let original, ImageFormat(of: original) == value.provenance?.format {
            return original
        }
        return try? encoder(for: value, original: original).encode(value)
    }

    public func value(with data: Data) -> Bitmap? { try? decoder.decode(data) }

    private func encoder(for value: Bitmap, original: Data?) -> ImageEncoder {
        if case .always(let encoder) = format { return encoder }
        switch value.provenance?.format ?? original.flatMap(ImageFormat.init(of:)) {
        case .jpeg where value.isOpaque: return .jpeg(quality: 90)
        case .webp where max(value.width, value.height) <= ImageFormat.webp.longestSide: return .webpLossless
        default: return .png()
        }
    }
}

extension Bitmap: DataTransformable {
    /// The picture in the format that it came in; see ``BitmapSerializer/Format/asOriginal``.
    public func toData() throws -> Data {
        guard let data = BitmapSerializer().data(with: self, original: nil) else {
            throw ImageError.cannotEncode(provenance?.format ?? .png, reason: "the encoder refuses it")
        }
        return data
    }

    public static func fromData(_ data: Data) throws -> Bitmap { try ImageDecoder().decode(data) }
}

extension Bitmap: CacheCostCalculable {
    /// The bytes of the pixels.
    public var cacheCost: Int { pixels.count }
}
