import HalcyonEviction

/// The policies of a catalogue, for `replay policies`.
public struct PolicyList: Sendable, Encodable {
    /// One policy.
    public struct Item: Sendable, Encodable {
        /// The name of the policy.
        public let name: String
        /// A summary of the policy.
        public let summary: String
        /// The paper or code that it follows.
        public let source: String
        /// The names of its traits.
        public let traits: [String]
        /// Which objects the policy refuses. Nil for a policy that admits every object.
        public let admissionRule: String?
        /// The parameters.
        public let parameters: [Setting]
    }

    /// One parameter.
    public struct Setting: Sendable, Encodable {
        /// The name of the parameter.
        public let name: String
        /// The effect of the parameter.
        public let help: String
        /// The accepted values.
        public let accepts: String
        /// The default value.
        public let defaultValue: String
    }

    /// The policies in the catalogue's order.
    public let policies: [Item]

    /// Creates a list of these policies.
    public init(_ entries: [PolicyEntry]) {
        policies = entries.map { entry in
            Item(
                name: entry.info.name, summary: entry.info.summary, source: entry.info.source,
                traits: entry.info.traits.nameList, admissionRule: entry.info.admissionRule,
                parameters: entry.parameters.map {
                    Setting(name: $0.name, help: $0.help, accepts: $0.accepts, defaultValue: $0.defaultValue)
                })
        }
    }

    /// The list as text.
    public var text: String {
        var text = ""
        for item in policies {
            text += "\(item.name): \(item.summary)\n"
            text += "    source: \(item.source)\n"
            if !item.traits.isEmpty { text += "    traits: \(item.traits.joined(separator: ", "))\n" }
            if let rule = item.admissionRule { text += "    admission: \(rule)\n" }
            for setting in item.parameters {
                text += "    \(setting.name)=\(setting.defaultValue): \(setting.help) (\(setting.accepts))\n"
            }
        }
        return text
    }
}
