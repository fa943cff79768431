/// What is wrong with a line or record.
struct RowProblem: Error, Sendable, Equatable {
    /// Counted from 0 in the chunk.
    var line: Int
    /// The byte in the line, counted from 1; `nil` where the whole line is meant.
    var column: Int?
    /// What was found and what is accepted.
    var message: String
}

extension RowProblem {
    /// A request whose time is before that of the request above it, both in microseconds.
    static func backwards(_ line: Int, column: Int?, _ time: Int64, _ last: Int64, _ unit: TimeUnit) -> RowProblem {
        RowProblem(
            line: line, column: column,
            message:
                "time \(unit.text(time)) is before \(unit.text(last)), the time of the request above it; times must "
                + "not decrease unless sorting is asked for (--sort)")
    }
}

extension TimeUnit {
    /// Microseconds written in this unit.
    fileprivate func text(_ microseconds: Int64) -> String {
        let scale = decimals == 6 ? 1_000_000 : decimals == 3 ? 1_000 : 1
        if self == .nanoseconds { return "\(microseconds)000 ns" }
        let (whole, part) = microseconds.magnitude.quotientAndRemainder(dividingBy: UInt64(scale))
        let sign = microseconds < 0 ? "-" : ""
        if part == 0 { return "\(sign)\(whole) \(rawValue)" }
        var fraction = String(String(scale + Int(part)).dropFirst())
        while fraction.last == "0" { fraction.removeLast() }
        return "\(sign)\(whole).\(fraction) \(rawValue)"
    }
}
