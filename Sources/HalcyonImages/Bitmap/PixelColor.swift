/// A colour in sRGB, 8 bits a channel, alpha not multiplied in.
public struct PixelColor: Sendable, Hashable, CustomStringConvertible {
    /// 0 to 255.
    public var red: UInt8
    /// 0 to 255.
    public var green: UInt8
    /// 0 to 255.
    public var blue: UInt8
    /// 255 is opaque.
    public var alpha: UInt8

    /// A colour of its channels, opaque unless said otherwise.
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
    /// Nothing at all.
    public static let clear = PixelColor(red: 0, green: 0, blue: 0, alpha: 0)

    /// `#rrggbbaa`.
    public var description: String {
        "#"
            + [red, green, blue, alpha].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The channels in the order in which a bitmap holds them.
    var channels: [UInt8] { [red, green, blue, alpha] }
}
