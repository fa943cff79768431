/// Fills a picture's shape with a colour and lets the picture show through.
public struct OverlayImageProcessor: BitmapProcessor {
    /// Its alpha does not matter.
    public let color: PixelColor
    /// How much of the picture shows: 0 is the colour alone, 1 the picture alone.
    public let fraction: Double

    /// A colour over the picture, by default half.
    public init(color: PixelColor, fraction: Double = 0.5) {
        self.color = color
        self.fraction = fraction
    }

    public var identifier: String { "halcyon.overlay(\(color),\(fraction))" }

    public func process(_ picture: Bitmap) throws -> Bitmap {
        guard (0...1).contains(fraction) else {
            throw ImageError.invalidParameter("An overlay's fraction of \(fraction) is none; 0 to 1 are")
        }
        return picture.mapped(by: ChannelTables(mixing: color, share: 1 - fraction))
    }
}
