import Foundation
import HalcyonCache
import HalcyonCodecs
import HalcyonImages

/// Stores unaltered pictures on disk as their original bytes, and encodes processed ones.
///
/// ```swift
/// let serializer = BitmapSerializer(format: .always(ImageEncoder.png()))
/// let cache = ImageCache<Bitmap>(disk: DiskStorageConfig(name: "photos"), serializer: serializer)
/// ```
///
/// The original bytes are stored only for an unaltered picture. A processed picture is always encoded, also if the original bytes are
/// passed with it, so that the key of a variant never has the picture of the original. A picture of a truncated file
/// (`Bitmap.Provenance.isComplete`) is not stored. The code for Apple's platforms was type-checked, never run.
///
/// See `SerializerTests.originalBytesServeUnalteredPicturesOnly()` and
/// `SerializerTests.truncatedPictureIsNotStored()`.
public struct BitmapSerializer: CacheSerializer {
    /// The format on disk.
    ///
    /// See `SerializerTests.pictureKeepsItsFormatByDefault()`, `SerializerTests.serializerWritesStatedFormat()` and
    /// `SerializerTests.transparentPictureIsNotStoredAsJPEG()`.
    public enum Format: Sendable {
        /// The format of the original, with the first encoder of it in the decoder's registry.
        ///
        /// With the standard registry, JPEG has a quality of 90, and WebP is lossless. PNG replaces GIF and unknown
        /// formats, and JPEG if a processor made pixels transparent. On Apple's platforms PNG replaces WebP, too, and
        /// HEIC has a quality of 90 if the system writes it.
        case asOriginal
        /// Always this one.
        case always(any ImageEncoding)
    }

    /// The format of encoded pictures; by default ``Format/asOriginal``.
    public var format: Format
    /// Whether an unaltered picture is stored as its original bytes.
    public var prefersOriginal: Bool
    /// The decoder of files on disk. Its registry has the encoders.
    public var decoder: ImageDecoder

    /// Creates a serializer.
    ///
    /// - Parameter prefersOriginal: by default `true` for ``Format/asOriginal`` and `false` for ``Format/always(_:)``.
    public init(format: Format = .asOriginal, prefersOriginal: Bool? = nil, decoder: ImageDecoder) {
        self.format = format
        self.prefersOriginal =
            prefersOriginal ?? { if case .asOriginal = format { true } else { false } }()
        self.decoder = decoder
    }

    public var keepsOriginalData: Bool { prefersOriginal }

    public func data(with value: Bitmap, original: Data?) -> Data? {
        guard value.provenance?.isComplete != false else { return nil }
        if prefersOriginal, value.provenance?.isUnaltered == true, let original,
            decoder.codecs.decoder(of: original)?.format == value.provenance?.format
        {
            return original
        }
        return try? encoder(for: value, original: original)?.encode(value)
    }

    /// Look-ups decode in turns of ``DecodeLimiter/shared``, of the priority `.normal`.
    public var decodingQueue: CallbackQueue? { DecodeLimiter.shared.queue(over: .untouch, .normal) }

    /// Returns the picture of a file.
    public func value(with data: Data) -> Bitmap? { try? decoder.decode(data) }

    private func encoder(for value: Bitmap, original: Data?) -> (any ImageEncoding)? {
        if case .always(let encoder) = format { return encoder }
        let codecs = decoder.codecs
        return codecs.encoder(
            of: value.provenance?.format ?? original.flatMap { codecs.decoder(of: $0)?.format }, for: value)
    }
}

extension BitmapSerializer {
    /// A serializer with the standard registry; see ``init(format:prefersOriginal:decoder:)``.
    public init(format: Format = .asOriginal, prefersOriginal: Bool? = nil) {
        self.init(format: format, prefersOriginal: prefersOriginal, decoder: ImageDecoder())
    }

    /// The picture as JPEG, whatever it came in.
    public static func jpeg(quality: Int = 90) -> BitmapSerializer {
        BitmapSerializer(format: .always(ImageEncoder.jpeg(quality: quality)))
    }

    /// The picture as PNG, whatever it came in.
    public static var png: BitmapSerializer { BitmapSerializer(format: .always(ImageEncoder.png())) }

    /// The picture as WebP, whatever it came in. On Apple's platforms, which do not write WebP, no processed picture
    /// is stored.
    public static func webp(quality: Double = 90) -> BitmapSerializer {
        BitmapSerializer(format: .always(ImageEncoder.webp(quality: quality)))
    }
}

extension Bitmap: CacheCostCalculable {
    /// The bytes of the pixels.
    public var cacheCost: Int { pixels.count }
}

extension Bitmap: DataTransformable {
    public static let keepsOriginalData = true

    /// The picture in the format that it came in; see ``BitmapSerializer/Format/asOriginal``.
    public func toData() throws -> Data { try toData(original: nil) }

    /// The original bytes for a picture that no processor has changed, else the picture in the format that it came in.
    public func toData(original: Data?) throws -> Data {
        guard let data = BitmapSerializer().data(with: self, original: original) else {
            throw ImageError.cannotEncode(
                provenance?.format ?? .png, reason: "it is incomplete, or the encoder refuses it")
        }
        return data
    }

    public static func fromData(_ data: Data) throws -> Bitmap { try ImageDecoder().decode(data) }

    /// As ``BitmapSerializer/decodingQueue``.
    public static var decodingQueue: CallbackQueue? { BitmapSerializer().decodingQueue }
}
