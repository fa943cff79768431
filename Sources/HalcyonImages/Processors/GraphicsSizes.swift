import Foundation

// Sizes and points of Core Graphics, in which many apps state them. Here they count pixels, whatever the screen's scale is.

extension PixelSize {
    /// Creates a size from one whose sides count pixels, rounded to the nearest. A side that is not finite or exceeds 1,000,000,000
    /// becomes 0, which no processor accepts.
    public init(_ size: CGSize) {
        func side(_ length: CGFloat) -> Int { abs(length) <= 1e9 ? Int(length.rounded()) : 0 }
        self.init(width: side(size.width), height: side(size.height))
    }
}

extension ResizingImageProcessor {
    /// Creates a processor that resizes to a size whose sides count pixels.
    @_disfavoredOverload
    public init(
        referenceSize: CGSize, mode: ContentMode = .none, filter: ResamplingFilter = .bicubic, enlarges: Bool = true
    ) {
        self.init(referenceSize: PixelSize(referenceSize), mode: mode, filter: filter, enlarges: enlarges)
    }
}

extension DownsamplingImageProcessor {
    /// Creates a processor that shrinks pictures to fit into a size whose sides count pixels.
    @_disfavoredOverload
    public init(size: CGSize) { self.init(size: PixelSize(size)) }
}

extension CroppingImageProcessor {
    /// Creates a processor that crops to a size whose sides count pixels.
    ///
    /// - Parameter anchor: the position of the part that is kept, in fractions of width and height; by default the centre.
    @_disfavoredOverload
    public init(size: CGSize, anchor: CGPoint = CGPoint(x: 0.5, y: 0.5)) {
        self.init(size: PixelSize(size), anchor: Anchor(x: Double(anchor.x), y: Double(anchor.y)))
    }
}
