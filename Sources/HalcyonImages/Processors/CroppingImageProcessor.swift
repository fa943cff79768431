/// Cuts a part out of a picture.
///
/// The anchor is a point in the picture and the same point in the part, as shares of their sides: (0, 0) takes the top left,
/// (0.5, 0.5) the middle, (1, 1) the bottom right. A part larger than the picture is the picture on that side.
public struct CroppingImageProcessor: BitmapProcessor {
    /// Of the part.
    public let size: PixelSize
    /// Which part.
    public let anchor: Anchor

    /// A point, in shares of width and height.
    public struct Anchor: Sendable, Hashable {
        /// 0 is the left, 1 the right.
        public var x: Double
        /// 0 is the top, 1 the bottom.
        public var y: Double

        /// A point; both are to be 0 to 1.
        public init(x: Double, y: Double) {
            self.x = x
            self.y = y
        }

        /// (0, 0).
        public static let topLeft = Anchor(x: 0, y: 0)
        /// (0.5, 0.5).
        public static let center = Anchor(x: 0.5, y: 0.5)
        /// (1, 1).
        public static let bottomRight = Anchor(x: 1, y: 1)
    }

    /// A part, by default from the middle.
    public init(size: PixelSize, anchor: Anchor = .center) {
        self.size = size
        self.anchor = anchor
    }

    public var identifier: String { "halcyon.crop(\(size),\(anchor.x),\(anchor.y))" }

    public func process(_ picture: Bitmap) throws -> Bitmap {
        guard (0...1).contains(anchor.x), (0...1).contains(anchor.y) else {
            throw ImageError.invalidParameter(
                "The anchor (\(anchor.x), \(anchor.y)) is outside of the picture; both are to be 0 to 1")
        }
        try size.checkPossible()
        let part = PixelSize(width: min(size.width, picture.width), height: min(size.height, picture.height))
        guard part != picture.size else { return picture }
        let left = Int((Double(picture.width - part.width) * anchor.x).rounded())
        let top = Int((Double(picture.height - part.height) * anchor.y).rounded())
        var pixels: [UInt8] = []
        pixels.reserveCapacity(part.pixelCount * 4)
        for row in top..<top + part.height {
            let from = (row * picture.width + left) * 4
            pixels += picture.pixels[from..<from + part.width * 4]
        }
        return picture.derived(part, isOpaque: picture.isOpaque ? true : nil, pixels: pixels)
    }
}
