/// Exact arithmetic on 8-bit channels.
enum Rounding {
    /// Returns `value / 255`, rounded to the nearest. Exact for values up to 255 * 255.
    @inline(__always)
    static func by255(_ value: UInt32) -> UInt32 {
        let sum = value &+ 128
        return (sum &+ sum >> 8) >> 8
    }
}

/// The conversion of rows of pixels to floating-point numbers with premultiplied alpha, and back.
enum FloatRows {
    /// Converts `count` pixels to floating point, and premultiplies them unless they are opaque.
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

    /// Converts `count` pixels to bytes, clamped to 0...255 and rounded to the nearest.
    static func store(
        _ source: UnsafeMutablePointer<Float>, _ target: UnsafeMutablePointer<UInt8>, count: Int, isOpaque: Bool
    ) {
        if !isOpaque {
            for pixel in 0..<count {
                let at = pixel &* 4
                let alpha = source[at &+ 3]
                // A pixel whose alpha rounds to 0 has no colour.
                let factor = alpha < 0.5 ? 0 : 255 / alpha
                source[at] *= factor
                source[at &+ 1] *= factor
                source[at &+ 2] *= factor
            }
        }
        for at in 0..<count &* 4 { target[at] = byte(source[at]) }
    }

    /// Returns the nearest byte. Adding 1.5 * 2^23 rounds to an integer and leaves it in the lowest bits.
    @inline(__always)
    static func byte(_ value: Float) -> UInt8 {
        let above = value > 0 ? value : 0
        let inside = above < 255 ? above : 255
        return UInt8(truncatingIfNeeded: (inside + 12_582_912).bitPattern)
    }
}
