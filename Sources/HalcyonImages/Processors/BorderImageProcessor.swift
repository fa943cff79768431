/// Draws a frame over the edge of a picture, which keeps its size. With radii the frame follows round corners; what is outside of them
/// stays: round the corners first to be rid of it.
public struct BorderImageProcessor: BitmapProcessor {
    /// In pixels.
    public let width: Double
    /// Laid over the picture by its alpha.
    public let color: PixelColor
    /// Of the outer edge; the inner one is rounder by the width.
    public let radii: CornerRadii

    /// A frame, with square corners unless said otherwise.
    public init(width: Double, color: PixelColor, radii: CornerRadii = CornerRadii()) {
        self.width = width
        self.color = color
        self.radii = radii
    }

    public var identifier: String { "halcyon.border(\(width),\(color),\(radii))" }

    public func process(_ picture: Bitmap) throws -> Bitmap {
        guard width >= 0, width.isFinite else {
            throw ImageError.invalidParameter("A border of width \(width) is none; 0 pixels and more are")
        }
        let outer = try radii.pixels(in: picture.size)
        let outside = RoundedRectangle(size: picture.size, radii: outer)
        let (first, second, third, fourth) = outside.radii
        let inside = RoundedRectangle(
            size: picture.size, inset: width,
            radii: (max(0, first - width), max(0, second - width), max(0, third - width), max(0, fourth - width)))
        return picture.painted(color, between: outside, and: inside)
    }
}
