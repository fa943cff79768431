/// The policies that can be asked for by name.
public struct PolicyCatalogue: Sendable {
    /// The policies, in the order in which they are listed.
    public private(set) var entries: [PolicyEntry]

    /// Other names of policies.
    public let aliases: [String: String]

    /// A catalogue of these policies.
    public init(_ entries: [PolicyEntry], aliases: [String: String] = [:]) {
        self.entries = entries
        self.aliases = aliases
    }

    /// Adds a policy, in place of one of the same name if there is one.
    public mutating func add(_ entry: PolicyEntry) {
        entries.removeAll { $0.card.name == entry.card.name }
        entries.append(entry)
    }

    /// The policy that `text` names, with its settings.
    ///
    /// - Throws: ``PolicyError``; for an unknown name it lists the nearest ones.
    public func policy(_ text: String) throws(PolicyError) -> ConfiguredPolicy {
        let spec = try PolicySpec(parsing: text)
        let name = aliases[spec.name] ?? spec.name
        guard let entry = entries.first(where: { $0.card.name == name }) else {
            throw .unknownPolicy(spec.name, nearest: nearest(to: spec.name))
        }
        return try entry.configured(spec.settings)
    }

    private func nearest(to name: String) -> [String] {
        let ranked = entries.map { (distance: editDistance(name, $0.card.name), name: $0.card.name) }
        return ranked.sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }.prefix(3).map(\.name)
    }
}

/// The number of insertions, deletions and substitutions between two words (Levenshtein), where an insertion at either
/// end of the shorter word counts half, so that `fifo` is near `s3-fifo`.
func editDistance(_ left: String, _ right: String) -> Int {
    let (a, b) = (Array(left.utf8), Array(right.utf8))
    var row = (0...b.count).map { $0 * 2 }
    for (i, x) in a.enumerated() {
        var diagonal = row[0]
        row[0] = (i + 1) * 2
        for (j, y) in b.enumerated() {
            let substituted = diagonal + (x == y ? 0 : 2)
            diagonal = row[j + 1]
            let gap = i + 1 == a.count || i == 0 ? 1 : 2
            row[j + 1] = min(substituted, row[j] + gap, diagonal + 2)
        }
    }
    return row[b.count]
}
