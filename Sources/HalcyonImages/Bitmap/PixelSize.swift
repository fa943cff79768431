/// A width and a height in pixels.
public struct PixelSize: Sendable, Hashable, CustomStringConvertible {
    /// In pixels.
    public var width: Int
    /// In pixels.
    public var height: Int

    /// A size; of a picture only if both are positive.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// How many pixels that is; `Int.max` if it is no `Int`.
    public var pixelCount: Int {
        let (count, overflow) = width.multipliedReportingOverflow(by: height)
        return overflow ? .max : count
    }

    /// With width and height exchanged.
    public var transposed: PixelSize { PixelSize(width: height, height: width) }

    /// `width x height`, as in `640x480`.
    public var description: String { "\(width)x\(height)" }
}
