#if canImport(ImageIO)
    import CoreGraphics
    import Foundation
    import HalcyonImages
    import ImageIO
    import Synchronization

    /// The frames of an animation that ImageIO reads: GIF, APNG, WebP, and sequences of HEIC and AVIF.
    ///
    /// ImageIO draws each frame on the canvas of those before it, so that frames are whole pictures here. Beside
    /// Halcyon's pool, ImageIO may hold a canvas for each animation. The frames of an animation are decoded in turns.
    final class SystemFrames: AnimatedImageSource {
        let size: PixelSize
        let frames: [AnimationFrame]
        let plays: Int?
        private let format: ImageFormat
        private let options: ImageDecodingOptions
        /// ImageIO does not document that calls from several threads are safe.
        private let source: Mutex<CGImageSource>

        /// Reads the frames; `nil` for a file with one picture, or with several that have no duration.
        init?(_ data: Data, _ options: ImageDecodingOptions) throws {
            guard let format = ImageFormat(of: data), let keys = Self.keys(of: format),
                let source = CGImageSourceCreateWithData(data as CFData, SystemFile.options())
            else { return nil }
            let count = CGImageSourceGetCount(source)
            guard count > 1 else { return nil }
            let properties = (0..<count).map {
                CGImageSourceCopyPropertiesAtIndex(source, $0, SystemFile.options()) as? [String: Any] ?? [:]
            }
            let file = CGImageSourceCopyProperties(source, SystemFile.options()) as? [String: Any] ?? [:]
            let durations = properties.enumerated().map { keys.duration(ofFrame: $0, by: $1, in: file) }
            guard durations[0] != nil, let width = properties[0][kCGImagePropertyPixelWidth as String] as? Int,
                let height = properties[0][kCGImagePropertyPixelHeight as String] as? Int, width > 0, height > 0
            else { return nil }
            _ = try SystemFile.checkCompleteness(source, format, options)
            let canvas = PixelSize(width: width, height: height)
            try options.check(stored: canvas, allocated: canvas.pixelCount)
            size = canvas
            frames = durations.map {
                AnimationFrame(
                    x: 0, y: 0, size: canvas, duration: $0 ?? .zero, disposal: .keep, blend: .source)
            }
            plays = keys.plays(of: file)
            (self.format, self.options) = (format, options)
            self.source = Mutex(source)
        }

        func pixels(ofFrame index: Int) throws -> Bitmap {
            let picture = source.withLock { source in
                CGImageSourceCreateImageAtIndex(source, index, SystemFile.options())?.bitmap(options)
            }
            guard let picture, picture.size == size else {
                throw ImageError.damaged(format, reason: "ImageIO cannot decode frame \(index)")
            }
            return picture
        }

        /// Returns the keys of a format's animations; `nil` if there are none.
        private static func keys(of format: ImageFormat) -> AnimationProperties? {
            switch format {
            case .gif:
                AnimationProperties(
                    dictionary: kCGImagePropertyGIFDictionary as String,
                    loopCount: kCGImagePropertyGIFLoopCount as String,
                    unclampedDelay: kCGImagePropertyGIFUnclampedDelayTime as String,
                    delay: kCGImagePropertyGIFDelayTime as String,
                    frameInfo: kCGImagePropertyGIFFrameInfoArray as String)
            case .png:
                AnimationProperties(
                    dictionary: kCGImagePropertyPNGDictionary as String,
                    loopCount: kCGImagePropertyAPNGLoopCount as String,
                    unclampedDelay: kCGImagePropertyAPNGUnclampedDelayTime as String,
                    delay: kCGImagePropertyAPNGDelayTime as String,
                    frameInfo: kCGImagePropertyAPNGFrameInfoArray as String)
            case .webp:
                AnimationProperties(
                    dictionary: kCGImagePropertyWebPDictionary as String,
                    loopCount: kCGImagePropertyWebPLoopCount as String,
                    unclampedDelay: kCGImagePropertyWebPUnclampedDelayTime as String,
                    delay: kCGImagePropertyWebPDelayTime as String,
                    frameInfo: kCGImagePropertyWebPFrameInfoArray as String)
            // ImageIO declares a dictionary for AVIF, and keys for HEIC alone.
            case .heic, .avif:
                AnimationProperties(
                    dictionary: (format == .heic ? kCGImagePropertyHEICSDictionary : kCGImagePropertyAVISDictionary)
                        as String,
                    loopCount: kCGImagePropertyHEICSLoopCount as String,
                    unclampedDelay: kCGImagePropertyHEICSUnclampedDelayTime as String,
                    delay: kCGImagePropertyHEICSDelayTime as String,
                    frameInfo: kCGImagePropertyHEICSFrameInfoArray as String)
            default: nil
            }
        }
    }
#endif
