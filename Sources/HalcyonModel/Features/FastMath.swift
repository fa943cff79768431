/// Logarithms and exponentials to three digits, in a few instructions and the same on every machine.
///
/// A decision needs some thousand of them, and none needs more digits. They are made from the bits of the number and a
/// polynomial of its mantissa, so they depend on no mathematical library.
enum FastMath {
    /// The binary logarithm of a positive number, within 0.01.
    @inline(__always)
    static func log2(_ value: Float) -> Float {
        let bits = value.bitPattern
        let exponent = Float(Int32(truncatingIfNeeded: bits >> 23) &- 128)
        let mantissa = Float(bitPattern: bits & 0x7F_FFFF | 0x3F80_0000)
        return exponent + ((2 - mantissa * 0.333_333_33) * mantissa - 0.666_666_67)
    }

    /// Two to the power of `value`, within 0.3 %; 0 below 2⁻¹⁰⁰ and for what is not a number, 2¹⁰⁰ at most.
    @inline(__always)
    static func exp2(_ value: Float) -> Float {
        guard value >= -100 else { return 0 }
        let shifted = min(value, 100) + 127
        let whole = UInt32(shifted)
        let rest = shifted - Float(whole)
        return Float(bitPattern: whole << 23) * (1 + rest * (0.656_664_5 + rest * 0.343_335_5))
    }

    /// 1 / (1 + e^−value).
    @inline(__always)
    static func sigmoid(_ value: Float) -> Float { 1 / (1 + exp2(-1.442_695 * value)) }

    /// The binary logarithm of `sigmoid(value)`.
    @inline(__always)
    static func log2Sigmoid(_ value: Float) -> Float { -log2(1 + exp2(-1.442_695 * value)) }

    /// A count or a distance as a byte: eight steps an octave, 0 for 0.
    @inline(__always)
    static func octaves(_ value: UInt32) -> UInt8 {
        UInt8(truncatingIfNeeded: Int32(min(log2(Float(value) + 1) * 8 + 0.5, 255)))
    }

    /// A decayed count as a byte: sixteen steps an octave, 0 for 0.
    @inline(__always)
    static func fineOctaves(_ value: Float) -> UInt8 {
        UInt8(truncatingIfNeeded: Int32(min(log2(value + 1) * 16 + 0.5, 255)))
    }

    /// A share from 0 to 1 as a byte.
    @inline(__always)
    static func share(_ value: Float) -> UInt8 { UInt8(truncatingIfNeeded: Int32(max(min(value, 1), 0) * 255)) }
}
