#if canImport(ImageIO)
    import CoreGraphics
    import Foundation
    import HalcyonImages
    import ImageIO

    /// A decoder of all formats that Halcyon recognises and the system reads. It was type-checked against
    /// declarations, never run.
    ///
    /// Pixels are drawn with premultiplied alpha and divided by it, so that the colours of translucent pixels may
    /// differ from the stored ones, and transparent pixels lose theirs.
    struct SystemDecoder: ImageDecoding {
        private let formats: Set<ImageFormat>

        init() {
            formats = TypeIdentifiers.formats(in: CGImageSourceCopyTypeIdentifiers() as? [String] ?? [])
        }

        func format(of data: Data) -> ImageFormat? {
            guard let format = ImageFormat(of: data), formats.contains(format) else { return nil }
            return format
        }

        func information(of data: Data) throws -> ImageInformation {
            let file = try SystemFile(data)
            let header = try file.header()
            return ImageInformation(
                format: file.format, size: header.shownSize, orientation: header.orientation,
                declaresAlpha: header.declaresAlpha)
        }

        func decode(_ data: Data, options: ImageDecodingOptions) throws -> Bitmap {
            let file = try SystemFile(data)
            let header = try file.header()
            if let wanted = options.covering, let scaled = ThumbnailSize(of: header.shownSize, covering: wanted) {
                try options.check(
                    stored: header.size, allocated: scaled.allocatedPixels(file.format, stored: header.size))
                _ = try SystemFile.checkCompleteness(file.source, file.format, options)
                // ImageIO does not document how it rounds the shorter side.
                if let image = file.thumbnail(longestSide: scaled.longestSide), image.width >= wanted.width,
                    image.height >= wanted.height
                {
                    return try bitmap(of: image, file, header, options)
                }
            }
            try options.check(stored: header.size, allocated: header.size.pixelCount)
            _ = try SystemFile.checkCompleteness(file.source, file.format, options)
            return header.orientation.applied(to: try bitmap(of: file.image(), file, header, options))
        }

        /// Draws an image of a file.
        private func bitmap(
            of image: CGImage, _ file: SystemFile, _ header: SystemFile.Header, _ options: ImageDecodingOptions
        ) throws -> Bitmap {
            let size = PixelSize(width: image.width, height: image.height)
            try options.check(stored: header.size, allocated: size.pixelCount)
            guard var picture = image.bitmap(options) else {
                throw ImageError.damaged(file.format, reason: "the system cannot draw its picture")
            }
            let isConverted = image.keptSpace(options) == nil
            picture.provenance = Bitmap.Provenance(
                format: file.format, isUnaltered: size == header.size,
                // Drawing decodes, and only then faults in the middle of a file are found.
                isComplete: try SystemFile.checkCompleteness(file.source, file.format, options),
                colors: .treatment(
                    hasProfile: header.hasProfile, profile: image.colorSpace?.copyICCData().map { [UInt8]($0 as Data) },
                    isConverted: isConverted))
            return picture
        }

        func animation(of data: Data, options: ImageDecodingOptions) throws -> (any AnimatedImageSource)? {
            try SystemFrames(data, options)
        }
    }
#endif
