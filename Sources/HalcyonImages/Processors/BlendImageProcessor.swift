/// Puts a picture on a colour and blends both.
public struct BlendImageProcessor: BitmapProcessor {
    /// How both are mixed.
    public let mode: BlendMode
    /// What the picture's own alpha is multiplied by, 0 to 1.
    public let alpha: Double
    /// What is behind; transparent: the picture alone, by its alpha.
    public let background: PixelColor

    /// A picture at a share of its alpha on a colour, by default on nothing.
    public init(mode: BlendMode, alpha: Double = 1, background: PixelColor = .clear) {
        (self.mode, self.alpha, self.background) = (mode, alpha, background)
    }

    public var identifier: String { "halcyon.blend(\(mode.rawValue),\(alpha),\(background))" }

    public func process(_ picture: Bitmap) throws -> Bitmap {
        guard (0...1).contains(alpha) else {
            throw ImageError.invalidParameter("An alpha of \(alpha) is none; 0 to 1 are")
        }
        return picture.blended(mode, on: background, strength: alpha)
    }
}
