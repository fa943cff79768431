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
}
