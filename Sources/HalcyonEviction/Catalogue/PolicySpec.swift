import HalcyonSupport

/// A policy as one writes it: `s3-fifo` or `s3-fifo(small=0.2,ghost=1)`.
public struct PolicySpec: Sendable, Equatable, CustomStringConvertible {
    /// One `name=value`.
    public struct Setting: Sendable, Equatable {
        /// The parameter.
        public var name: String
        /// Its value as written.
        public var value: String

        /// A setting.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The policy's name.
    public var name: String
    /// What is set by hand, in order.
    public var settings: [Setting]

    /// A policy with settings.
    public init(name: String, settings: [Setting] = []) {
        self.name = name
        self.settings = settings
    }

    /// Reads `name` or `name(parameter=value,…)`; spaces around the parts are allowed.
    ///
    /// - Throws: ``PolicyError/badSpec(_:)`` if it is not of that form.
    public init(parsing text: String) throws(PolicyError) {
        guard let open = text.firstIndex(of: "(") else {
            name = text[...].trimmingSpaces.lowercased()
            settings = []
            if name.isEmpty || name.contains(")") { throw .badSpec(text) }
            return
        }
        name = text[..<open].trimmingSpaces.lowercased()
        let rest = text[text.index(after: open)...].trimmingSpaces
        guard !name.isEmpty, rest.last == ")" else { throw .badSpec(text) }
        settings = []
        let inside = rest.dropLast()
        if inside.trimmingSpaces.isEmpty { return }
        for part in inside.split(separator: ",", omittingEmptySubsequences: false) {
            guard let equals = part.firstIndex(of: "=") else { throw .badSpec(text) }
            let setting = Setting(part[..<equals].trimmingSpaces, part[part.index(after: equals)...].trimmingSpaces)
            if setting.name.isEmpty || setting.value.isEmpty { throw .badSpec(text) }
            settings.append(setting)
        }
    }

    /// Divides `lru,s3-fifo(small=0.2,ghost=1)` into its policies: at the commas that are not within parentheses.
    public static func split(_ text: String) -> [String] {
        var parts = [""]
        var depth = 0
        for character in text {
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            if character == ",", depth == 0 { parts.append("") } else { parts[parts.count - 1].append(character) }
        }
        return parts
    }

    /// The policy as one writes it.
    public var description: String {
        settings.isEmpty ? name : name + "(" + settings.map { "\($0.name)=\($0.value)" }.joined(separator: ",") + ")"
    }
}

/// What is wrong with a policy that was asked for.
public enum PolicyError: Error, Equatable, CustomStringConvertible {
    /// Not of the form `name(parameter=value,…)`.
    case badSpec(String)
    /// No policy has this name; the nearest ones follow.
    case unknownPolicy(String, nearest: [String])
    /// The policy has no such parameter.
    case unknownParameter(String, policy: String, accepted: [String])
    /// The parameter does not accept this value.
    case badValue(String, parameter: String, policy: String, accepts: String)

    /// Values that do not go together, or a policy that cannot run here; the sentence says why.
    case conflict(String)

    /// One sentence that says what would be accepted.
    public var description: String {
        switch self {
        case .badSpec(let text):
            "'\(text)' is not a policy: write a name, or name(parameter=value,parameter=value)."
        case .unknownPolicy(let name, let nearest):
            "There is no policy '\(name)'; the nearest are \(nearest.joined(separator: ", "))."
        case .unknownParameter(let name, let policy, let accepted):
            accepted.isEmpty
                ? "\(policy) has no parameter '\(name)': it has none at all."
                : "\(policy) has no parameter '\(name)': it has \(accepted.joined(separator: ", "))."
        case .badValue(let value, let parameter, let policy, let accepts):
            "\(policy) cannot take \(parameter)=\(value): \(parameter) is \(accepts)."
        case .conflict(let sentence): sentence
        }
    }
}
