extension Bitmap {
    /// The picture where a shape is, nothing elsewhere. O(pixels), most of it copying.
    func masked(by shape: RoundedRectangle) -> Bitmap {
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
                    // Nothing has no colour.
                    guard alpha == 0 else { continue }
                    (bytes[at], bytes[at &+ 1], bytes[at &+ 2]) = (0, 0, 0)
                }
            }
        }
        return derived(isOpaque: changed ? nil : isOpaque, pixels: result)
    }

    /// A colour over the picture wherever the first shape is and the second is not. O(pixels).
    func painted(_ color: PixelColor, between outside: RoundedRectangle, and inside: RoundedRectangle) -> Bitmap {
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

    /// Source over destination on one pixel, both with alpha not multiplied in (Porter and Duff, 1984), rounded to the nearest.
    private static func lay(
        _ color: PixelColor, _ alpha: UInt32, over bytes: UnsafeMutableBufferPointer<UInt8>, at: Int
    ) {
        let under = UInt32(bytes[at &+ 3])
        // All shares times 255.
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
