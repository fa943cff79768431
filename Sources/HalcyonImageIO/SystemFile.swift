#if canImport(ImageIO)
    import CoreGraphics
    import Foundation
    import HalcyonImages
    import ImageIO

    /// A file that ImageIO has opened.
    struct SystemFile {
        let format: ImageFormat
        let source: CGImageSource
        /// The index of the picture to show: of HEIC that of the primary picture, else 0.
        let index: Int

        /// The properties of a picture that are read without decoding it.
        struct Header {
            /// The size as stored, before the orientation is applied.
            var size: PixelSize
            var orientation: ImageOrientation
            var declaresAlpha: Bool
            var hasProfile: Bool

            /// The size as shown.
            var shownSize: PixelSize { orientation.isTransposed ? size.transposed : size }
        }

        /// Opens a file.
        ///
        /// - Throws: `ImageError.unknownFormat`, `ImageError.truncated(_:)`, `ImageError.damaged(_:reason:)`.
        init(_ data: Data) throws(ImageError) {
            guard let format = ImageFormat(of: data) else { throw .unknownFormat }
            guard let source = CGImageSourceCreateWithData(data as CFData, Self.options()) else {
                throw .damaged(format, reason: "ImageIO cannot open it")
            }
            (self.format, self.source) = (format, source)
            guard CGImageSourceGetCount(source) > 0 else {
                throw Self.error(format, CGImageSourceGetStatus(source), reason: "ImageIO finds no picture in it")
            }
            index = CGImageSourceGetPrimaryImageIndex(source)
        }

        /// The options of each call: ImageIO keeps no decoded pixels, because a `Bitmap` holds them.
        static func options(_ others: [String: Any] = [:]) -> CFDictionary {
            var options = others
            options[kCGImageSourceShouldCache as String] = false
            return options as CFDictionary
        }

        /// Returns the error of a status. `reason` is that of a damaged file.
        static func error(_ format: ImageFormat, _ status: CGImageSourceStatus, reason: String) -> ImageError {
            let isCut = status == .statusIncomplete || status == .statusUnexpectedEOF || status == .statusReadingHeader
            return isCut ? .truncated(format) : .damaged(format, reason: reason)
        }

        func header() throws(ImageError) -> Header {
            let properties = CGImageSourceCopyPropertiesAtIndex(source, index, Self.options()) as? [String: Any]
            guard let properties, let width = properties[kCGImagePropertyPixelWidth as String] as? Int,
                let height = properties[kCGImagePropertyPixelHeight as String] as? Int, width > 0, height > 0,
                width < 1 << 31, height < 1 << 31
            else {
                throw Self.error(format, CGImageSourceGetStatus(source), reason: "ImageIO finds no size in it")
            }
            let orientation = properties[kCGImagePropertyOrientation as String] as? Int
            return Header(
                size: PixelSize(width: width, height: height),
                orientation: orientation.flatMap(ImageOrientation.init(rawValue:)) ?? .up,
                declaresAlpha: properties[kCGImagePropertyHasAlpha as String] as? Bool ?? false,
                hasProfile: properties[kCGImagePropertyProfileName as String] != nil)
        }

        /// Returns whether the file is complete. ImageIO's status of a single picture is not used: by WebKit's
        /// `ImageDecoderCG` it stays incomplete for the last picture of a complete file.
        ///
        /// ImageIO does not tell a file that lacks only its end marker from one that was cut before, so that
        /// `ImageDecodingOptions.showsUnterminated` has no effect.
        ///
        /// - Throws: the error of an incomplete picture, unless the options show it:
        ///   `ImageDecodingOptions.showsTruncated`, for JPEG and GIF.
        static func checkCompleteness(
            _ source: CGImageSource, _ format: ImageFormat, _ options: ImageDecodingOptions
        ) throws(ImageError) -> Bool {
            let status = CGImageSourceGetStatus(source)
            guard status != .statusComplete else { return true }
            let error = error(format, status, reason: "ImageIO cannot read it")
            guard options.showsTruncated, format == .jpeg || format == .gif, error == .truncated(format) else {
                throw error
            }
            return false
        }

        /// Returns the picture in full size and in the stored orientation.
        func image() throws(ImageError) -> CGImage {
            guard let image = CGImageSourceCreateImageAtIndex(source, index, Self.options()) else {
                throw Self.error(format, CGImageSourceGetStatus(source), reason: "ImageIO cannot decode it")
            }
            return image
        }

        /// Returns the picture in its display orientation, scaled so that its longest side has `longestSide` pixels;
        /// `nil` if ImageIO cannot. A thumbnail that the file has is not used.
        func thumbnail(longestSide: Int) -> CGImage? {
            let options = Self.options([
                kCGImageSourceCreateThumbnailFromImageAlways as String: true,
                kCGImageSourceCreateThumbnailWithTransform as String: true,
                kCGImageSourceThumbnailMaxPixelSize as String: longestSide,
            ])
            return CGImageSourceCreateThumbnailAtIndex(source, index, options)
        }
    }

    extension CGImage {
        /// The colour space to draw the image in: the image's own if its values are to be kept and it is an RGB space,
        /// else sRGB, which is `nil` here.
        func keptSpace(_ options: ImageDecodingOptions) -> CGColorSpace? {
            guard options.colors == .kept, let space = colorSpace, space.model == .rgb, space.supportsOutput else {
                return nil
            }
            return space
        }

        /// Returns the pixels; `nil` if the system cannot draw the image.
        func bitmap(_ options: ImageDecodingOptions) -> Bitmap? {
            keptSpace(options).map { Bitmap(self, in: $0) } ?? Bitmap(self)
        }
    }
#endif
