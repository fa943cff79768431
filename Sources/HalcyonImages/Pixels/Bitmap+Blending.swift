extension Bitmap {
    /// The picture, its alpha times `strength`, blended on one colour (W3C, Compositing and Blending Level 1, section 10):
    /// `(1 - ab) * as * Cs + ab * as * B(Cb, Cs) + (1 - as) * ab * Cb`, divided by the alpha `as + ab * (1 - as)`.
    ///
    /// What 256 values blend to is worked out once. O(pixels).
    func blended(_ mode: BlendMode, on background: PixelColor, strength: Double) -> Bitmap {
        let behind = SIMD4<Float>(
            Float(background.red), Float(background.green), Float(background.blue), Float(background.alpha) / 255)
        // Lane by lane what the front's values give on this background: already with the background's alpha.
        let table = (0..<256).map { value in
            let front = Double(value) / 255
            var mixed = SIMD4<Float>.zero
            for (lane, channel) in [background.red, background.green, background.blue].enumerated() {
                let blend = mode.mix(Double(channel) / 255, front) * 255
                mixed[lane] = Float(value) * (1 - behind.w) + Float(blend) * behind.w
            }
            return mixed
        }
        let blended = PixelMemory.make(size) { output in
            pixels.withUnsafeBytes { input in
                table.withUnsafeBufferPointer { table in
                    for at in stride(from: 0, to: input.count, by: 4) {
                        let front = Float(input[at &+ 3]) * Float(strength / 255)
                        let rest = (1 - front) * behind.w
                        let alpha = front + rest
                        let (over, under) = alpha > 0 ? (front / alpha, rest / alpha) : (0, 0)
                        output[at] = FloatRows.byte(table[Int(input[at])].x * over + behind.x * under)
                        output[at &+ 1] = FloatRows.byte(table[Int(input[at &+ 1])].y * over + behind.y * under)
                        output[at &+ 2] = FloatRows.byte(table[Int(input[at &+ 2])].z * over + behind.z * under)
                        output[at &+ 3] = FloatRows.byte(alpha * 255)
                    }
                }
            }
        }
        return derived(isOpaque: background.alpha == 255 ? true : nil, pixels: blended)
    }
}
