import Foundation

/// The conversion of 8-bit pixels from a profile to sRGB (IEC 61966-2-1), relative colorimetric, out-of-gamut colours clipped.
///
/// In the tests every pixel is within one level of lcms 2 (Pillow's ImageCms).
package struct ColorConversion {
    /// Whether the result never differs from the input by more than a quarter of a level.
    package let isIdentity: Bool
    /// The linear light of each value of each channel.
    private let lights: [[Float]]
    /// The rows of the matrix from the profile's linear light to that of sRGB; empty for grey.
    private let rows: [SIMD3<Float>]

    /// The matrix from XYZ under D50 to linear sRGB: the inverse of the colorants of ICC's sRGB profile.
    private static let fromXYZ: [SIMD3<Double>] = [
        SIMD3(3.134_112_03, -1.617_392_46, -0.490_633_38), SIMD3(-0.978_787_16, 1.916_279_37, 0.033_454_00),
        SIMD3(0.071_983_04, -0.228_985_85, 1.405_387_05),
    ]

    package init(_ profile: ColorProfile) {
        lights = profile.curves.map { curve in (0..<256).map { Float(curve.light(Double($0) / 255)) } }
        rows =
            profile.space == .grey
            ? []
            : Self.fromXYZ.map { row in
                SIMD3((0..<3).map { Float((row * profile.matrix[$0]).sum()) })
            }
        var isIdentity = true
        for (channel, lights) in lights.enumerated() {
            for value in 0..<256 where abs(Self.encoded(Double(lights[value])) * 255 - Double(value)) > 0.25 {
                isIdentity = false
            }
            guard !rows.isEmpty else { continue }
            for row in 0..<3 where abs(rows[row][channel] - (row == channel ? 1 : 0)) > 0.001 { isIdentity = false }
        }
        self.isIdentity = isIdentity
    }

    /// Returns the sRGB value of linear light, both 0 to 1.
    private static func encoded(_ light: Double) -> Double {
        light <= 0.003_130_8 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
    }

    /// The nearest sRGB byte of linear light in steps of 1/16384. A step is a fifth of a level where the curve is steepest.
    private static let bytes: [UInt8] = (0...16_384).map { UInt8((encoded(Double($0) / 16_384) * 255).rounded()) }

    /// Returns the converted pixels. Alpha does not change. O(pixels).
    package func applied(to pixels: [UInt8]) -> [UInt8] {
        guard !rows.isEmpty else {
            let table = lights[0].map { Self.byte($0) }
            return mapped(pixels) { value in SIMD3(table[Int(value.x)], table[Int(value.y)], table[Int(value.z)]) }
        }
        let (red, green, blue) = (lights[0], lights[1], lights[2])
        let (first, second, third) = (rows[0], rows[1], rows[2])
        return Self.bytes.withUnsafeBufferPointer { bytes in
            mapped(pixels) { value in
                let light = SIMD3(red[Int(value.x)], green[Int(value.y)], blue[Int(value.z)])
                return SIMD3(
                    bytes[Self.step((first * light).sum())], bytes[Self.step((second * light).sum())],
                    bytes[Self.step((third * light).sum())])
            }
        }
    }

    private static func byte(_ light: Float) -> UInt8 { bytes[step(light)] }

    private static func step(_ light: Float) -> Int { Int(min(max(light, 0), 1) * 16_384 + 0.5) }

    private func mapped(_ pixels: [UInt8], _ change: (SIMD3<UInt8>) -> SIMD3<UInt8>) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: pixels.count) { output, count in
            pixels.withUnsafeBufferPointer { input in
                // Neighbouring pixels are often equal, so the last conversion is reused.
                var (last, made) = (SIMD3<UInt8>.zero, change(.zero))
                for at in stride(from: 0, to: input.count, by: 4) {
                    let value = SIMD3(input[at], input[at &+ 1], input[at &+ 2])
                    if value != last { (last, made) = (value, change(value)) }
                    output[at] = made.x
                    output[at &+ 1] = made.y
                    output[at &+ 2] = made.z
                    output[at &+ 3] = input[at &+ 3]
                }
            }
            count = pixels.count
        }
    }
}
