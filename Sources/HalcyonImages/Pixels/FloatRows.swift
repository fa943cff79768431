/// Rows of pixels as floating-point numbers, with alpha multiplied in where there is any, and back.
enum FloatRows {
    /// Reads `count` pixels.
    static func load(
        _ source: UnsafePointer<UInt8>, _ target: UnsafeMutablePointer<Float>, count: Int, isOpaque: Bool
    ) {
        for at in 0..<count &* 4 { target[at] = Float(source[at]) }
        guard !isOpaque else { return }
        for pixel in 0..<count {
            let at = pixel &* 4
            let alpha = target[at &+ 3] * (1 / 255)
            target[at] *= alpha
            target[at &+ 1] *= alpha
            target[at &+ 2] *= alpha
        }
    }

    /// Writes `count` pixels, limited to 0...255 and rounded to the nearest.
    static func store(
        _ source: UnsafeMutablePointer<Float>, _ target: UnsafeMutablePointer<UInt8>, count: Int, isOpaque: Bool
    ) {
        if !isOpaque {
            for pixel in 0..<count {
                let at = pixel &* 4
                let alpha = source[at &+ 3]
                // What rounds to no alpha has no colour.
                let factor = alpha < 0.5 ? 0 : 255 / alpha
                source[at] *= factor
                source[at &+ 1] *= factor
                source[at &+ 2] *= factor
            }
        }
        for at in 0..<count &* 4 { target[at] = byte(source[at]) }
    }

    /// The nearest byte. Adding 1.5 * 2^23 leaves no place for a fraction, and the whole number in the lowest bits.
    @inline(__always)
    static func byte(_ value: Float) -> UInt8 {
        let above = value > 0 ? value : 0
        let inside = above < 255 ? above : 255
        return UInt8(truncatingIfNeeded: (inside + 12_582_912).bitPattern)
    }
}
