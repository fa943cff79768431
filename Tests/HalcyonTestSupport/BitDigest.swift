/// A digest of a sequence of numbers by their bits (FNV-1a, 64 bits): the same on every machine.
public struct BitDigest: Sendable, Equatable {
    private var hash: UInt64 = 0xCBF2_9CE4_8422_2325

    /// The digest of no number.
    public init() {}

    /// Takes in a number of 32 bits, least significant byte first.
    public mutating func add(_ value: UInt32) {
        for byte in 0..<4 { hash = (hash ^ UInt64(value >> (8 * UInt32(byte)) & 0xFF)) &* 0x100_0000_01B3 }
    }

    /// Takes in the bits of a number.
    public mutating func add(_ value: Float) { add(value.bitPattern) }

    /// The digest so far, as 16 hexadecimal digits.
    public var text: String {
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
