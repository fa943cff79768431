/// Rounds the corners of a picture, each as wanted. What is outside becomes transparent, or shows a background.
public struct RoundCornerImageProcessor: BitmapProcessor {
    /// Of each corner.
    public let radii: CornerRadii
    /// What shows outside of the corners; `nil`: nothing.
    public let background: PixelColor?

    /// Each corner for itself.
    public init(radii: CornerRadii, background: PixelColor? = nil) {
        self.radii = radii
        self.background = background
    }

    /// All corners alike.
    public init(radius: CornerRadius, background: PixelColor? = nil) {
        self.init(radii: CornerRadii(radius), background: background)
    }

    public var identifier: String {
        "halcyon.round(\(radii)" + (background.map { ",\($0)" } ?? "") + ")"
    }

    public func process(_ picture: Bitmap) throws -> Bitmap {
        let shape = RoundedRectangle(size: picture.size, radii: try radii.pixels(in: picture.size))
        let round = picture.masked(by: shape)
        guard let background else { return round }
        return round.blended(.normal, on: background, strength: 1)
    }
}
