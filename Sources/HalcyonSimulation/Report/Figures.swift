import Foundation

extension Double {
    /// With this many decimals.
    public func decimals(_ count: Int) -> String { String(format: "%.\(count)f", self) }
    /// A share as a percentage with two decimals.
    public var percent: String { (self * 100).decimals(2) + " %" }
}

extension Int {
    /// With a comma between thousands.
    public var grouped: String {
        var digits = String(magnitude)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        return (self < 0 ? "-" : "") + ([digits] + groups).joined(separator: ",")
    }

    /// With what is counted, in the singular where there is one: `1 request`, `2,000 requests`.
    ///
    /// - Parameter noun: the singular of a noun whose plural ends in -s.
    public func counted(_ noun: String) -> String { "\(grouped) \(noun)\(self == 1 ? "" : "s")" }

    /// As a number of bytes with a unit of powers of 1000.
    public var bytesForPeople: String {
        let units = ["B", "KB", "MB", "GB", "TB", "PB"]
        var (value, unit) = (Double(self), 0)
        while value >= 999.95, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        return unit == 0 ? "\(self) B" : "\(value.decimals(1)) \(units[unit])"
    }
}
