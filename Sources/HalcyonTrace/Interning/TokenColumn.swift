/// One parsed column of names, before they are numbered.
///
/// Nearly all keys are numbers; those are kept as 64 bits and never touch their text again. A token is a number only if
/// its text is the shortest decimal form, so `7` and `007` stay different keys.
final class TokenColumn {
    /// What a token is.
    enum Kind {
        /// No name.
        static let none: UInt8 = 0
        /// The number itself.
        static let number: UInt8 = 1
        /// Text in the chunk: `offset << 32 | length`.
        static let text: UInt8 = 2
    }

    let bits: UnsafeMutablePointer<UInt64>
    let kinds: UnsafeMutablePointer<UInt8>

    init(capacity: Int) {
        bits = .allocate(capacity: capacity)
        kinds = .allocate(capacity: capacity)
    }

    deinit {
        bits.deallocate()
        kinds.deallocate()
    }

    @inline(__always)
    func setNumber(_ row: Int, _ value: UInt64) {
        bits[row] = value
        kinds[row] = Kind.number
    }

    @inline(__always)
    func setText(_ row: Int, offset: Int, length: Int) {
        bits[row] = UInt64(truncatingIfNeeded: offset) &<< 32 | UInt64(truncatingIfNeeded: length)
        kinds[row] = Kind.text
    }

    /// A hash of the name in a row, which depends on nothing but the name.
    func hash(_ row: Int, base: UnsafePointer<UInt8>) -> UInt64 {
        let word = bits[row]
        return kinds[row] == Kind.text ? hashBytes(base + Int(word >> 32), Int(word & 0xffff_ffff)) : hashNumber(word)
    }

    @inline(__always)
    func setNone(_ row: Int) { kinds[row] = Kind.none }
}
