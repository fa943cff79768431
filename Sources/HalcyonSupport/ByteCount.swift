/// A number of bytes in its written form: `512`, `64MB`, `1.5 GiB`.
package struct ByteCount: Sendable, Equatable {
    /// A unit of bytes. `kB`, `MB`, `GB` and `TB` are powers of 1000; `KiB`, `MiB`, `GiB` and `TiB` are powers of
    /// 1024.
    package enum Unit: String, Sendable, CaseIterable {
        case byte = "B"
        case kilobyte = "kB"
        case megabyte = "MB"
        case gigabyte = "GB"
        case terabyte = "TB"
        case kibibyte = "KiB"
        case mebibyte = "MiB"
        case gibibyte = "GiB"
        case tebibyte = "TiB"

        /// Finds the unit of this name; case is ignored.
        package init?(name: some StringProtocol) {
            let lowercased = name.lowercased()
            guard let unit = Unit.allCases.first(where: { $0.rawValue.lowercased() == lowercased }) else { return nil }
            self = unit
        }

        /// The number of bytes in one unit.
        package var bytes: Int {
            switch self {
            case .byte: 1
            case .kilobyte: 1_000
            case .megabyte: 1_000_000
            case .gigabyte: 1_000_000_000
            case .terabyte: 1_000_000_000_000
            case .kibibyte: 1 << 10
            case .mebibyte: 1 << 20
            case .gibibyte: 1 << 30
            case .tebibyte: 1 << 40
            }
        }
    }

    /// The bytes.
    package let value: UInt64

    /// Reads an argument; `nil` if it is not a number with an optional unit, or if it does not fit 64 bits.
    package init?(argument: String) {
        let (number, name) = ByteCount.parts(of: argument[...])
        guard let number = Double(number), let unit = name.isEmpty ? .byte : Unit(name: name) else { return nil }
        let bytes = (number * Double(unit.bytes)).rounded()
        guard bytes < 0x1p64 else { return nil }
        value = UInt64(bytes)
    }

    /// Splits a written amount into its digits with the decimal point and the name of its unit. Either part may be
    /// empty.
    package static func parts(of amount: Substring) -> (number: Substring, unit: Substring) {
        let number = amount.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        return (number, amount.dropFirst(number.count).drop { $0 == " " })
    }
}
