/// Lays a colour over a picture, as strong as the colour's alpha says; what is transparent stays so. Each channel is
/// `c * alpha + p * (1 - alpha)`.
public struct TintImageProcessor: BitmapProcessor {
    /// Its alpha is how strong the tint is.
    public let color: PixelColor

    /// A tint of this colour.
    public init(color: PixelColor) { self.color = color }

    public var identifier: String { "halcyon.tint(\(color))" }

    public func process(_ picture: Bitmap) -> Bitmap {
        picture.mapped(by: ChannelTables(mixing: color, share: Double(color.alpha) / 255))
    }
}
