/// How round the corners are.
public struct CornerRadii: Sendable, Hashable, CustomStringConvertible {
    /// The corner at the top left.
    public var topLeft: CornerRadius
    /// The corner at the top right.
    public var topRight: CornerRadius
    /// The corner at the bottom right.
    public var bottomRight: CornerRadius
    /// The corner at the bottom left.
    public var bottomLeft: CornerRadius

    /// Each corner for itself; square unless said otherwise.
    public init(
        topLeft: CornerRadius = .none, topRight: CornerRadius = .none, bottomRight: CornerRadius = .none,
        bottomLeft: CornerRadius = .none
    ) {
        (self.topLeft, self.topRight) = (topLeft, topRight)
        (self.bottomRight, self.bottomLeft) = (bottomRight, bottomLeft)
    }

    /// All corners alike.
    public init(_ radius: CornerRadius) {
        self.init(topLeft: radius, topRight: radius, bottomRight: radius, bottomLeft: radius)
    }

    /// In pixels, for a picture of a size.
    func pixels(in size: PixelSize) throws(ImageError) -> (Double, Double, Double, Double) {
        (
            try topLeft.pixels(in: size), try topRight.pixels(in: size), try bottomRight.pixels(in: size),
            try bottomLeft.pixels(in: size)
        )
    }

    /// The four in the order of the clock, from the top left.
    public var description: String { "\(topLeft),\(topRight),\(bottomRight),\(bottomLeft)" }
}

/// The radius of one corner.
public enum CornerRadius: Sendable, Hashable, CustomStringConvertible {
    /// A length.
    case pixels(Double)
    /// A share of the shorter side: 0.5 makes a circle of a square.
    case fraction(Double)

    /// A corner that stays as it is.
    public static let none = CornerRadius.pixels(0)

    func pixels(in size: PixelSize) throws(ImageError) -> Double {
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
