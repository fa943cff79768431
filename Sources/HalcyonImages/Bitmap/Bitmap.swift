/// A picture in memory: what decoders give, processors change and encoders take.
///
/// ```swift
/// let picture = try ImageDecoder().decode(data)
/// print(picture.size, picture.isOpaque, picture[0, 0])
/// ```
///
/// Rows from the top, pixels from the left, four bytes each: red, green, blue, alpha, in sRGB. Alpha is *not* multiplied into the
/// colours, as in PNG and WebP files, so that decoding and encoding lose nothing; operations that mix neighbours weigh by alpha
/// themselves, and leave that out where ``isOpaque`` says that they may. Copying is O(1): copies share their bytes.
public struct Bitmap: Sendable {
    /// In pixels, at least 1.
    public let width: Int
    /// In pixels, at least 1.
    public let height: Int
    /// `width * height * 4` bytes.
    public let pixels: [UInt8]
    /// Whether every alpha is 255.
    public let isOpaque: Bool
    /// Where the picture comes from, if from a file: tells serializers the format to keep it in.
    public var provenance: Provenance?

    /// What is known about the file behind a picture.
    public struct Provenance: Sendable, Hashable {
        /// The format of the file.
        public var format: ImageFormat
        /// Whether the picture is all that the file shows: in full size, no processor has changed it.
        public var isUnaltered: Bool
        /// Whether the file was there to its end. `false` only with ``ImageDecodingOptions/showsTruncated``; such pictures are not cached.
        public var isComplete = true
        /// What became of the file's colour profile.
        public var colors = Colors.untagged

        /// What became of a file's colour profile.
        public enum Colors: String, Sendable, Hashable {
            /// The file has none: the numbers are taken for sRGB.
            case untagged
            /// The profile is sRGB within a quarter of a level.
            case sRGB
            /// The numbers were converted from the profile to sRGB.
            case converted
            /// The profile was not applied: it has tables in place of a matrix, is for CMYK, is damaged, or conversion was turned off.
            case kept
        }

        /// The origin of a picture that a decoder of one's own has made.
        public init(format: ImageFormat, isUnaltered: Bool, isComplete: Bool = true, colors: Colors = .untagged) {
            (self.format, self.isUnaltered, self.isComplete, self.colors) = (format, isUnaltered, isComplete, colors)
        }
    }

    /// A picture of given pixels. O(pixels): looks for transparency.
    ///
    /// - Returns: `nil` unless both dimensions are positive and there are exactly `width * height * 4` bytes.
    public init?(width: Int, height: Int, pixels: [UInt8]) {
        let count = PixelSize(width: width, height: height).pixelCount
        guard width > 0, height > 0, count <= Int.max / 4, pixels.count == count * 4 else { return nil }
        self.init(size: PixelSize(width: width, height: height), pixels: pixels, isOpaque: nil)
    }

    /// A picture in one colour.
    ///
    /// - Returns: `nil` unless both dimensions are positive.
    public init?(width: Int, height: Int, color: PixelColor) {
        guard width > 0, height > 0, PixelSize(width: width, height: height).pixelCount <= Int.max / 4 else {
            return nil
        }
        var pixels = [UInt8]()
        pixels.reserveCapacity(width * height * 4)
        for _ in 0..<width * height { pixels += color.channels }
        self.init(
            size: PixelSize(width: width, height: height), pixels: pixels, isOpaque: color.alpha == 255)
    }

    /// A picture of pixels that are known to fit; `isOpaque` nil: looks.
    package init(size: PixelSize, pixels: [UInt8], isOpaque: Bool?, provenance: Provenance? = nil) {
        (width, height, self.pixels) = (size.width, size.height, pixels)
        self.isOpaque = isOpaque ?? Alpha.isOpaque(pixels)
        self.provenance = provenance
    }

    /// Width and height.
    public var size: PixelSize { PixelSize(width: width, height: height) }

    /// The colour of a pixel; the place must be inside of the picture.
    public subscript(x: Int, y: Int) -> PixelColor {
        precondition(x >= 0 && x < width && y >= 0 && y < height, "no pixel at (\(x), \(y)) in \(size)")
        let at = (y * width + x) * 4
        return PixelColor(red: pixels[at], green: pixels[at + 1], blue: pixels[at + 2], alpha: pixels[at + 3])
    }
}

extension Bitmap: Equatable {
    /// The same pixels; where they come from does not matter.
    public static func == (left: Bitmap, right: Bitmap) -> Bool {
        left.size == right.size && left.pixels == right.pixels
    }
}

extension Bitmap: CustomStringConvertible {
    /// Its size, and whether it is opaque; not the pixels.
    public var description: String { "\(size)\(isOpaque ? ", opaque" : "")" }
}
