/// Crops a picture to a size.
///
/// The anchor selects the part that is kept: (0, 0) is the top left, (0.5, 0.5) the centre, (1, 1) the bottom right. A side of the size
/// that is longer than the picture's keeps the picture's side.
///
/// See `ProcessorTests.cropIsPartOfPicture()`.
public struct CroppingImageProcessor: BitmapProcessor {
    /// The size of the cropped picture, in pixels.
    public let size: PixelSize
    /// The position of the part that is kept.
    public let anchor: Anchor

    /// A point, in fractions of width and height.
    public struct Anchor: Sendable, Hashable {
        /// 0 is the left, 1 the right.
        public var x: Double
        /// 0 is the top, 1 the bottom.
        public var y: Double

        /// Creates a point. Both coordinates must be 0 to 1.
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

    /// Creates a processor that crops to a size, by default around the centre.
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
