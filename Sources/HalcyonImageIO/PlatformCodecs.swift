#if canImport(ImageIO)
    import CoreGraphics
    import Foundation
    import HalcyonImages
    import ImageIO

    /// The codecs of Apple's platforms: those of ImageIO. They were type-checked against declarations, never run.
    ///
    /// The module `HalcyonPortableCodecs` declares the same names for Linux. `HalcyonCodecs` imports one of the two.
    package enum PlatformCodecs {
        /// One decoder of all formats that the system reads.
        package static var decoders: [any ImageDecoding] { [SystemDecoder()] }

        /// The encoders of formats that `ImageEncoder` does not have: HEIC, if the system writes it.
        package static var furtherEncoders: [any ImageEncoding] {
            let identifiers = CGImageDestinationCopyTypeIdentifiers() as? [String] ?? []
            return TypeIdentifiers.formats(in: identifiers).contains(.heic) ? [HEICEncoder(quality: 90)] : []
        }

        /// Whether WebP is written.
        package static let writesWebP = false

        /// Returns a JPEG file. `picture` is opaque.
        ///
        /// - Parameter quality: 1 to 100.
        package static func jpeg(_ picture: Bitmap, quality: Int) throws(ImageError) -> Data {
            try write(picture, .jpeg, quality: quality)
        }

        /// Returns a PNG file.
        ///
        /// - Parameter compression: ignored. ImageIO chooses the level.
        package static func png(_ picture: Bitmap, compression: Int) throws(ImageError) -> Data {
            try write(picture, .png, quality: nil)
        }

        /// Throws `ImageError.cannotEncode(_:reason:)`.
        package static func webp(_ picture: Bitmap, quality: Double?) throws(ImageError) -> Data {
            throw .cannotEncode(.webp, reason: "ImageIO does not write this format")
        }

        /// Returns a file with a picture.
        ///
        /// - Parameter quality: 1 to 100; `nil` for a lossless format.
        fileprivate static func write(
            _ picture: Bitmap, _ format: ImageFormat, quality: Int?
        ) throws(ImageError) -> Data {
            guard let identifier = TypeIdentifiers.identifier(of: format), let image = picture.cgImage else {
                throw .outOfMemory
            }
            let file = NSMutableData()
            guard
                let destination = CGImageDestinationCreateWithData(
                    file as CFMutableData, identifier as CFString, 1, nil)
            else { throw .cannotEncode(format, reason: "the system does not write this format") }
            var properties: [String: Any] = [:]
            if let quality {
                properties[kCGImageDestinationLossyCompressionQuality as String] = Double(quality) / 100
            }
            CGImageDestinationAddImage(destination, image, properties as CFDictionary)
            guard CGImageDestinationFinalize(destination) else {
                throw .cannotEncode(format, reason: "ImageIO refuses it")
            }
            return Data(referencing: file)
        }
    }

    /// An encoder of HEIC: lossy, with alpha.
    struct HEICEncoder: ImageEncoding {
        /// 1 to 100.
        let quality: Int

        var format: ImageFormat { .heic }
        var isLossless: Bool { false }

        /// Returns whether no side has more than 16,384 pixels. The highest levels of HEVC have 16,888 (H.265, A.4.1).
        func canEncode(_ picture: Bitmap) -> Bool { max(picture.width, picture.height) <= 16_384 }

        func encode(_ picture: Bitmap) throws -> Data {
            try PlatformCodecs.write(picture, .heic, quality: quality)
        }
    }
#endif
