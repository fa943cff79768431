/// A colour in sRGB, with 8 bits per channel and straight alpha.
public struct PixelColor: Sendable, Hashable, CustomStringConvertible {
    /// The red channel, 0 to 255.
    public var red: UInt8
    /// The green channel, 0 to 255.
    public var green: UInt8
    /// The blue channel, 0 to 255.
    public var blue: UInt8
    /// The alpha channel, 0 (transparent) to 255 (opaque).
    public var alpha: UInt8

    /// Creates a colour, by default an opaque one.
    public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
        self.red = red
        self.green = green
        self.blue = blue
        self.alpha = alpha
    }

    /// Opaque black.
    public static let black = PixelColor(red: 0, green: 0, blue: 0)
    /// Opaque white.
    public static let white = PixelColor(red: 255, green: 255, blue: 255)
    /// Opaque red.
    public static let red = PixelColor(red: 255, green: 0, blue: 0)
    /// Opaque green, the full channel.
    public static let green = PixelColor(red: 0, green: 255, blue: 0)
    /// Opaque blue.
    public static let blue = PixelColor(red: 0, green: 0, blue: 255)
    /// Opaque grey, half of each channel.
    public static let gray = PixelColor(red: 128, green: 128, blue: 128)
    /// Transparent black.
    public static let clear = PixelColor(red: 0, green: 0, blue: 0, alpha: 0)

    /// The colour as `#rrggbbaa`.
    public var description: String {
        "#"
            + [red, green, blue, alpha].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The channels in the order of the bytes of a ``Bitmap``.
    var channels: [UInt8] { [red, green, blue, alpha] }
}

/// Exact arithmetic on 8-bit channels.
enum Rounding {
    /// Returns `value / 255`, rounded to the nearest. Exact for values up to 255 * 255.
    @inline(__always)
    static func by255(_ value: UInt32) -> UInt32 {
        let sum = value &+ 128
        return (sum &+ sum >> 8) >> 8
    }
}

/// The conversion of rows of pixels to floating-point numbers with premultiplied alpha, and back.
enum FloatRows {
    /// Converts `count` pixels to floating point, and premultiplies them unless they are opaque.
    static func load(
        _ source: UnsafePointer<UInt8>, _ target: UnsafeMutablePointer<Float>, count: Int, isOpaque: Bool
    ) {
        for at in 0..<count &* 4 { target[at] = Float(source[at]) }
        guard !isOpaque else { return }
        for pixel in 0..<count {
            let at = pixel &* 4
            let alpha = target[at &+ 3] * (1 / 255)
            target[at] *= alpha
            target[at &+ 1] *= alpha
            target[at &+ 2] *= alpha
        }
    }

    /// Converts `count` pixels to bytes, clamped to 0...255 and rounded to the nearest.
    static func store(
        _ source: UnsafeMutablePointer<Float>, _ target: UnsafeMutablePointer<UInt8>, count: Int, isOpaque: Bool
    ) {
        if !isOpaque {
            for pixel in 0..<count {
                let at = pixel &* 4
                let alpha = source[at &+ 3]
                // A pixel whose alpha rounds to 0 has no colour.
                let factor = alpha < 0.5 ? 0 : 255 / alpha
                source[at] *= factor
                source[at &+ 1] *= factor
                source[at &+ 2] *= factor
            }
        }
        for at in 0..<count &* 4 { target[at] = byte(source[at]) }
    }

    /// Returns the nearest byte. Adding 1.5 * 2^23 rounds to an integer and leaves it in the lowest bits.
    @inline(__always)
    static func byte(_ value: Float) -> UInt8 {
        let above = value > 0 ? value : 0
        let inside = above < 255 ? above : 255
        return UInt8(truncatingIfNeeded: (inside + 12_582_912).bitPattern)
    }
}
