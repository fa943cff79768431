import HalcyonEviction
import HalcyonSimulation
import HalcyonSupport

/// Puts the cells of two selections in pairs that agree in everything that is not compared.
struct ComparisonPairing {
    /// The pairs in the order of tables.
    let pairs: [ComparedPair]
    /// The selected cells.
    let selected: (a: [ResultRow], b: [ResultRow])
    /// The numbers of selected cells without a partner.
    let unpaired: (a: Int, b: Int)
    /// Facts about the selection, one sentence each.
    let notes: [String]

    /// Creates the pairs. O(cells × units).
    ///
    /// - Throws: as `Comparison`.
    init(
        _ a: ComparisonSelector, _ b: ComparisonSelector, rows: [ResultRow], others: [ResultRow]?, measure: HitMeasure,
        catalogue: PolicyCatalogue
    ) throws(ReplayError) {
        let parts =
            rows.count { $0.cell.identity.users != nil } + (others ?? []).count { $0.cell.identity.users != nil }
        let left = try a.select(rows.filter { $0.cell.identity.users == nil }, catalogue: catalogue)
        let right = try b.select(
            (others ?? rows).filter { $0.cell.identity.users == nil }, catalogue: catalogue)
        if others == nil {
            let both = Set(left.map(\.hash)).intersection(right.map(\.hash))
            if !both.isEmpty, both.count == left.count, both.count == right.count {
                throw .usage(
                    "A (\(a)) and B (\(b)) select the same \(both.count.counted("cell")): give two different sides.")
            }
            if let shared = left.first(where: { both.contains($0.hash) }) {
                throw .usage(
                    "A (\(a)) and B (\(b)) have \(both.count.counted("cell")) in common, such as \(shared.words): narrow "
                        + "one of them so that no cell is on both sides.")
            }
        }
        let ignored = a.ignored.union(b.ignored)
        var places: [[String: String]: (a: [[ResultRow]], b: [[ResultRow]])] = [:]
        for (key, variants) in Self.variants(left, ignored) { places[key, default: ([], [])].a = variants }
        for (key, variants) in Self.variants(right, ignored) { places[key, default: ([], [])].b = variants }
        var pairs: [(order: ResultOrder, pair: ComparedPair)] = []
        var paired: (a: Set<String>, b: Set<String>) = ([], [])
        for (one, other) in places.values {
            for (first, second) in try Self.partners(one, other, ignored.loose, sides: (a, b)) {
                let (first, second) = (
                    ComparedRuns(rows: first, measure: measure), ComparedRuns(rows: second, measure: measure)
                )
                try Self.verify(first, second)
                paired.a.formUnion(first.rows.map(\.hash))
                paired.b.formUnion(second.rows.map(\.hash))
                pairs.append((ResultOrder(first.rows[0], then: second.rows[0]), ComparedPair(first, second)))
            }
        }
        guard !pairs.isEmpty else {
            throw .data(
                "No cell of A has a partner in B that agrees in everything else: A (\(a)) has \(Self.summary(left)), and B "
                    + "(\(b)) has \(Self.summary(right)).")
        }
        self.pairs = pairs.sorted { $0.order < $1.order }.map(\.pair)
        selected = (left, right)
        unpaired = (left.count - paired.a.count, right.count - paired.b.count)
        notes =
            parts == 0
            ? []
            : [
                "\(parts.counted("part")) of the users \(parts == 1 ? "is" : "are") left out: 'replay merge' adds them up."
            ]
    }

    /// Returns the cells of a side by what they must agree in. Cells that differ only in what is compared are variants.
    private static func variants(_ rows: [ResultRow], _ ignored: IgnoredParts) -> [[String: String]: [[ResultRow]]] {
        var places: [[String: String]: [[String: String]: [ResultRow]]] = [:]
        for row in rows {
            var key: [String: String] = [:]
            var variant: [String: String] = [:]
            for (name, value) in row.cell.identity.parts {
                let isParameter = name.hasPrefix(ResultRow.prefix)
                let isIgnored =
                    ignored.names.contains(name) || ignored.loose.contains(name)
                    || isParameter && ignored.names.contains("parameters")
                if isIgnored { variant[name] = value } else { key[name] = value }
            }
            // Several permutations of labels are averaged, as seeds are.
            if variant["labels"] != nil { variant["labels"] = row.cell.identity.labelControl }
            places[key, default: [:]][variant, default: []].append(row)
        }
        return places.mapValues { variants in
            variants.values.map { rows in rows.sorted { ResultOrder($0) < ResultOrder($1) } }
                .sorted { ResultOrder($0[0]) < ResultOrder($1[0]) }
        }
    }

