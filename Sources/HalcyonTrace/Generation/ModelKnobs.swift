import Foundation

extension TraceGenerator where Self: Codable {
    /// The knobs with their values, in alphabetical order, named in kebab case: `category-signal`.
    public var knobs: [(name: String, value: String)] {
        guard let values = try? Self.values(of: self) else { return [] }
        return values.map { (Self.kebab($0.key), Self.text($0.value)) }.sorted { $0.0 < $1.0 }
    }

    /// The model with one knob set.
    ///
    /// - Parameters:
    ///   - knob: its name, in kebab case.
    ///   - value: a number, or words separated by `|` where the knob is a list of names.
    /// - Throws: ``GenerationError`` if there is no such knob or it does not take the value.
    public func setting(_ knob: String, to value: String) throws(GenerationError) -> Self {
        let known = knobs.map(\.name)
        guard var values = try? Self.values(of: self), let key = values.keys.first(where: { Self.kebab($0) == knob })
        else {
            throw GenerationError(
                knob: knob, value: value, accepted: known.joined(separator: ", "), isUnknown: true)
        }
        if values[key] is [Any] {
            values[key] = value.split(separator: "|").map(String.init)
        } else if let whole = Int(value) {
            values[key] = whole
        } else if let real = Double(value), real.isFinite {
            values[key] = real
        } else {
            throw GenerationError(knob: knob, value: value, accepted: "a number")
        }
        do {
            return try JSONDecoder().decode(Self.self, from: JSONSerialization.data(withJSONObject: values))
        } catch {
            throw GenerationError(knob: knob, value: value, accepted: "a whole number")
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
