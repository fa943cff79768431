/// Exact arithmetic on 8-bit channels.
enum Rounding {
    /// `value / 255`, rounded to the nearest, for values up to 255 * 255; exact.
    @inline(__always)
    static func by255(_ value: UInt32) -> UInt32 {
        let sum = value &+ 128
        return (sum &+ sum >> 8) >> 8
    }
}
