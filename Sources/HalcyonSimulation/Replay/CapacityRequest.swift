import HalcyonSupport
import HalcyonTrace

/// A capacity as requested: `1%`, `64MB`, `1000` or `64k`.
///
/// A number without `B` is in the unit of sizes, whatever its suffix: `1k` is 1,000 objects, or 1,000 bytes if the
/// trace has sizes. `1KB` is 1,000 bytes and `1KiB` 1,024 bytes.
public enum CapacityRequest: Sendable, Equatable, CustomStringConvertible {
    /// A share of the distinct bytes or objects of the trace, 0…1.
    case share(Double, text: String)
    /// A number of bytes.
    case bytes(Int, text: String)
    /// A number in the unit of sizes: bytes if the trace has sizes, otherwise objects.
    case number(Int)

    /// Reads a share (`0.5%`), a size with a unit (`64MB`, `1GiB`) or a whole number.
    ///
    /// A number is plain (`1000`), has a power of 1000 (`1k`, `1.5M`, `1G`, `1T`) or an exponent (`1e3`). The case of
    /// suffixes and units is ignored.
    ///
    /// - Throws: ``ReplayError`` if `text` is none of these, less than 1 object or byte, or more than `largest`. A
    ///   bare fraction (`0.1`) is refused, because other simulators read it as a share, and so is a number with
    ///   separators (`1,000`).
    public init(parsing text: String) throws(ReplayError) {
        if text.last == "%" {
            guard let percent = Double(text.dropLast()), percent > 0, percent <= 100 else {
                throw ReplayError.usage("'\(text)' is not a share: write a percentage above 0% and at most 100%.")
            }
            self = .share(percent / 100, text: text)
        } else if let number = Int(text) {
            guard number >= 0 else {
                throw ReplayError.usage("A capacity cannot be negative, and '\(text)' is.")
            }
            guard number > 0 else { throw CapacityRequest.nothing(text) }
            self = .number(try CapacityRequest.checked(UInt64(number), text))
        } else if let number = try CapacityRequest.scaled(text, of: "capacity", unit: "objects or bytes") {
            guard number > 0 else { throw CapacityRequest.nothing(text) }
            self = .number(try CapacityRequest.checked(number, text))
        } else if let number = Double(text), number.isFinite, text.contains(".") {
            throw CapacityRequest.fraction(text, number)
        } else if let bytes = ByteCount(argument: text) {
            guard bytes.value > 0 else {
                throw ReplayError.usage("The capacity \(text) is less than one byte, so the cache holds nothing.")
            }
            self = .bytes(try CapacityRequest.checked(bytes.value, text), text: text)
        } else if CapacityRequest.hasSeparators(text) {
            throw ReplayError.usage(
                "'\(text)' is not a capacity: write a number without separators (\(text.filter(\.isNumber))), or with a "
                    + "power of 1000 (64k).")
        } else {
            throw ReplayError.usage(
                "'\(text)' is not a capacity: write a share (1%), a size with a unit (64MB) or a whole number (1000).")
        }
    }

    private static func nothing(_ text: String) -> ReplayError {
        .usage(
            "A cache of capacity \(text) holds nothing: write a share (10%), a size with a unit (64MB) or a whole "
                + "number from 1 (1000).")
    }

    /// Returns a whole number with a power of 1000 (`1.5k`) or an exponent (`1e3`), in exact arithmetic and at most
    /// `UInt64.max`; `nil` for another form.
    ///
    /// - Throws: ``ReplayError`` for a fraction of a `unit` of what the number is of.
    static func scaled(_ text: String, of what: String, unit: String) throws(ReplayError) -> UInt64? {
        let number = text.prefix { $0.isASCII && $0.isNumber || $0 == "." }
        let suffix = text.dropFirst(number.count).lowercased()
        let exponent: Int
        if let place = ["k", "m", "g", "t"].firstIndex(of: suffix) {
            exponent = 3 * (place + 1)
        } else if suffix.first == "e", let power = Int(suffix.dropFirst()), (0...99).contains(power) {
            exponent = power
        } else {
            return nil
        }
        let parts = number.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, let whole = parts.first, number.contains(where: \.isNumber) else { return nil }
        var fraction = parts.count == 2 ? parts[1] : ""
        while fraction.last == "0" { fraction.removeLast() }
        guard fraction.count <= exponent else {
            throw .usage("The \(what) \(text) is not a whole number of \(unit): write a whole number (1000).")
        }
        var value: UInt64 = 0
        for digit in (whole + fraction).utf8.map({ UInt64($0 - UInt8(ascii: "0")) })
            + Array(repeating: 0, count: exponent - fraction.count)
        {
            let (product, overflows) = value.multipliedReportingOverflow(by: 10)
            let (sum, exceeds) = product.addingReportingOverflow(digit)
            if overflows || exceeds { return .max }
            value = sum
        }
        return value
    }

