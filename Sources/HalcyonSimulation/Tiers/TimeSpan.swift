/// A length of time as people write it: `300s`, `5min`, `12h`, `7d`.
public struct TimeSpan: Sendable, Equatable {
    /// The length in microseconds.
    public let microseconds: Int64

    /// Reads a number with a unit: `ms`, `s`, `min`, `h`, `d` or `w`; 0 needs none.
    ///
    /// - Throws: ``ReplayError`` for anything else, and for a length of more than 1,000 years.
    public init(parsing text: String) throws(ReplayError) {
        if text == "0" {
            microseconds = 0
            return
        }
        let units: [(String, Double)] = [
            ("ms", 1e3), ("min", 60e6), ("s", 1e6), ("h", 3_600e6), ("d", 86_400e6), ("w", 604_800e6),
        ]
        for (unit, factor) in units where text.hasSuffix(unit) {
            guard let number = Double(text.dropLast(unit.count)), number >= 0, number * factor < 3.2e16 else { break }
            microseconds = Int64(number * factor)
            return
        }
        throw ReplayError.usage("'\(text)' is not a length of time: write a number with ms, s, min, h, d or w (300s).")
    }
}
