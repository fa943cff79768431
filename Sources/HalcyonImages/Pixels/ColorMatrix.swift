import Foundation

/// A linear change of colours: each new channel a sum of the three old ones and a number.
struct ColorMatrix {
    /// Columns: what red, green and blue add to red, green and blue; the fourth lane keeps alpha.
    let red: SIMD4<Float>
    let green: SIMD4<Float>
    let blue: SIMD4<Float>
    let offset: SIMD4<Float>

    /// See ``ColorControlsImageProcessor``; in channels from 0 to 255.
    init(brightness: Double, contrast: Double, saturation: Double, exposure: Double) {
        let gain = exp2(exposure)
        let own = saturation * contrast * gain
        let shared = (1 - saturation) * contrast * gain
        func column(_ luma: Double, _ lane: Int) -> SIMD4<Float> {
            var column = SIMD4<Float>(repeating: Float(shared * luma))
            column[lane] += Float(own)
            column[3] = 0
            return column
        }
        (red, green, blue) = (column(0.2126, 0), column(0.7152, 1), column(0.0722, 2))
        let constant = Float(255 * (brightness * contrast - 0.5 * contrast + 0.5) * gain)
        offset = SIMD4(constant, constant, constant, 0)
    }
}

extension Bitmap {
    /// Every pixel's colour through a matrix, limited and rounded. O(pixels).
    func mapped(by matrix: ColorMatrix) -> Bitmap {
        let mapped = PixelMemory.make(size) { output in
            pixels.withUnsafeBytes { input in
                for at in stride(from: 0, to: input.count, by: 4) {
                    let color =
                        matrix.offset + matrix.red * Float(input[at]) + matrix.green * Float(input[at &+ 1])
                        + matrix.blue * Float(input[at &+ 2])
                    output[at] = FloatRows.byte(color.x)
                    output[at &+ 1] = FloatRows.byte(color.y)
                    output[at &+ 2] = FloatRows.byte(color.z)
                    output[at &+ 3] = input[at &+ 3]
                }
            }
        }
        return derived(isOpaque: isOpaque, pixels: mapped)
    }
}
