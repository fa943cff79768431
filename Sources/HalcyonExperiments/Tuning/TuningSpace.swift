import HalcyonEviction
import HalcyonSimulation
import HalcyonSupport

/// The values of a policy's parameters among which a tuning searches.
public struct TuningSpace: Sendable, Equatable {
    /// A parameter that is searched. All others keep their values.
    public struct Parameter: Sendable, Equatable {
        /// The name.
        public let name: String
        /// The values.
        public let values: Values

        /// The values as text: `0.05,0.1` or `0.025..0.4`.
        public var text: String {
            switch values {
            case .list(let values): values.joined(separator: ",")
            case .real(let range): "\(range.lowerBound)..\(range.upperBound)"
            case .integer(let range): "\(range.lowerBound)..\(range.upperBound)"
            }
        }
    }

    /// The values of a parameter. A range is searched on a logarithmic scale.
    public enum Values: Sendable, Equatable {
        /// These values.
        case list([String])
        /// The numbers of a range that begins above 0.
        case real(ClosedRange<Double>)
        /// The whole numbers of a range that begins above 0.
        case integer(ClosedRange<Int>)
    }

    /// The default range of a parameter begins at its default divided by this factor and ends at its default times
    /// this factor: two octaves on each side.
    static let factor = 4

    /// The searched parameters, in the order of the policy's table or of the user.
    public var parameters: [Parameter]

    /// The default space of a policy: each number from a quarter of its default to four times its default, within the
    /// accepted range.
    ///
    /// Words, parameters that are set already, and numbers whose default is 0 are not searched unless the user names
    /// their values. Neither are the prices of misses of `learned`.
    ///
    /// - Throws: `ReplayError.usage(_:)` if no parameter is left.
    init(of entry: PolicyEntry, except given: [PolicySpec.Setting]) throws(ReplayError) {
        parameters = entry.parameters.compactMap { parameter in
            guard !parameter.isFixedInTuning, !given.contains(where: { $0.name == parameter.name }) else { return nil }
            let values: Values? =
                switch parameter.range {
                case .real(let range): Double(parameter.defaultValue).flatMap { Self.around($0, within: range) }
                case .integer(let range): Int(parameter.defaultValue).flatMap { Self.around($0, within: range) }
                case .words: nil
                }
            return values.map { Parameter(name: parameter.name, values: $0) }
        }
        if parameters.isEmpty {
            let name = entry.info.name
            throw .usage(
                entry.parameters.isEmpty
                    ? "\(name) has no parameter to tune."
                    : "\(name) has no number that is searched by default: name values of its parameters "
                        + "(\(entry.parameters.map(\.name).joined(separator: ", "))) with --grid.")
        }
    }

    /// Reads parameters with their values, such as `small=0.05,0.1;ghost=0.5..2`.
    ///
    /// - Throws: `ReplayError.usage(_:)` for other text, an unknown parameter or a value that is not accepted.
    public init(parsing text: String, of entry: PolicyEntry) throws(ReplayError) {
        var parts: [(name: String, values: [String])] = []
        for part in text.split(separator: ";", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", maxSplits: 1).map(\.trimmingSpaces)
            guard sides.count == 2, !sides[0].isEmpty else {
                throw .usage(
                    "'\(part.trimmingSpaces.shortened)' does not name values: write name=value,value or name=low..high, "
                        + "separated by semicolons.")
            }
            parts.append(
                (sides[0], sides[1].split(separator: ",", omittingEmptySubsequences: false).map(\.trimmingSpaces)))
        }
        parameters = []
        for part in parts {
            if parameters.contains(where: { $0.name == part.name }) {
                throw .usage("The parameter '\(part.name.shortened)' is given twice; give it once.")
            }
            parameters.append(try Self.parameter(part.name, part.values, of: entry))
        }
    }

    /// Creates a space of parameters.
    init(_ parameters: [Parameter]) { self.parameters = parameters }

    /// Returns a parameter with values as text: a list, or one range.
    ///
    /// - Throws: `ReplayError.usage(_:)` for an unknown parameter or a value that is not accepted.
    static func parameter(
        _ name: String, _ texts: [String], of entry: PolicyEntry
    ) throws(ReplayError) -> Parameter {
        guard let known = entry.parameters.first(where: { $0.name == name }) else {
            throw .usage(
                PolicyError.unknownParameter(
                    name.shortened, policy: entry.info.name, accepted: entry.parameters.map(\.name)
                ).description)
        }
        if texts.count == 1, texts[0].contains("..") {
            return Parameter(name: name, values: try range(texts[0], of: known, policy: entry))
        }
        var values: [String] = []
        for text in texts {
            let value = try verified(text, name, of: entry)
            if values.contains(value) { throw .usage("\(name)=\(text.shortened) is given twice; give it once.") }
            values.append(value)
        }
        return Parameter(name: name, values: .list(values))
    }

