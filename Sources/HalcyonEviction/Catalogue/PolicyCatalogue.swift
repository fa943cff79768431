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
        entries.removeAll { $0.info.name == entry.info.name }
        entries.append(entry)
    }

    /// The policy that `text` names, with its settings.
    ///
    /// - Throws: ``PolicyError``; for an unknown name it lists the nearest ones.
    public func policy(_ text: String) throws(PolicyError) -> ConfiguredPolicy {
        let spec = try PolicySpec(parsing: text)
        let name = aliases[spec.name] ?? spec.name
        guard let entry = entries.first(where: { $0.info.name == name }) else {
            throw .unknownPolicy(spec.name, nearest: nearest(to: spec.name))
        }
        return try entry.configured(spec.settings)
    }

    private func nearest(to name: String) -> [String] {
        let ranked = entries.map { (distance: editDistance(name, $0.info.name), name: $0.info.name) }
        return ranked.sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }.prefix(3).map(\.name)
    }
}

extension PolicyCatalogue {
    /// Every policy of this module: one line each.
    public static let classical = PolicyCatalogue(
        [
            PolicyEntry(RandomEviction.self),
            PolicyEntry(FIFO.self),
            PolicyEntry(LRU.self),
            PolicyEntry(MRU.self),
            PolicyEntry(LFU.self),
            PolicyEntry(LFUDA.self),
            PolicyEntry(Clock.self),
            PolicyEntry(SLRU.self),
            PolicyEntry(TwoQ.self),
            PolicyEntry(LRUK.self),
            PolicyEntry(MQ.self),
            PolicyEntry(ARC.self),
            PolicyEntry(CAR.self),
            PolicyEntry(LIRS.self),
            PolicyEntry(SIEVE.self),
            PolicyEntry(S3FIFO.self),
            PolicyEntry(S4FIFO.self),
            PolicyEntry(Clock2QPlus.self),
            PolicyEntry(QDLPFIFO.self),
            PolicyEntry(WTinyLFU.self),
            PolicyEntry(GDSF.self),
            PolicyEntry(Hyperbolic.self),
            PolicyEntry(LHD.self),
            PolicyEntry(LeCaR.self),
            PolicyEntry(Cacheus.self),
            PolicyEntry(SizeEviction.self),
            PolicyEntry(KingfisherMemory.self),
            PolicyEntry(KingfisherDisk.self),
            PolicyEntry(CategoryQuota.self),
            PolicyEntry(Belady.self),
            PolicyEntry(BeladySize.self),
        ])
}

/// The distance of two words, doubled: the insertions, deletions, substitutions and swaps of neighbours between them
/// (optimal string alignment).
///
/// What stands before or after the shorter word counts half, so that `fifo` is near `s3-fifo`.
package func editDistance(_ left: String, _ right: String) -> Int {
    let (a, b) = (Array(left.utf8), Array(right.utf8))
    var size = Array(repeating: Array(repeating: 0, count: b.count + 1), count: a.count + 1)
    for i in 0...a.count {
        for j in 0...b.count {
            if i == 0 || j == 0 {
                size[i][j] = i == 0 ? j : i * 2
                continue
            }
            let substituted = size[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 2)
            let inserted = size[i][j - 1] + (i == a.count ? 1 : 2)
            size[i][j] = min(substituted, inserted, size[i - 1][j] + 2)
            if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
                size[i][j] = min(size[i][j], size[i - 2][j - 2] + 2)
            }
        }
    }
    return size[a.count][b.count]
}
