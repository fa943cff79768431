import CAVIF
import Foundation
import HalcyonImages

/// A decoder of AVIF files with libavif. Register it to decode AVIF.
///
/// ```swift
/// ImageCodecs.standard.register(AVIFDecoder())
/// ```
///
/// It decodes the first picture of a sequence, in its display orientation. Depths over 8 bits are rounded to 8. Colours are not converted
/// from ICC profiles: `Bitmap.Provenance.colors` is `.kept` if the file has one.
///
/// Apple's platforms do not need this product: the standard registry reads AVIF with ImageIO there (type-checked,
/// never run).
///
/// A program that uses this product links with libavif (Debian: libavif-dev). If the headers were missing at build time, every file
/// throws `ImageError.unsupported(_:feature:)`.
public struct AVIFDecoder: ImageDecoding {
    /// Creates the decoder.
    public init() {}

    /// Returns `ImageFormat.avif` for files whose first box has the brand `avif` or `avis`.
    public func format(of data: Data) -> ImageFormat? {
        let head = [UInt8](data.prefix(256))
        guard head.count >= 16, head[4..<8].elementsEqual("ftyp".utf8) else { return nil }
        let length = head[0..<4].reduce(0) { $0 << 8 | Int($1) }
        for at in stride(from: 8, to: min(length, head.count) - 3, by: 4) where at != 12 {
            let brand = head[at..<at + 4]
            if brand.elementsEqual("avif".utf8) || brand.elementsEqual("avis".utf8) { return .avif }
        }
        return nil
    }

    public func information(of data: Data) throws -> ImageInformation {
        let result = try read(data) { avif_codec_information($0, $1) }
        let orientation = ImageOrientation(rawValue: Int(result.orientation)) ?? .up
        let stored = PixelSize(width: Int(result.width), height: Int(result.height))
        return ImageInformation(
            format: .avif, size: orientation.rawValue >= 5 ? stored.transposed : stored, orientation: orientation,
            declaresAlpha: result.has_alpha != 0)
    }

    public func decode(_ data: Data, options: ImageDecodingOptions) throws -> Bitmap {
        let information = try information(of: data)
        try options.check(stored: information.size, allocated: information.size.pixelCount)
        let isTransposed = information.orientation.rawValue >= 5
        let stored = isTransposed ? information.size.transposed : information.size
        var pixels = [UInt8](repeating: 0, count: stored.pixelCount * 4)
        let result = try pixels.withUnsafeMutableBufferPointer { buffer in
            try read(data) { file, count in
                // A picture has at least one pixel.
                buffer.baseAddress.map {
                    avif_codec_decode(file, count, Int32(stored.width), Int32(stored.height), $0)
                } ?? avif_codec_information(file, count)
            }
        }
        guard var picture = Bitmap(width: stored.width, height: stored.height, pixels: pixels) else {
            throw ImageError.damaged(.avif, reason: "it has no pixels")
        }
        picture.provenance = Bitmap.Provenance(
            format: .avif, isUnaltered: true, colors: result.has_profile != 0 ? .kept : .untagged)
        return information.orientation.applied(to: picture)
    }

    private func read(
        _ data: Data, _ call: (UnsafePointer<UInt8>, Int) -> avif_codec_result
    ) throws -> avif_codec_result {
        let result = data.withUnsafeBytes { bytes in
            bytes.bindMemory(to: UInt8.self).baseAddress.map { call($0, bytes.count) }
        }
        guard let result else { throw ImageError.truncated(.avif) }
        let message = withUnsafeBytes(of: result.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        switch result.status {
        case avif_codec_ok: return result
        case avif_codec_truncated: throw ImageError.truncated(.avif)
        case avif_codec_out_of_memory: throw ImageError.outOfMemory
        case avif_codec_unsupported, avif_codec_missing: throw ImageError.unsupported(.avif, feature: message)
        default: throw ImageError.damaged(.avif, reason: message)
        }
    }
}