    private static func range(
        _ text: String, of known: PolicyEntry.ParameterInfo, policy entry: PolicyEntry
    ) throws(ReplayError) -> Values {
        let malformed = ReplayError.usage(
            "\(known.name)=\(text.shortened) is not a range: write low..high with two numbers above 0, the lower first, or "
                + "list values with commas.")
        guard let dots = text.firstRange(of: "..") else { throw malformed }
        let ends = [text[..<dots.lowerBound].trimmingSpaces, text[dots.upperBound...].trimmingSpaces]
        let values: Values
        switch known.range {
        case .words: throw malformed
        case .real:
            guard let low = Double(ends[0]), let high = Double(ends[1]), low > 0, low < high else { throw malformed }
            values = .real(low...high)
        case .integer:
            guard let low = Int(ends[0]), let high = Int(ends[1]), low > 0, low < high else { throw malformed }
            values = .integer(low...high)
        }
        for end in ends { _ = try verified(end, known.name, of: entry) }
        return values
    }

    /// Returns the text that the policy writes for a value.
    private static func verified(_ text: String, _ name: String, of entry: PolicyEntry) throws(ReplayError) -> String {
        do throws(PolicyError) {
            let policy = try entry.configured([PolicySpec.Setting(name, text)])
            return policy.parameters.first { $0.name == name }?.value ?? text
        } catch { throw .usage(error.description) }
    }

    private static func around(_ value: Double, within range: ClosedRange<Double>) -> Values? {
        let (low, high) = (max(range.lowerBound, value / Double(factor)), min(range.upperBound, value * Double(factor)))
        return low > 0 && low < high ? .real(low...high) : nil
    }

    private static func around(_ value: Int, within range: ClosedRange<Int>) -> Values? {
        let (product, isTooLarge) = value.multipliedReportingOverflow(by: factor)
        let (low, high) = (
            max(range.lowerBound, (value + factor - 1) / factor), min(range.upperBound, isTooLarge ? .max : product)
        )
        return low > 0 && low < high ? .integer(low...high) : nil
    }

    // MARK: Candidates

    /// Returns all combinations of values, the last parameter varying fastest. A range has three values: its ends and
    /// their geometric mean. `nil` if there are more than `most`.
    func combinations(most: Int) -> [[PolicySpec.Setting]]? {
        var combinations: [[PolicySpec.Setting]] = [[]]
        for parameter in parameters {
            let values = parameter.values.levels
            guard combinations.count <= most / values.count else { return nil }
            combinations = combinations.flatMap { settings in
                values.map { settings + [PolicySpec.Setting(parameter.name, $0)] }
            }
        }
        return combinations
    }

    /// The number of combinations of values if every range has three; `nil` if it exceeds an `Int`.
    var combinationCount: Int? {
        var count = 1
        for parameter in parameters {
            let (product, isTooLarge) = count.multipliedReportingOverflow(by: parameter.values.levels.count)
            if isTooLarge { return nil }
            count = product
        }
        return count
    }

    /// Draws a value of each parameter.
    func draw(_ random: inout SeededGenerator) -> [PolicySpec.Setting] {
        parameters.map { PolicySpec.Setting($0.name, $0.values.draw(&random)) }
    }
}

extension TuningSpace.Values {
    /// The values of a grid.
    var levels: [String] {
        switch self {
        case .list(let values): return values
        case .real(let range):
            return ["\(range.lowerBound)", Self.text((range.lowerBound * range.upperBound).squareRoot(), in: range)]
                + ["\(range.upperBound)"]
        case .integer(let range):
            let middle = Int((Double(range.lowerBound) * Double(range.upperBound)).squareRoot().rounded())
            var levels: [Int] = []
            for level in [range.lowerBound, middle, range.upperBound] where !levels.contains(level) {
                levels.append(level)
            }
            return levels.map { "\($0)" }
        }
    }

    /// Draws a value: each of a list equally likely; of a range, equally likely on a logarithmic scale. A real number
    /// is rounded to three significant digits.
    func draw(_ random: inout SeededGenerator) -> String {
        switch self {
        case .list(let values): return values[random.below(values.count)]
        case .real(let range):
            let ratio = range.upperBound / range.lowerBound
            return Self.text(range.lowerBound * PortableMath.pow(ratio, random.unit()), in: range)
        case .integer(let range):
            let (low, high) = (Double(range.lowerBound), Double(range.upperBound))
            // A whole number n stands for the numbers from n to n + 1.
            let value = low * PortableMath.pow((high + 1) / low, random.unit())
            return "\(min(range.upperBound, max(range.lowerBound, Int(value))))"
        }
    }

    private static func text(_ value: Double, in range: ClosedRange<Double>) -> String {
        let digits = 2 - Int(PortableMath.log10(value).rounded(.down))
        let scale = PortableMath.pow(10, Double(abs(digits))).rounded()
        let rounded = digits >= 0 ? (value * scale).rounded() / scale : (value / scale).rounded() * scale
        return "\(min(range.upperBound, max(range.lowerBound, rounded)))"
    }
}
