import CImageCodecs
import Foundation
import HalcyonImages

/// The codecs of this platform: C libraries for JPEG, PNG and WebP, and Halcyon's own decoder of GIF.
///
/// The module `HalcyonImageIO` declares the same names for Apple's platforms. `HalcyonCodecs` imports one of the two.
package enum PlatformCodecs {
    /// The decoders, one per format.
    package static var decoders: [any ImageDecoding] {
        [
            StandardDecoder<JPEGImage>(), StandardDecoder<PNGImage>(), StandardDecoder<WebPImage>(),
            StandardDecoder<GIFImage>(),
        ]
    }

    /// The encoders of formats that `ImageEncoder` does not have: none.
    package static var furtherEncoders: [any ImageEncoding] { [] }

    /// Whether WebP is written.
    package static let writesWebP = true

    /// Returns a JPEG file. `picture` is opaque.
    ///
    /// - Parameter quality: 1 to 100.
    package static func jpeg(_ picture: Bitmap, quality: Int) throws(ImageError) -> Data {
        try write(picture, .jpeg) {
            codec_jpeg_encode($0, Int32(picture.width), Int32(picture.height), Int32(quality), $1)
        }
    }

    /// Returns a PNG file.
    ///
    /// - Parameter compression: the level of zlib, 0 to 9.
    package static func png(_ picture: Bitmap, compression: Int) throws(ImageError) -> Data {
        let isOpaque: Int32 = picture.isOpaque ? 1 : 0
        return try write(picture, .png) {
            codec_png_encode($0, Int32(picture.width), Int32(picture.height), isOpaque, Int32(compression), $1)
        }
    }

    /// Returns a WebP file.
    ///
    /// - Parameter quality: 0 to 100; `nil` for lossless.
    package static func webp(_ picture: Bitmap, quality: Double?) throws(ImageError) -> Data {
        let isOpaque: Int32 = picture.isOpaque ? 1 : 0
        return try write(picture, .webp) {
            codec_webp_encode($0, Int32(picture.width), Int32(picture.height), isOpaque, Float(quality ?? -1), $1)
        }
    }

    private static func write(
        _ picture: Bitmap, _ format: ImageFormat,
        _ encode: (UnsafePointer<UInt8>, UnsafeMutablePointer<codec_file>) -> codec_result
    ) throws(ImageError) -> Data {
        var file = codec_file()
        defer { codec_free(&file) }
        let result = picture.pixels.withUnsafeBufferPointer { pixels in
            // A bitmap has at least one pixel.
            pixels.baseAddress.map { encode($0, &file) }
        }
        guard let result, let bytes = file.bytes, result.status == codec_ok else {
            if result?.status == codec_out_of_memory { throw ImageError.outOfMemory }
            let message = result.map { result in
                withUnsafeBytes(of: result.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            }
            throw ImageError.cannotEncode(format, reason: message ?? "it has no pixels")
        }
        return Data(bytes: bytes, count: file.count)
    }
}
