/// A picture in memory.
///
/// ```swift
/// let picture = try ImageDecoder().decode(data)
/// print(picture.size, picture.isOpaque, picture[0, 0])
/// ```
///
/// Rows are stored from the top, and pixels from the left. Each pixel has four bytes: red, green, blue, alpha, in sRGB. Copying is O(1):
/// copies share their bytes.
///
/// Alpha is *straight*, not premultiplied, as in PNG and WebP files, so decoding and encoding are exact. Operations that mix
/// neighbouring pixels weigh them by alpha, which takes additional time unless the picture ``isOpaque``.
public struct Bitmap: Sendable {
    /// The properties, which copies share: a hit in memory counts one reference, and not each of them.
    private final class Content: Sendable {
        let size: PixelSize
        let pixels: [UInt8]
        let isOpaque: Bool
        let provenance: Provenance?

        init(_ size: PixelSize, _ pixels: [UInt8], isOpaque: Bool, _ provenance: Provenance?) {
            (self.size, self.pixels, self.isOpaque, self.provenance) = (size, pixels, isOpaque, provenance)
        }
    }

    private var content: Content

    /// The width and height in pixels.
    public var size: PixelSize { content.size }
    /// The width in pixels, at least 1.
    public var width: Int { content.size.width }
    /// The height in pixels, at least 1.
    public var height: Int { content.size.height }
    /// The pixels, `width * height * 4` bytes.
    public var pixels: [UInt8] { content.pixels }
    /// Whether every pixel has an alpha of 255.
    public var isOpaque: Bool { content.isOpaque }
    /// The file that the picture comes from; `nil` for none. Serializers choose the format on disk by it.
    public var provenance: Provenance? {
        get { content.provenance }
        set { content = Content(size, pixels, isOpaque: isOpaque, newValue) }
    }

    /// The properties of the file that a picture comes from.
    public struct Provenance: Sendable, Hashable {
        /// The format of the file.
        public var format: ImageFormat
        /// Whether the picture has the full size of the file, and no processor has changed it.
        public var isUnaltered: Bool
        /// Whether the file was complete. `false` only with ``ImageDecodingOptions/showsTruncated``; such pictures are not cached.
        public var isComplete = true
        /// The treatment of the file's colour profile.
        public var colors = Colors.untagged

        /// The treatment of a file's colour profile.
        public enum Colors: String, Sendable, Hashable {
            /// The file has no profile. Its values are interpreted as sRGB.
            case untagged
            /// The profile equals sRGB within a quarter of a level.
            case sRGB
            /// The values were converted from the profile to sRGB.
            case converted
            /// The profile was not applied: it has tables instead of a matrix, is for CMYK, is damaged, or conversion is off.
            case kept
        }

        /// Creates the provenance of a picture of a custom decoder.
        public init(format: ImageFormat, isUnaltered: Bool, isComplete: Bool = true, colors: Colors = .untagged) {
            (self.format, self.isUnaltered, self.isComplete, self.colors) = (format, isUnaltered, isComplete, colors)
        }
    }

    /// Creates a picture of given pixels. O(pixels): it searches for transparency.
    ///
    /// - Returns: `nil` unless both dimensions are positive and there are exactly `width * height * 4` bytes.
    public init?(width: Int, height: Int, pixels: [UInt8]) {
        let count = PixelSize(width: width, height: height).pixelCount
        guard width > 0, height > 0, count <= Int.max / 4, pixels.count == count * 4 else { return nil }
        self.init(size: PixelSize(width: width, height: height), pixels: pixels, isOpaque: nil)
    }

    /// Creates a picture of one colour.
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

    /// Creates a picture of pixels of the right count. If `isOpaque` is `nil`, it searches for transparency, O(pixels).
    package init(size: PixelSize, pixels: [UInt8], isOpaque: Bool?, provenance: Provenance? = nil) {
        content = Content(size, pixels, isOpaque: isOpaque ?? Alpha.isOpaque(pixels), provenance)
    }

