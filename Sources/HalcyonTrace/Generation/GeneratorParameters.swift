import Foundation

extension TraceGenerator where Self: Codable {
    /// The parameters and their values, in alphabetical order; names are in kebab case: `category-signal`.
    package var parameters: [(name: String, value: String)] {
        guard let values = try? Self.values(of: self) else { return [] }
        return values.map { (Self.kebab($0.key), Self.text($0.value)) }.sorted { $0.0 < $1.0 }
    }

    /// Returns the model with one parameter changed.
    ///
    /// - Parameters:
    ///   - parameter: The name of the parameter, in kebab case.
    ///   - value: A number, or words separated by `|` if the parameter is a list of names.
    /// - Throws: ``GenerationError`` if the model has no such parameter or the parameter does not accept the value.
    package func setting(_ parameter: String, to value: String) throws(GenerationError) -> Self {
        let known = parameters.map(\.name)
        guard var values = try? Self.values(of: self),
            let key = values.keys.first(where: { Self.kebab($0) == parameter })
        else {
            throw GenerationError(
                parameter: parameter, value: value, accepted: known.joined(separator: ", "), isUnknown: true)
        }
        if values[key] is [Any] {
            values[key] = value.split(separator: "|").map(String.init)
        } else if let whole = Int(value) {
            values[key] = whole
        } else if let real = Double(value), real.isFinite {
            values[key] = real
        } else {
            throw GenerationError(parameter: parameter, value: value, accepted: "a number")
        }
        do {
            return try JSONDecoder().decode(Self.self, from: JSONSerialization.data(withJSONObject: values))
        } catch {
            throw GenerationError(parameter: parameter, value: value, accepted: "a whole number")
        }
    }

    private static func values(of model: Self) throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: JSONEncoder().encode(model)) as? [String: Any] ?? [:]
    }

    private static func text(_ value: Any) -> String {
        if let list = value as? [Any] { return list.map { "\($0)" }.joined(separator: "|") }
        return "\(value)"
    }

    private static func kebab(_ name: String) -> String {
        name.reduce(into: "") { $0 += $1.isUppercase ? "-" + $1.lowercased() : String($1) }
    }
}

/// The reason why a model cannot generate a trace.
public struct GenerationError: Error, Equatable, CustomStringConvertible {
    /// The name of the parameter in the model.
    public let parameter: String
    /// Its value.
    public let value: String
    /// The accepted values; if the parameter is unknown, the names of the model's parameters.
    public let accepted: String
    /// Whether the model has no such parameter.
    public let isUnknown: Bool

    /// Creates the error for a value that is not accepted, or for an unknown parameter.
    public init(parameter: String, value: String, accepted: String, isUnknown: Bool = false) {
        self.parameter = parameter
        self.value = value
        self.accepted = accepted
        self.isUnknown = isUnknown
    }

    /// One sentence that names the parameter and what is accepted.
    public var description: String {
        isUnknown
            ? "There is no parameter '\(parameter)': this model has \(accepted)."
            : "\(parameter) is \(value); it must be \(accepted)."
    }
}

/// Checks of the values of a model's parameters.
enum ParameterCheck {
    static func count(_ value: Int, _ name: String, atLeast low: Int = 1) throws(GenerationError) {
        if value < low || value >= Int(UInt32.max) {
            throw GenerationError(
                parameter: name, value: "\(value)", accepted: "a whole number from \(low) to \(UInt32.max - 1)")
        }
    }

    static func share(_ value: Double, _ name: String) throws(GenerationError) {
        try range(value, name, 0...1)
    }

    static func range(_ value: Double, _ name: String, _ range: ClosedRange<Double>) throws(GenerationError) {
        if !range.contains(value) {
            throw GenerationError(
                parameter: name, value: "\(value)", accepted: "from \(range.lowerBound) to \(range.upperBound)")
        }
    }
}