    /// Whether the text is a number with separators of thousands, such as `1,000`, `1_000` or `1 000`.
    private static func hasSeparators(_ text: String) -> Bool {
        let groups = text.split(whereSeparator: { ",_' ".contains($0) })
        return groups.count > 1 && groups[0].count <= 3
            && groups.allSatisfy { $0.allSatisfy { $0.isASCII && $0.isNumber } }
            && groups.dropFirst().allSatisfy { $0.count == 3 }
    }

    /// The error for a bare fraction, which offers the share that other simulators take it for.
    private static func fraction(_ text: String, _ number: Double) -> ReplayError {
        if number > 0, number <= 1 {
            return .usage(
                "'\(text)' is not a capacity: write \(percentage(number * 100)) for this share of all distinct objects, or a "
                    + "size with a unit (64MB) or a whole number (1000).")
        }
        return .usage(
            "'\(text)' is not a capacity: a bare number is a whole number of objects or bytes (1000); write a share (1%) "
                + "or a size with a unit (64MB) otherwise.")
    }

    /// The largest accepted capacity, 2⁵³: more than any trace holds, and exact as a floating-point number.
    package static let largest = 1 << 53

    private static func checked(_ amount: UInt64, _ text: String) throws(ReplayError) -> Int {
        guard amount <= largest else {
            throw ReplayError.usage("The capacity \(text) is too large: the most is \(largest) (9 PB).")
        }
        return Int(amount)
    }

    /// Reads several capacities, separated by commas. A range such as `0.1%..20%:10` stands for 10 capacities from 0.1
    /// to 20 %, each larger than the previous one by the same factor, rounded to three digits.
    ///
    /// - Throws: ``ReplayError`` as ``init(parsing:)``, and for a number with a separator of thousands (`1,000`).
    ///   Also for a range that is not `from..to:count` with ends of one kind and a count from 2 to 1,000.
    package static func list(parsing text: String) throws(ReplayError) -> [CapacityRequest] {
        var list: [CapacityRequest] = []
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(\.trimmingSpaces)
        for (part, next) in zip(parts, parts.dropFirst()) where next.first == "0" && hasSeparators("\(part),\(next)") {
            throw .usage(
                "'\(part),\(next)' would be the capacities \(part) and \(next), because a comma separates capacities: write a "
                    + "number without separators (\(part)\(next)), or with a power of 1000 (64k).")
        }
        for part in parts {
            if part.contains("..") {
                list += try range(parsing: part)
            } else {
                list.append(try CapacityRequest(parsing: part))
            }
        }
        return list
    }

    private static func range(parsing text: String) throws(ReplayError) -> [CapacityRequest] {
        let malformed = ReplayError.usage(
            "'\(text)' is not a range of capacities: write from..to:count with two shares, two sizes or two numbers and a "
                + "count from 2 to 1000 (0.1%..20%:10).")
        guard let dots = text.firstRange(of: ".."), let colon = text.lastIndex(of: ":"), dots.upperBound <= colon,
            let count = Int(text[text.index(after: colon)...]), (2...1_000).contains(count)
        else { throw malformed }
        let from = try CapacityRequest(parsing: text[..<dots.lowerBound].trimmingSpaces)
        let to = try CapacityRequest(parsing: text[dots.upperBound..<colon].trimmingSpaces)
        let ends: (Double, Double)
        switch (from, to) {
        case (.share(let low, _), .share(let high, _)): ends = (low, high)
        case (.bytes(let low, _), .bytes(let high, _)), (.number(let low), .number(let high)):
            ends = (Double(low), Double(high))
        default: throw malformed
        }
        guard ends.0 < ends.1 else { throw malformed }
        var list = [from]
        for step in 1..<count - 1 {
            let share = Double(step) / Double(count - 1)
            let value = ends.0 * PortableMath.pow(ends.1 / ends.0, share)
            let next: CapacityRequest =
                switch from {
                case .share: try CapacityRequest(parsing: percentage(value * 100))
                case .bytes: .bytes(Int(threeDigits(value).rounded()), text: "\(Int(threeDigits(value).rounded()))B")
                case .number: .number(Int(threeDigits(value).rounded()))
                }
            // Small whole numbers may round to the same capacity.
            if list.last != next { list.append(next) }
        }
        if list.last != to { list.append(to) }
        return list
    }

