extension Bitmap {
    /// The picture on an opaque colour: each channel `(c * a + b * (255 - a)) / 255`, rounded to the nearest.
    package func flattened(on background: PixelColor) -> Bitmap {
        guard !isOpaque else { return self }
        let under = (UInt32(background.red), UInt32(background.green), UInt32(background.blue))
        let flat = PixelMemory.make(size) { output in
            pixels.withUnsafeBytes { input in
                for at in stride(from: 0, to: input.count, by: 4) {
                    let alpha = UInt32(input[at &+ 3])
                    output[at] = UInt8(
                        truncatingIfNeeded: Rounding.by255(UInt32(input[at]) &* alpha &+ under.0 &* (255 &- alpha)))
                    output[at &+ 1] = UInt8(
                        truncatingIfNeeded: Rounding.by255(UInt32(input[at &+ 1]) &* alpha &+ under.1 &* (255 &- alpha))
                    )
                    output[at &+ 2] = UInt8(
                        truncatingIfNeeded: Rounding.by255(UInt32(input[at &+ 2]) &* alpha &+ under.2 &* (255 &- alpha))
                    )
                    output[at &+ 3] = 255
                }
            }
        }
        return Bitmap(size: size, pixels: flat, isOpaque: true, provenance: provenance)
    }
}