    /// Returns a changed picture with this one's provenance, which is no longer unaltered.
    func derived(_ size: PixelSize? = nil, isOpaque: Bool?, pixels: [UInt8]) -> Bitmap {
        var provenance = provenance
        provenance?.isUnaltered = false
        return Bitmap(size: size ?? self.size, pixels: pixels, isOpaque: isOpaque, provenance: provenance)
    }

    /// The colour of a pixel. The coordinates must be inside the picture.
    public subscript(x: Int, y: Int) -> PixelColor {
        precondition(x >= 0 && x < width && y >= 0 && y < height, "no pixel at (\(x), \(y)) in \(size)")
        let at = (y * width + x) * 4
        return PixelColor(red: pixels[at], green: pixels[at + 1], blue: pixels[at + 2], alpha: pixels[at + 3])
    }
}

extension Bitmap: Equatable {
    /// Returns whether two pictures have the same pixels. Their provenance is ignored.
    public static func == (left: Bitmap, right: Bitmap) -> Bool {
        left.size == right.size && left.pixels == right.pixels
    }
}

extension Bitmap: CustomStringConvertible {
    /// The size, and whether the picture is opaque.
    public var description: String { "\(size)\(isOpaque ? ", opaque" : "")" }
}

/// The alpha channel.
enum Alpha {
    /// Returns whether every fourth byte is 255. O(pixels); it stops at the first block of 4,096 pixels with another value.
    static func isOpaque(_ pixels: [UInt8]) -> Bool {
        pixels.withUnsafeBytes { bytes in
            let words = bytes.bindMemory(to: UInt32.self)
            var at = 0
            while at < words.count {
                let end = min(at &+ 4_096, words.count)
                var all = UInt32.max
                while at < end {
                    all &= words[at]
                    at &+= 1
                }
                if all.littleEndian < 0xFF00_0000 { return false }
            }
            return true
        }
    }
}

/// A width and a height in pixels.
public struct PixelSize: Sendable, Hashable, CustomStringConvertible {
    /// The width, in pixels.
    public var width: Int
    /// The height, in pixels.
    public var height: Int

    /// Creates a size. Only a size with two positive sides is that of a picture.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// The number of pixels; `Int.max` if it overflows.
    public var pixelCount: Int {
        let (count, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow ? .max : count
    }

    /// The size with width and height exchanged.
    public var transposed: PixelSize { PixelSize(width: height, height: width) }

    /// `width x height`, as in `640x480`.
    public var description: String { "\(width)x\(height)" }

    /// Throws unless a processor can make a picture of this size: sides are 1 to 1,000,000, and at most 2^28 pixels take 1 GiB.
    func checkPossible() throws(ImageError) {
        let sides = 1...1_000_000
        guard sides.contains(width), sides.contains(height), pixelCount <= 1 << 28 else { throw .invalidSize(self) }
    }
}

/// The allocation of the bytes of new pictures, which processors and decoders write by address.
///
/// Processors work on raw rows for speed, by these rules:
///
/// - A pointer never leaves the closure that receives it.
/// - Sizes come from a ``Bitmap``, whose initializers guarantee `width * height * 4` bytes.
/// - Every byte of a new picture is written.
package enum PixelMemory {
    /// Returns the bytes of a new picture. `fill` must write all of them.
    package static func make(_ size: PixelSize, _ fill: (UnsafeMutableRawBufferPointer) -> Void) -> [UInt8] {
        let count = size.pixelCount * 4
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            fill(UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<count]))
            initialized = count
        }
    }

    /// Returns the bytes of a new picture. If `fill` throws, its bytes are discarded.
    package static func attempt(
        _ size: PixelSize, _ fill: (UnsafeMutablePointer<UInt8>) throws(ImageError) -> Void
    ) throws(ImageError) -> [UInt8] {
        let count = size.pixelCount * 4
        var failure: ImageError?
        let pixels = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            guard let base = buffer.baseAddress else { return }
            do throws(ImageError) {
                try fill(base)
                initialized = count
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return pixels
    }
}
