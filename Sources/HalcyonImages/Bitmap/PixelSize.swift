/// A width and a height in pixels.
public struct PixelSize: Sendable, Hashable, CustomStringConvertible {
    /// The width, in pixels.
    public var width: Int
    /// The height, in pixels.
    public var height: Int

    /// Creates a size. Only a size with two positive sides is that of a picture.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// The number of pixels; `Int.max` if it overflows.
    public var pixelCount: Int {
        let (count, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow ? .max : count
    }

    /// The size with width and height exchanged.
    public var transposed: PixelSize { PixelSize(width: height, height: width) }

    /// `width x height`, as in `640x480`.
    public var description: String { "\(width)x\(height)" }

    /// Throws unless a processor can make a picture of this size: sides are 1 to 1,000,000, and at most 2^28 pixels take 1 GiB.
    func checkPossible() throws(ImageError) {
        let sides = 1...1_000_000
        guard sides.contains(width), sides.contains(height), pixelCount <= 1 << 28 else { throw .invalidSize(self) }
    }
}
