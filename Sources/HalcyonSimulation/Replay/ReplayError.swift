/// What is wrong with a replay that was asked for: one sentence that says what would be accepted.
public enum ReplayError: Error, Equatable, CustomStringConvertible {
    /// The question cannot be asked like this (exit code 64).
    case usage(String)
    /// The trace does not hold what the question needs (exit code 65).
    case data(String)

    /// The sentence.
    public var description: String {
        switch self {
        case .usage(let sentence), .data(let sentence): sentence
        }
    }
}
