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

/// A length of time in its written form: `300s`, `5min`, `12h`, `7d`.
package struct TimeSpan: Sendable, Equatable {
    /// The length in microseconds.
    package let microseconds: Int64

    /// Reads a number with the unit `ms`, `s`, `min`, `h`, `d` or `w`; 0 needs no unit.
    ///
    /// The result is `nil` for any other text, for a negative number and for more than 1,000 years.
    package init?(argument: String) {
        if argument == "0" {
            microseconds = 0
            return
        }
        let units: [(String, Double)] = [
            ("ms", 1e3), ("min", 60e6), ("s", 1e6), ("h", 3_600e6), ("d", 86_400e6), ("w", 604_800e6),
        ]
        guard let (unit, factor) = units.first(where: { argument.hasSuffix($0.0) }),
            let number = Double(argument.dropLast(unit.count)), number >= 0, number * factor < 3.2e16
        else { return nil }
        microseconds = Int64(number * factor)
    }

    /// Creates a length.
    package init(microseconds: Int64) { self.microseconds = microseconds }
}

extension TimeSpan: CustomStringConvertible {
    /// The length in the largest unit in which it is a whole number: `500 ms`, `2 s`, `1 d`; `10 µs` below a
    /// millisecond.
    package var description: String {
        let units: [(String, Int64)] = [
            ("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("ms", 1_000),
        ]
        for (unit, length) in units where microseconds != 0 && microseconds % length == 0 {
            return "\(microseconds / length) \(unit)"
        }
        return microseconds == 0 ? "0" : "\(microseconds) µs"
    }
}

extension StringProtocol {
    /// The text without spaces at its ends.
    package var trimmingSpaces: String {
        let start = drop { $0 == " " }
        guard let last = start.lastIndex(where: { $0 != " " }) else { return "" }
        return String(start[...last])
    }
}
