/// Rounds the corners of a picture. The pixels outside the corners become transparent, or show a background.
///
/// See `ProcessorPixelTests.shapedPixelsEqualExpected()` and `ProcessorTests.onlyStatedCornersAreRound()`.
public struct RoundCornerImageProcessor: BitmapProcessor {
    /// The radius of each corner.
    public let radii: CornerRadii
    /// The colour behind the picture; `nil` for none.
    public let backgroundColor: PixelColor?

    /// Creates a processor with a radius for each corner.
    public init(radii: CornerRadii, backgroundColor: PixelColor? = nil) {
        self.radii = radii
        self.backgroundColor = backgroundColor
    }

    /// Creates a processor with one radius for all corners; a literal number counts pixels.
    public init(cornerRadius: CornerRadius, backgroundColor: PixelColor? = nil) {
        self.init(radii: CornerRadii(cornerRadius), backgroundColor: backgroundColor)
    }

    public var identifier: String {
        "halcyon.round(\(radii)" + (backgroundColor.map { ",\($0)" } ?? "") + ")"
    }

    public func process(_ picture: Bitmap) throws -> Bitmap {
        let shape = RoundedRectangle(size: picture.size, radii: try radii.pixels(in: picture.size))
        let round = picture.masked(by: shape)
        guard let backgroundColor else { return round }
        return round.blended(.normal, on: backgroundColor, strength: 1)
    }
}

/// Draws a border inside the edge of a picture. The picture keeps its size.
///
/// With radii the border follows rounded corners. The pixels outside the corners do not change; to remove them, apply
/// ``RoundCornerImageProcessor`` first.
public struct BorderImageProcessor: BitmapProcessor {
    /// The width of the border, in pixels.
    public let width: Double
    /// The colour of the border, drawn over the picture by its alpha.
    public let color: PixelColor
    /// The radii of the outer edge. Those of the inner edge are smaller by the width.
    public let radii: CornerRadii

    /// Creates a processor that draws a border, by default with square corners.
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

/// The radii of the four corners.
public struct CornerRadii: Sendable, Hashable, CustomStringConvertible {
    /// The radius of the top left corner.
    public var topLeft: CornerRadius
    /// The radius of the top right corner.
    public var topRight: CornerRadius
    /// The radius of the bottom right corner.
    public var bottomRight: CornerRadius
    /// The radius of the bottom left corner.
    public var bottomLeft: CornerRadius

    /// Creates radii for each corner. By default a corner is square.
    public init(
        topLeft: CornerRadius = .none, topRight: CornerRadius = .none, bottomRight: CornerRadius = .none,
        bottomLeft: CornerRadius = .none
    ) {
        (self.topLeft, self.topRight) = (topLeft, topRight)
        (self.bottomRight, self.bottomLeft) = (bottomRight, bottomLeft)
    }

    /// Creates equal radii for all corners.
    public init(_ radius: CornerRadius) {
        self.init(topLeft: radius, topRight: radius, bottomRight: radius, bottomLeft: radius)
    }

    /// Returns the radii in pixels for a picture of a size, clockwise from the top left.
    fileprivate func pixels(in size: PixelSize) throws(ImageError) -> (Double, Double, Double, Double) {
        (
            try topLeft.pixels(in: size), try topRight.pixels(in: size), try bottomRight.pixels(in: size),
            try bottomLeft.pixels(in: size)
        )
    }

    /// The radii, clockwise from the top left.
    public var description: String { "\(topLeft),\(topRight),\(bottomRight),\(bottomLeft)" }
}

/// The radius of one corner. A literal number counts pixels: `20` is `.pixels(20)`.
public enum CornerRadius: Sendable, Hashable, CustomStringConvertible {
    /// A length in pixels.
    case pixels(Double)
    /// A fraction of the picture's shorter side. 0.5 turns a square into a circle.
    case fraction(Double)

    /// A square corner.
    public static let none = CornerRadius.pixels(0)

    fileprivate func pixels(in size: PixelSize) throws(ImageError) -> Double {
        let radius =
            switch self {
            case .pixels(let pixels): pixels
            case .fraction(let share): share * Double(min(size.width, size.height))
            }
        guard radius >= 0, radius.isFinite else {
            throw .invalidParameter("A corner's radius of \(self) is none; 0 and more are")
        }
        return radius
    }

    public var description: String {
        switch self {
        case .pixels(let pixels): "\(pixels)px"
        case .fraction(let share): "\(share)of"
        }
    }
}

extension CornerRadius: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    public init(integerLiteral pixels: Int) { self = .pixels(Double(pixels)) }
    public init(floatLiteral pixels: Double) { self = .pixels(pixels) }
}

// MARK: - Inside

/// A rectangle with rounded corners, and its coverage of each pixel.
private struct RoundedRectangle {
    /// The sides, in pixels from the picture's top left.
    let left: Double
    let top: Double
    let right: Double
    let bottom: Double
    /// The radii, clockwise from the top left. If two overlap on a side, all are scaled down by one factor, as in CSS.
    let radii: (Double, Double, Double, Double)

    init(size: PixelSize, inset: Double = 0, radii: (Double, Double, Double, Double)) {
        (left, top) = (inset, inset)
        (right, bottom) = (max(Double(size.width) - inset, inset), max(Double(size.height) - inset, inset))
        let (width, height) = (right - left, bottom - top)
        var factor = 1.0
        for (sum, side) in [
            (radii.0 + radii.1, width), (radii.2 + radii.3, width), (radii.0 + radii.3, height),
            (radii.1 + radii.2, height),
        ] where sum > side { factor = min(factor, side / sum) }
        self.radii = (radii.0 * factor, radii.1 * factor, radii.2 * factor, radii.3 * factor)
    }

