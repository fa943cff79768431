/// How a picture goes into a size of other proportions.
public enum ContentMode: String, Sendable, Hashable, CaseIterable {
    /// Both sides are just as asked for; proportions are lost.
    case none
    /// The largest that is inside.
    case fit
    /// The smallest that covers it; what stands out is not cut off.
    case fill
}

extension PixelSize {
    /// This size's proportions in another one, each side rounded to the nearest and at least 1.
    func scaled(into other: PixelSize, _ mode: ContentMode) -> PixelSize {
        let (x, y) = (Double(other.width) / Double(width), Double(other.height) / Double(height))
        let factor: Double
        switch mode {
        case .none: return other
        case .fit: factor = min(x, y)
        case .fill: factor = max(x, y)
        }
        func side(_ length: Int) -> Int { max(1, Int(min((Double(length) * factor).rounded(), 1e15))) }
        return PixelSize(width: side(width), height: side(height))
    }

    /// Throws unless a picture of this size can be made: sides of 1 to 1,000,000, and no more than 2^28 pixels, which take 1 GiB.
    func checkPossible() throws(ImageError) {
        let sides = 1...1_000_000
        guard sides.contains(width), sides.contains(height), pixelCount <= 1 << 28 else { throw .invalidSize(self) }
    }
}
