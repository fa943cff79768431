import HalcyonEviction

/// The policies of a catalogue, for `replay policies`.
public struct PolicyList: Sendable, Encodable {
    /// One policy.
    public struct Item: Sendable, Encodable {
        /// The name it is asked for by.
        public let name: String
        /// What it does.
        public let summary: String
        /// The paper or code it follows.
        public let source: String
        /// What it needs and honours.
        public let traits: [String]
        /// What can be set.
        public let parameters: [Setting]
    }

    /// One parameter.
    public struct Setting: Sendable, Encodable {
        /// The name.
        public let name: String
        /// What it does.
        public let help: String
        /// What is accepted.
        public let accepts: String
        /// Its value unless set.
        public let defaultValue: String
    }

    /// The policies in the catalogue's order.
    public let policies: [Item]

    /// A list of these.
    public init(_ entries: [PolicyEntry]) {
        policies = entries.map { entry in
            Item(
                name: entry.info.name, summary: entry.info.summary, source: entry.info.source,
                traits: entry.info.traits.nameList,
                parameters: entry.parameters.map {
                    Setting(name: $0.name, help: $0.help, accepts: $0.accepts, defaultValue: $0.defaultValue)
                })
        }
    }

    /// The list for people.
    public var text: String {
        var text = ""
        for item in policies {
            text += "\(item.name): \(item.summary)\n"
            text += "    source: \(item.source)\n"
            if !item.traits.isEmpty { text += "    traits: \(item.traits.joined(separator: ", "))\n" }
            for setting in item.parameters {
                text += "    \(setting.name)=\(setting.defaultValue): \(setting.help) (\(setting.accepts))\n"
            }
        }
        return text
    }
}
