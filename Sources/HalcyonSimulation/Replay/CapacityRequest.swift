import HalcyonSupport
import HalcyonTrace

/// A capacity as requested: `1%`, `64MB` or `1000`.
public enum CapacityRequest: Sendable, Equatable, CustomStringConvertible {
    /// A share of the distinct bytes or objects of the trace, 0…1.
    case share(Double, text: String)
    /// A number of bytes.
    case bytes(Int, text: String)
    /// A number in the unit of sizes: bytes if the trace has sizes, otherwise objects.
    case number(Int)

    /// Reads a share (`0.5%`), a size with a unit (`64MB`, `1GiB`) or a bare whole number.
    ///
    /// - Throws: ``ReplayError`` if `text` is none of these, or more than ``largest``.
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
            self = .number(try CapacityRequest.checked(UInt64(number), text))
        } else if let bytes = ByteCount(argument: text) {
            self = .bytes(try CapacityRequest.checked(bytes.value, text), text: text)
        } else {
            throw ReplayError.usage(
                "'\(text)' is not a capacity: write a share (1%), a size with a unit (64MB) or a whole number (1000).")
        }
    }

    /// The largest accepted capacity, 2⁵³: more than any trace holds, and exact as a floating-point number.
    public static let largest = 1 << 53

    private static func checked(_ amount: UInt64, _ text: String) throws(ReplayError) -> Int {
        guard amount <= largest else {
            throw ReplayError.usage("The capacity \(text) is too large: the most is \(largest) (9 PB).")
        }
        return Int(amount)
    }

    /// Reads several capacities, separated by commas.
    public static func list(parsing text: String) throws(ReplayError) -> [CapacityRequest] {
        var list: [CapacityRequest] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            list.append(try CapacityRequest(parsing: part.trimmingSpaces))
        }
        return list
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
    /// A share is rounded down, to at least 1.
    ///
    /// - Parameter distinct: the total size of all distinct objects; `nil` if it is not known, in a stream.
    /// - Throws: ``ReplayError`` for a capacity in bytes if objects are counted, and for a share if `distinct` is
    ///   nil.
    public func resolved(unit: SizeUnit, distinct: Int?) throws(ReplayError) -> Int {
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
            return max(1, Int(share * Double(distinct)))
        }
    }
}
