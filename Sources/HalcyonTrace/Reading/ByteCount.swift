/// A number of bytes as people write it: `512`, `64MB`, `1.5 GiB`.
///
/// `kB`/`KB`, `MB`, `GB` and `TB` are powers of 1000, `KiB`, `MiB`, `GiB` and `TiB` of 1024; case is ignored.
public struct ByteCount: Sendable, Equatable {
    /// The bytes.
    public let value: UInt64

    /// Reads an argument; `nil` if it is not a number with an optional unit, or does not fit 64 bits.
    public init?(argument: String) {
        let text = argument.lowercased()
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard let number = Double(digits) else { return nil }
        var unit = text.dropFirst(digits.count)
        if unit.first == " " { unit = unit.dropFirst() }
        let factor: Double
        switch unit {
        case "", "b": factor = 1
        case "kb": factor = 1e3
        case "mb": factor = 1e6
        case "gb": factor = 1e9
        case "tb": factor = 1e12
        case "kib": factor = 1_024
        case "mib": factor = 1_048_576
        case "gib": factor = 1_073_741_824
        case "tib": factor = 1_099_511_627_776
        default: return nil
        }
        let bytes = (number * factor).rounded()
        guard bytes < 18_446_744_073_709_551_616 else { return nil }
        value = UInt64(bytes)
    }
}
