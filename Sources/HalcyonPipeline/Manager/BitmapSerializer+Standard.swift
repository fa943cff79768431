import Foundation
import HalcyonCache
import HalcyonCodecs
import HalcyonImages

// What needs the standard registry.
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

    /// The picture as WebP, whatever it came in.
    public static func webp(quality: Double = 90) -> BitmapSerializer {
        BitmapSerializer(format: .always(ImageEncoder.webp(quality: quality)))
    }
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

    public static func fromData(_ data: Data) throws -> Bitmap {
        try DecodingGate.shared.run { try ImageDecoder().decode(data) }
    }
}
