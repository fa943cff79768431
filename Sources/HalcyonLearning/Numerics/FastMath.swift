/// Logarithms and exponentials to three digits, in a few instructions and with the same bits on every machine.
///
/// A decision needs some thousand of them, and none needs more digits. They are computed from the bits of the number and a
/// polynomial of the rest, so they depend on no mathematical library. Conversions also use bit patterns, because the
/// library's generic ones take ten times as long in a debug build.
@usableFromInline
package enum FastMath {
    /// Returns the binary logarithm of a positive number, within 0.01.
    @inlinable @inline(__always)
    package static func log2(_ value: Float) -> Float {
        let bits = value.bitPattern
        let exponent = float(small: bits >> 23) - 128
        let mantissa = Float(bitPattern: bits & 0x7F_FFFF | 0x3F80_0000)
        return exponent + ((2 - mantissa * 0.333_333_33) * mantissa - 0.666_666_67)
    }

    /// Returns two to the power of `value`, within 0.1 %; 0 below 2⁻¹⁰⁰ and for NaN, 2¹⁰⁰ at most.
    @inlinable @inline(__always)
    package static func exp2(_ value: Float) -> Float {
        guard value >= -100 else { return 0 }
        let bounded = value < 100 ? value : 100
        // Adding 1.5 · 2²³ leaves the nearest whole number in the low bits.
        let shifted = bounded + 12_582_912
        let rest = bounded - (shifted - 12_582_912)
        let power = 1 + rest * (0.693_147 + rest * (0.240_227 + rest * 0.055_504))
        return Float(bitPattern: power.bitPattern &+ (shifted.bitPattern << 23))
    }

    /// Returns ``exp2(_:)-(Float)`` of four numbers, with the same bits.
    @inlinable @inline(__always)
    package static func exp2(_ value: SIMD4<Float>) -> SIMD4<Float> {
        let bounded = value.replacing(with: 100, where: .!(value .< 100))
        let shifted = bounded + 12_582_912
        let rest = bounded - (shifted - 12_582_912)
        let power = 1 + rest * (0.693_147 + rest * (0.240_227 + rest * 0.055_504))
        let bits = unsafeBitCast(power, to: SIMD4<UInt32>.self) &+ unsafeBitCast(shifted, to: SIMD4<UInt32>.self) &<< 23
        return unsafeBitCast(bits, to: SIMD4<Float>.self).replacing(with: 0, where: .!(value .>= -100))
    }

    /// Returns a positive number divided by 2 `times` times; 0 below 2⁻¹²⁶.
    @inlinable @inline(__always)
    package static func halved(_ value: Float, times: UInt32) -> Float {
        let exponent = value.bitPattern >> 23
        return times < exponent ? Float(bitPattern: value.bitPattern &- times << 23) : 0
    }

    /// Returns 1 / (1 + e^−value).
    @inlinable @inline(__always)
    package static func sigmoid(_ value: Float) -> Float { 1 / (1 + exp2(-1.442_695 * value)) }

    /// Returns the binary logarithm of `sigmoid(value)`.
    @inlinable @inline(__always)
    package static func log2Sigmoid(_ value: Float) -> Float { -log2(1 + exp2(-1.442_695 * value)) }

    /// Returns the binary logarithm of ln(1 + e^value), within 0.02 up to ±400,000. This is log₂(−ln(1 − p)) with p =
    /// `sigmoid(value)`.
    @inlinable @inline(__always)
    package static func log2Softplus(_ value: Float) -> Float {
        let size = 1.442_695 * abs(value)
        let power = exp2(-size)
        let sum = size + log2(1 + power)
        // Below 0 it is a little more than p: −ln(1 − p) / p is 1 + p/2 + p²/3 …
        let chance = power / (1 + power)
        return value < 0 ? chance * (0.721_348 + chance * 0.442) - sum : log2(sum) - 0.528_766
    }

    /// Converts a whole number below 2²³.
    @inlinable @inline(__always)
    package static func float(small value: UInt32) -> Float { Float(bitPattern: value | 0x4B00_0000) - 8_388_608 }

    /// Converts any whole number, to 24 binary digits.
    @inlinable @inline(__always)
    package static func float(_ value: UInt32) -> Float {
        float(small: value >> 16) * 65_536 + float(small: value & 0xFFFF)
    }

    /// Returns the nearest byte.
    @inlinable @inline(__always)
    package static func byte(_ value: Float) -> UInt8 { value > 0 ? UInt8((value < 254.5 ? value : 254.5) + 0.5) : 0 }

    /// Returns the nearest byte as a number, without a branch.
    @inlinable @inline(__always)
    package static func nearestByte(_ value: Float) -> Float {
        let above = (value > 0 ? (value < 254.5 ? value : 254.5) : 0) + 0.5
        // Adding 2²³ rounds to the nearest whole number, which may be the one above.
        let nearest = (above + 8_388_608) - 8_388_608
        return nearest > above ? nearest - 1 : nearest
    }

    /// Returns a count or a distance as a byte: eight steps an octave, 0 for 0.
    @inlinable @inline(__always)
    package static func octaves(_ value: UInt32) -> UInt8 { byte(log2(float(value) + 1) * 8) }

    /// Returns a decayed count as a byte: sixteen steps an octave, 0 for 0.
    @inlinable @inline(__always)
    package static func fineOctaves(_ value: Float) -> UInt8 { byte(log2(value + 1) * 16) }
}
