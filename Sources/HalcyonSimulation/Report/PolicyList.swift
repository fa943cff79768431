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
        /// The version of a policy that is not of Halcyon; see `PolicyInfo.version`. Nil for a policy of Halcyon.
        public let version: Int?
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

        init(_ parameter: PolicyEntry.ParameterInfo) {
            (name, help) = (parameter.name, parameter.help)
            (accepts, defaultValue) = (parameter.accepts, parameter.defaultValue)
        }

        /// The line of the list.
        var text: String { "    \(name)=\(defaultValue): \(help) (\(accepts))\n" }
    }

    /// The policies in the catalogue's order.
    public let policies: [Item]
    /// The parameters of the admission rule, which every policy accepts; see `AdmissionParameters`.
    public let admissionParameters: [Setting]

    /// Creates a list of these policies.
    public init(_ entries: [PolicyEntry]) {
        admissionParameters = AdmissionParameters.infos.map(Setting.init)
        policies = entries.map { entry in
            Item(
                name: entry.info.name, summary: entry.info.summary, source: entry.info.source,
                traits: entry.info.traits.nameList, admissionRule: entry.info.admissionRule,
                version: entry.info.version,
                parameters: entry.parameters.map(Setting.init))
        }
    }

    /// The list as text.
    public var text: String {
        var text = ""
        for item in policies {
            text += "\(item.name): \(item.summary)\n"
            text += "    source: \(item.source)\n"
            if !item.traits.isEmpty { text += "    traits: \(item.traits.joined(separator: ", "))\n" }
            if let version = item.version { text += "    version: \(version)\n" }
            if let rule = item.admissionRule { text += "    admission: \(rule)\n" }
            for setting in item.parameters { text += setting.text }
        }
        text += "every policy also accepts an admission rule: lru(admit=adaptsize)\n"
        for setting in admissionParameters { text += setting.text }
        return text
    }
}
