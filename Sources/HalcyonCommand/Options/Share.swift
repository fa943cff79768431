import ArgumentParser

/// A share as written on the command line: a number (`0.5`) or a percentage (`50%`).
///
/// The value is a finite number. Each command checks the range that it accepts, because some exclude 0 or 1.
struct Share: ExpressibleByArgument, ExpressibleByFloatLiteral, Equatable, CustomStringConvertible {
    /// The share as a number: 0.5 for both `0.5` and `50%`.
    let value: Double
    /// The share as written, for messages.
    let description: String

    /// The forms that ``init(argument:)`` accepts, for messages and help.
    static let accepted = "a share, such as 0.5 or 50%"

    /// Reads a number or a percentage; `nil` for anything else, for NaN and for infinity.
    init?(argument: String) {
        let isPercentage = argument.last == "%"
        guard let number = Double(isPercentage ? String(argument.dropLast()) : argument), number.isFinite else {
            return nil
        }
        value = isPercentage ? number / 100 : number
        description = argument
    }

    /// Creates a share of this value.
    init(_ value: Double) {
        self.value = value
        description = value == 0 ? "0" : "\(value)"
    }

    /// Creates a share of this value.
    init(floatLiteral value: Double) { self.init(value) }
}