    /// Returns a percentage in digits, rounded to three significant ones.
    private static func percentage(_ percent: Double) -> String {
        let rounded = threeDigits(percent)
        let text = rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
        return text + "%"
    }

    /// Returns a positive number rounded to three significant digits.
    private static func threeDigits(_ value: Double) -> Double {
        let digits = 2 - PortableMath.log10(value).rounded(.down)
        let scale = PortableMath.pow(10, abs(digits)).rounded()
        return digits >= 0 ? (value * scale).rounded() / scale : (value / scale).rounded() * scale
    }

    /// The capacity as requested.
    public var description: String {
        switch self {
        case .share(_, let text), .bytes(_, let text): text
        case .number(let number): "\(number)"
        }
    }

    /// Returns the capacity in the unit of sizes.
    ///
    /// A share is rounded down, to at least 1, in exact arithmetic: 29 % of 100 is 29.
    ///
    /// - Parameter distinct: the total size of all distinct objects; `nil` if it is not known, in a stream.
    /// - Throws: ``ReplayError`` for a capacity in bytes if objects are counted, and for a share if `distinct` is
    ///   nil.
    package func resolved(unit: SizeUnit, distinct: Int?) throws(ReplayError) -> Int {
        switch self {
        case .number(let number): return number
        case .bytes(let bytes, let text):
            guard unit == .bytes else {
                throw ReplayError.usage(
                    "The capacity \(text) is in bytes, but in this trace every object counts 1: "
                        + "write a share (1%) or a number of objects.")
            }
            return bytes
        case .share(let share, let text):
            guard let distinct else {
                throw ReplayError.usage(
                    "The capacity \(text) is a share of the distinct objects, which are not known in advance in a stream: "
                        + "write a number or a size.")
            }
            return max(1, Self.exact(text, of: distinct) ?? Int(share * Double(distinct)))
        }
    }

    /// Returns a percentage of a whole number, rounded down, in exact arithmetic. The result is `nil` for a text
    /// that is not a plain decimal number of at most 15 digits with a percent sign.
    private static func exact(_ text: String, of distinct: Int) -> Int? {
        let number = text.utf8.dropLast()
        let digits = number.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let isPlain =
            digits.count == number.count || digits.count == number.count - 1 && number.contains(UInt8(ascii: "."))
        guard text.utf8.last == UInt8(ascii: "%"), isPlain, digits.count <= 15 else { return nil }
        let decimals = number.firstIndex(of: UInt8(ascii: ".")).map { number[$0...].count - 1 } ?? 0
        let numerator = digits.reduce(UInt64(0)) { $0 * 10 + UInt64($1 - UInt8(ascii: "0")) }
        let denominator = (0..<decimals).reduce(UInt64(100)) { product, _ in product * 10 }
        let product = UInt64(distinct).multipliedFullWidth(by: numerator)
        guard product.high < denominator else { return nil }
        return Int(clamping: denominator.dividingFullWidth(product).quotient)
    }

    /// Returns this capacity divided by a whole number, at least 1 byte or object.
    package func divided(by divisor: Int) -> CapacityRequest {
        switch self {
        case .share(let share, let text): .share(share / Double(divisor), text: "\(text)/\(divisor)")
        case .bytes(let bytes, let text): .bytes(max(1, bytes / divisor), text: "\(text)/\(divisor)")
        case .number(let number): .number(max(1, number / divisor))
        }
    }
}