    /// Returns the variants of A and B that agree in loose parts, or of which one does not have them.
    private static func partners(
        _ a: [[ResultRow]], _ b: [[ResultRow]], _ loose: Set<String>, sides: (ComparisonSelector, ComparisonSelector)
    ) throws(ReplayError) -> [([ResultRow], [ResultRow])] {
        var partners: [(Int, Int)] = []
        for (one, first) in a.enumerated() {
            for (other, second) in b.enumerated() {
                let (left, right) = (first[0].cell.identity.parts, second[0].cell.identity.parts)
                let agree = loose.allSatisfy { left[$0] == nil || right[$0] == nil || left[$0] == right[$0] }
                if agree { partners.append((one, other)) }
            }
        }
        for (one, other) in partners {
            let rivals = partners.filter { $0.0 == one && $0.1 != other }
            guard let rival = rivals.first, partners.contains(where: { $0.1 == other && $0.0 != one }) else { continue }
            throw .usage(
                "A (\(sides.0)) and B (\(sides.1)) cannot be paired one to one: \(a[one][0].words) could be compared with "
                    + "\(b[other][0].words) and with \(b[rival.1][0].words); choose with --where.")
        }
        return partners.map { (a[$0.0], b[$0.1]) }
    }

    /// Verifies that the cells of both sides count the same requests by the same units.
    ///
    /// - Throws: `ReplayError.data(_:)` otherwise.
    static func verify(_ a: ComparedRuns, _ b: ComparedRuns) throws(ReplayError) {
        for row in a.rows + b.rows {
            let units = row.cell.units
            let counts = [units.hits, units.sizes, units.hitSizes].compactMap { $0?.count }
            guard units.kind == a.kind, ComparedRuns.weights(row.cell, a.measure) == a.weights,
                counts.allSatisfy({ $0 == units.requests.count })
            else {
                throw .data(
                    "The cells \(a.rows[0].hash) and \(row.hash) count their requests by different units, so they cannot be "
                        + "compared: run one of them again.")
            }
        }
    }

    /// Returns which cells there are: `12 cells (traces feed, shop; shared; capacities 1%, 10%; labels given)`.
    private static func summary(_ rows: [ResultRow]) -> String {
        if rows.isEmpty { return "no cells" }
        func list(_ one: String, _ many: String, _ value: (ResultRow) -> String) -> String {
            let values = Set(rows.map(value)).sorted()
            let shown = values.prefix(8).map { $0.shortened(to: 40) }.joined(separator: ", ")
            return "\(values.count == 1 ? one : many) \(shown)\(values.count > 8 ? ", …" : "")"
        }
        let facts = [
            list("trace", "traces") { $0.cell.trace.name }, list("mode", "modes") { $0.cell.identity.mode.words },
            list("policy", "policies") { $0.cell.label },
            list("capacity", "capacities") { $0.cell.identity.capacityText },
            list("labels", "labels") { $0.cell.identity.labels },
            list("prefetching", "prefetching") { $0.cell.identity.prefetchText },
            list("result version", "result versions") { "\($0.cell.identity.resultVersion)" },
        ]
        return "\(rows.count.counted("cell")) (\(facts.joined(separator: "; ")))"
    }
}

extension ResultRow {
    /// The cell in words: `shop, shared: lru at 1%`.
    var words: String {
        let identity = cell.identity
        let facts = [
            identity.knowledge.map { "\($0.rawValue) knowledge" },
            identity.pretrain.map { "trained on \($0)" },
            identity.prefetch == nil ? nil : "prefetch \(identity.prefetchText)",
            identity.restart.map { "restart \($0)" },
            identity.labels == "given" ? nil : "labels \(identity.labels)", identity.seed.map { "seed \($0)" },
        ].compactMap { $0 }
        return "\(cell.trace.name), \(identity.mode.words): \(cell.label) at \(identity.capacityText)"
            + (facts.isEmpty ? "" : " (\(facts.joined(separator: ", ")))")
    }
}