    /// Returns the columns inside the shape at a height. The range is empty above and below it.
    private func span(at y: Double) -> (Double, Double) {
        guard y > top, y < bottom else { return (left, left) }
        // The width that a corner removes.
        func cut(_ radius: Double, _ distance: Double) -> Double {
            guard distance < radius else { return 0 }
            let away = radius - distance
            return radius - (radius * radius - away * away).squareRoot()
        }
        let leftCut = max(cut(radii.0, y - top), cut(radii.3, bottom - y))
        let rightCut = max(cut(radii.1, y - top), cut(radii.2, bottom - y))
        return (left + leftCut, right - rightCut)
    }

    /// Returns whether the shape covers a row of pixels completely.
    func covers(row: Int, width: Int) -> Bool {
        let (above, below) = (Double(row), Double(row + 1))
        return left <= 0 && right >= Double(width) && above >= top + max(radii.0, radii.1)
            && below <= bottom - max(radii.2, radii.3)
    }

    /// Calculates the coverage of each pixel of a row, 0 to 255. It is exact horizontally, and the mean of 16 lines vertically.
    ///
    /// Each line adds its two ends to `steps`, and a running sum of `steps` is the coverage. `steps` has two elements more than
    /// `shares`. O(width).
    func coverage(row: Int, into shares: inout [UInt8], steps: inout [Float]) {
        let width = shares.count
        for x in 0..<width + 2 { steps[x] = 0 }
        for line in 0..<16 {
            let (from, to) = span(at: Double(row) + (Double(line) + 0.5) / 16)
            guard to > from else { continue }
            for (edge, sign) in [(from, Float(1) / 16), (to, Float(-1) / 16)] {
                let inside = max(0, min(Double(width), edge))
                let pixel = Int(inside)
                let share = Float(inside - Double(pixel))
                steps[pixel] += sign * (1 - share)
                steps[pixel + 1] += sign * share
            }
        }
        var sum: Float = 0
        for x in 0..<width {
            sum += steps[x]
            shares[x] = FloatRows.byte(sum * 255)
        }
    }
}

extension Bitmap {
    /// Returns the picture with its alpha multiplied by the coverage of a shape. O(pixels), most of it copying.
    fileprivate func masked(by shape: RoundedRectangle) -> Bitmap {
        var result = pixels
        var shares = [UInt8](repeating: 0, count: width)
        var steps = [Float](repeating: 0, count: width + 2)
        var changed = false
        for y in 0..<height where !shape.covers(row: y, width: width) {
            changed = true
            shape.coverage(row: y, into: &shares, steps: &steps)
            result.withUnsafeMutableBufferPointer { bytes in
                for x in 0..<width where shares[x] < 255 {
                    let at = (y &* width &+ x) &* 4
                    let alpha = Rounding.by255(UInt32(bytes[at &+ 3]) &* UInt32(shares[x]))
                    bytes[at &+ 3] = UInt8(truncatingIfNeeded: alpha)
                    // A transparent pixel has no colour.
                    guard alpha == 0 else { continue }
                    (bytes[at], bytes[at &+ 1], bytes[at &+ 2]) = (0, 0, 0)
                }
            }
        }
        return derived(isOpaque: changed ? nil : isOpaque, pixels: result)
    }

    /// Returns the picture with a colour drawn over it inside the first shape and outside the second. O(pixels).
    fileprivate func painted(_ color: PixelColor, between outside: RoundedRectangle, and inside: RoundedRectangle)
        -> Bitmap
    {
        var result = pixels
        var outer = [UInt8](repeating: 0, count: width)
        var inner = outer
        var steps = [Float](repeating: 0, count: width + 2)
        for y in 0..<height where !inside.covers(row: y, width: width) {
            outside.coverage(row: y, into: &outer, steps: &steps)
            inside.coverage(row: y, into: &inner, steps: &steps)
            result.withUnsafeMutableBufferPointer { bytes in
                for x in 0..<width where outer[x] > inner[x] {
                    let alpha = Rounding.by255(UInt32(outer[x] &- inner[x]) &* UInt32(color.alpha))
                    Self.lay(color, alpha, over: bytes, at: (y &* width &+ x) &* 4)
                }
            }
        }
        return derived(isOpaque: isOpaque ? true : nil, pixels: result)
    }

    /// Draws a colour over one pixel, both with straight alpha (source over; Porter and Duff, 1984), rounded to the nearest.
    private static func lay(
        _ color: PixelColor, _ alpha: UInt32, over bytes: UnsafeMutableBufferPointer<UInt8>, at: Int
    ) {
        let under = UInt32(bytes[at &+ 3])
        // All weights times 255.
        let (above, below) = (alpha &* 255, under &* (255 &- alpha))
        let whole = above &+ below
        guard whole > 0 else { return }
        func mix(_ over: UInt8, _ under: UInt8) -> UInt8 {
            UInt8(truncatingIfNeeded: (UInt32(over) &* above &+ UInt32(under) &* below &+ whole / 2) / whole)
        }
        bytes[at] = mix(color.red, bytes[at])
        bytes[at &+ 1] = mix(color.green, bytes[at &+ 1])
        bytes[at &+ 2] = mix(color.blue, bytes[at &+ 2])
        bytes[at &+ 3] = UInt8(truncatingIfNeeded: Rounding.by255(whole))
    }
}
