/// Blends a picture with a background colour.
public struct BlendImageProcessor: BitmapProcessor {
    /// The blend mode.
    public let blendMode: BlendMode
    /// The factor of the picture's alpha, 0 to 1; by default 1.
    public let alpha: Double
    /// The colour behind the picture; by default transparent, which only applies ``alpha``.
    public let backgroundColor: PixelColor

    /// Creates a processor that blends with a background, by default a transparent one.
    public init(blendMode: BlendMode, alpha: Double = 1, backgroundColor: PixelColor = .clear) {
        (self.blendMode, self.alpha, self.backgroundColor) = (blendMode, alpha, backgroundColor)
    }

    public var identifier: String { "halcyon.blend(\(blendMode.rawValue),\(alpha),\(backgroundColor))" }

    public func process(_ picture: Bitmap) throws -> Bitmap {
        guard (0...1).contains(alpha) else {
            throw ImageError.invalidParameter("An alpha of \(alpha) is none; 0 to 1 are")
        }
        return picture.blended(blendMode, on: backgroundColor, strength: alpha)
    }
}

/// The formula that mixes each channel of a picture with that of the background.
///
/// These are the separable blend modes of W3C, Compositing and Blending Level 1, section 9.1.
public enum BlendMode: String, Sendable, Hashable, CaseIterable {
    /// A mode of CSS with this name.
    case normal, multiply, screen, overlay, darken, lighten, colorDodge, colorBurn, hardLight, softLight, difference
    /// As `difference`, with less contrast.
    case exclusion

    /// Returns the mixed channel. `behind` and `front` are 0 to 1.
    fileprivate func mix(_ behind: Double, _ front: Double) -> Double {
        switch self {
        case .normal: return front
        case .multiply: return behind * front
        case .screen: return behind + front - behind * front
        case .overlay: return BlendMode.hardLight.mix(front, behind)
        case .darken: return min(behind, front)
        case .lighten: return max(behind, front)
        case .colorDodge: return behind == 0 ? 0 : front == 1 ? 1 : min(1, behind / (1 - front))
        case .colorBurn: return behind == 1 ? 1 : front == 0 ? 0 : 1 - min(1, (1 - behind) / front)
        case .hardLight:
            return front <= 0.5
                ? behind * 2 * front : BlendMode.screen.mix(behind, 2 * front - 1)
        case .softLight:
            guard front > 0.5 else { return behind - (1 - 2 * front) * behind * (1 - behind) }
            let lighter = behind <= 0.25 ? ((16 * behind - 12) * behind + 4) * behind : behind.squareRoot()
            return behind + (2 * front - 1) * (lighter - behind)
        case .difference: return abs(behind - front)
        case .exclusion: return behind + front - 2 * behind * front
        }
    }
}

// MARK: - Inside

extension Bitmap {
    /// Returns the picture, with its alpha multiplied by `strength`, blended with one background colour. O(pixels).
    ///
    /// Each channel is `(1 - ab) * as * Cs + ab * as * B(Cb, Cs) + (1 - as) * ab * Cb`, divided by the alpha `as + ab * (1 - as)`
    /// (W3C, Compositing and Blending Level 1, section 10). `B` is calculated once for each of the 256 values of a channel.
    func blended(_ mode: BlendMode, on background: PixelColor, strength: Double) -> Bitmap {
        let behind = SIMD4<Float>(
            Float(background.red), Float(background.green), Float(background.blue), Float(background.alpha) / 255)
        // For each value of a channel of the picture: its blend with this background, weighed by the background's alpha.
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

    /// Returns the picture on an opaque background. Each channel is `(c * a + b * (255 - a)) / 255`, rounded to the nearest.
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
