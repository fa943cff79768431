import HalcyonEviction

/// The policies of a catalogue, for `replay policies`.
package struct PolicyList: Sendable, Encodable {
    /// One policy.
    package struct Item: Sendable, Encodable {
        /// The name of the policy.
        package let name: String
        /// A summary of the policy.
        package let summary: String
        /// The paper or code that it follows.
        package let source: String
        /// The names of its traits.
        package let traits: [String]
        /// Which objects the policy refuses. Nil for a policy that admits every object.
        package let admissionRule: String?
        /// The version of a policy that is not of Halcyon; see `PolicyInfo.version`. Nil for a policy of Halcyon.
        package let version: Int?
        /// The parameters.
        package let parameters: [PolicyEntry.ParameterInfo]
    }

    /// The policies in the catalogue's order.
    package let policies: [Item]
    /// The parameters of the admission rule, which every policy accepts; see `AdmissionParameters`.
    package let admissionParameters = AdmissionParameters.infos

    /// Creates a list of these policies.
    package init(_ entries: [PolicyEntry]) {
        policies = entries.map { entry in
            Item(
                name: entry.info.name, summary: entry.info.summary, source: entry.info.source,
                traits: entry.info.traits.nameList, admissionRule: entry.info.admissionRule,
                version: entry.info.version, parameters: entry.parameters)
        }
    }

    /// The list as text.
    package var text: String {
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

extension PolicyEntry.ParameterInfo {
    /// The line of the list.
    fileprivate var text: String { "    \(name)=\(defaultValue): \(help) (\(accepts))\n" }
}
