import HalcyonBoosting
import HalcyonEviction
import HalcyonSimulation

/// The paired comparison of two selections of stored cells: A − B by cell, by trace and over all traces.
///
/// ```swift
/// let comparison = try Comparison(.policy("learned"), .policy("lru"), rows: ResultStore(folder: "results/demo").rows())
/// print(comparison.pooled.difference, comparison.pooled.intervalOfTheseTraces ?? "too few units")
/// ```
///
/// Differences are differences of hit ratios: 0.01 is one point. Standard errors are those of the hypothesis: over units
/// (users in groups, or blocks of time) and over seeds together.
public struct Comparison: Sendable, Codable {
    /// A selection.
    public struct Selection: Sendable, Codable {
        /// The selection as the user wrote it.
        public var selector: String
        /// The number of selected cells.
        public var cells: Int
        /// The number of them that no pair includes.
        public var unpaired: Int
    }

    /// One side of a pair.
    public struct Side: Sendable, Codable {
        /// The policy with the parameters set by the user.
        public var label: String
        /// The capacity as requested, or the capacities of two tiers.
        public var capacity: String
        /// The kind of caches.
        public var mode: ReplayMode
        /// The knowledge. Nil in shared mode, and for policies that do not learn.
        public var knowledge: Knowledge?
        /// What the models of devices were trained on. Nil without such models.
        public var pretrain: String?
        /// The prefetching: policy, budget and latency, or `none`.
        public var prefetch: String
        /// The labels; a permutation without its number if several are averaged.
        public var labels: String
        /// The result version of the build.
        public var resultVersion: Int
        /// The matrix routines, if results depend on the processor.
        public var kernels: String?
        /// The seeds of the averaged runs; empty for runs without random numbers.
        public var seeds: [UInt64]
        /// The names of the averaged cells.
        public var cells: [String]
        /// The mean hit ratio.
        public var hitRatio: Double

        init(_ runs: ComparedRuns) {
            let identity = runs.first.identity
            label = runs.first.label
            capacity = identity.capacityText
            mode = identity.mode
            knowledge = identity.knowledge
            pretrain = identity.pretrain
            prefetch = identity.prefetchText
            labels = Set(runs.rows.map(\.cell.identity.labels)).count > 1 ? identity.labelControl : identity.labels
            resultVersion = identity.resultVersion
            kernels = identity.kernels
            seeds = Set(runs.rows.compactMap(\.cell.identity.seed)).sorted()
            cells = runs.rows.map(\.hash)
            hitRatio = runs.mean
        }
    }

    /// The units that the intervals are based on.
    public struct Units: Sendable, Codable {
        /// The kind of units.
        public var kind: UnitCounts.Kind
        /// The number of units with requests.
        public var count: Int
        /// The effective number of independent units of equal weight. Nil with fewer than two units.
        public var effectiveCount: Double?
        /// The number of time blocks over which the differences depend on themselves; 1 for users.
        public var blockLength: Int
    }

    /// A pair of cells that agree in everything that is not compared.
    public struct Cell: Sendable, Codable {
        /// The name of the trace.
        public var trace: String
        /// The hash of the requests.
        public var fingerprint: String
        /// Side A.
        public var a: Side
        /// Side B.
        public var b: Side
        /// The hit ratio of A minus that of B.
        public var difference: Double
        /// The confidence interval of this difference alone. Nil with fewer than two units.
        public var interval: Interval?
        /// The confidence interval for all cells together (Bonferroni). Nil with fewer than two units.
        public var familyInterval: Interval?
        /// The standard error of ``difference``, over units and runs. Nil with fewer than two units.
        public var standardError: Double?
        /// The degrees of freedom of ``standardError``. Nil if nothing varies.
        public var degrees: Double?
        /// The two-sided p-value of Student's t for this cell alone. Nil with fewer than two units.
        public var pValue: Double?
        /// The p-value for all cells together (Holm).
        public var adjustedPValue: Double?
        /// The units.
        public var units: Units
    }

    /// The mean over the cells of one trace.
    public struct TraceMean: Sendable, Codable {
        /// The name of the trace.
        public var trace: String
        /// The number of cells.
        public var cells: Int
        /// The mean of their differences.
        public var difference: Double
        /// Its confidence interval. Nil if a cell has fewer than two units.
        public var interval: Interval?
        /// Its standard error. Nil if a cell has fewer than two units.
        public var standardError: Double?
        /// The degrees of freedom of ``standardError``. Nil if nothing varies.
        public var degrees: Double?
    }

    /// The mean over traces of each trace's mean difference.
    public struct Pooled: Sendable, Codable {
        /// The number of traces.
        public var traces: Int
        /// The mean difference.
        public var difference: Double
        /// The interval for these traces: what other users (or another time) of the same traces would give. Nil if a cell
        /// has fewer than two units.
        public var intervalOfTheseTraces: Interval?
        /// The interval for traces of which these are a sample: Student's t with one degree of freedom less than there are
        /// traces. Nil for one trace.
        public var intervalOverTraces: Interval?
    }

    /// The numbers of cells by their result.
    public struct Tally: Sendable, Codable, Equatable {
        /// The cells in which A has the higher hit ratio.
        public var won = 0
        /// The cells in which B has the higher hit ratio.
        public var lost = 0
        /// The cells with equal hit ratios.
        public var equal = 0
        /// The won cells that are significant over all cells together.
        public var significantlyWon = 0
        /// The lost cells that are significant over all cells together.
        public var significantlyLost = 0
    }

    /// The version of this structure.
    public var schema = "halcyon.comparison/1"
    /// The compared hit ratio.
    public var measure: HitMeasure
    /// The confidence level of the intervals, and 1 minus the level of significance.
    public var confidence: Double
    /// Selection A.
    public var a: Selection
    /// Selection B.
    public var b: Selection
    /// The pairs in the order of tables.
    public var cells: [Cell]
    /// The means by trace.
    public var traces: [TraceMean]
    /// The mean over traces.
    public var pooled: Pooled
    /// The numbers of cells by their result.
    public var tally: Tally
    /// The cell with the lowest difference.
    public var worst: Cell
    /// Facts to know about the comparison, one sentence each.
    public var notes: [String]

    /// Compares two selections. O(cells × units).
    ///
    /// - Parameters:
    ///   - a: selection A.
    ///   - b: selection B.
    ///   - rows: the cells that A selects from.
    ///   - others: the cells that B selects from, if that is another folder.
    ///   - measure: the compared hit ratio; the default is that of objects.
    ///   - confidence: the confidence level; the default is 0.95.
    ///   - catalogue: the policies that a side may name; the default is those of the laboratory.
    /// - Throws: `ReplayError.usage(_:)` if the selections are equal, overlap or cannot be paired one to one;
    ///   `ReplayError.data(_:)` if there is no pair, or the cells of a pair count different units.
    public init(
        _ a: ComparisonSelector, _ b: ComparisonSelector, rows: [ResultRow], others: [ResultRow]? = nil,
        measure: HitMeasure = .object, confidence: Double = 0.95, catalogue: PolicyCatalogue = .named
    ) throws(ReplayError) {
        if a == b { throw .usage("A and B are both '\(a)': give two different sides.") }
        let pairing = try ComparisonPairing(a, b, rows: rows, others: others, measure: measure, catalogue: catalogue)
        self.init(
            pairing.pairs,
            a: Selection(selector: "\(a)", cells: pairing.selected.a.count, unpaired: pairing.unpaired.a),
            b: Selection(selector: "\(b)", cells: pairing.selected.b.count, unpaired: pairing.unpaired.b),
            confidence: confidence, notes: pairing.notes)
    }

    /// Compares the sides of some pairs, and keeps their order. O(cells × units).
    ///
    /// - Parameters:
    ///   - pairs: the pairs, at least one.
    ///   - a: the selection of sides A.
    ///   - b: the selection of sides B.
    ///   - confidence: the confidence level.
    ///   - pairingNotes: facts about the selections, one sentence each.
    init(
        _ pairs: [ComparedPair], a: Selection, b: Selection, confidence: Double, notes pairingNotes: [String] = []
    ) {
        measure = pairs[0].a.measure
        self.confidence = confidence
        let names = TraceNaming(pairs)
        let family = pairs.count { $0.units != nil }
        var cells = pairs.map { Self.cell($0, name: names.name(of: $0), confidence: confidence, family: family) }
        let tested = cells.indices.filter { cells[$0].pValue != nil }
        for (place, adjusted) in zip(tested, Holm.adjusted(tested.compactMap { cells[$0].pValue })) {
            cells[place].adjustedPValue = adjusted
        }
        let members = Dictionary(grouping: pairs) { names.name(of: $0) }
        let pools = names.order.map { name in
            let pairs = members[name] ?? []
            return (name: name, cells: pairs.count, pool: TracePool(pairs))
        }
        traces = pools.map { name, count, pool in
            let error = pool.parts.map { StandardError(adding: $0) }
            return TraceMean(
                trace: name, cells: count, difference: pool.difference,
                interval: error?.interval(about: pool.difference, confidence: confidence),
                standardError: error?.deviation, degrees: error.flatMap { $0.isZero ? nil : $0.finiteDegrees })
        }
        pooled = Self.pooled(pools.map(\.pool), confidence: confidence)
        tally = Tally(cells, confidence: confidence)
        worst = cells.dropFirst().reduce(cells[0]) { $1.difference < $0.difference ? $1 : $0 }
        self.cells = cells
        (self.a, self.b) = (a, b)
        notes = pairingNotes + names.notes + Self.notes(pairs) + Self.twins(names.order.map { ($0, members[$0] ?? []) })
    }

    private static func cell(_ pair: ComparedPair, name: String, confidence: Double, family: Int) -> Cell {
        let identity = pair.a.first.identity
        let contrast = pair.units.map {
            Contrast(
                pair.difference, series: pair.series, units: $0, noise: pair.jointNoise, confidence: confidence,
                cells: family)
        }
        let error = pair.units.map {
            StandardError(variance: $0.variance(of: pair.series), degrees: $0.degrees, noise: pair.jointNoise)
        }
        return Cell(
            trace: name, fingerprint: identity.fingerprint, a: Side(pair.a), b: Side(pair.b),
            difference: pair.difference, interval: contrast?.interval, familyInterval: contrast?.familyInterval,
            standardError: contrast?.standardError,
            degrees: contrast?.degrees, pValue: error?.pValue(of: pair.difference),
            units: Units(
                kind: pair.a.kind, count: pair.a.weights.count { $0 > 0 },
                effectiveCount: pair.units?.effectiveUnits, blockLength: pair.blockLength))
    }

    private static func pooled(_ pools: [TracePool], confidence: Double) -> Pooled {
        let count = Double(pools.count)
        let difference = pools.reduce(0) { $0 + $1.difference } / count
        let parts = pools.compactMap(\.parts)
        let within = StandardError(
            adding: parts.flatMap { $0 }.map { (variance: $0.variance / (count * count), degrees: $0.degrees) })
        let spread = RunNoise.spread(pools.map(\.difference))
        let over = StandardError(adding: [
            (variance: spread.deviation * spread.deviation / count, degrees: max(1, count - 1))
        ])
        return Pooled(
            traces: pools.count, difference: difference,
            intervalOfTheseTraces: parts.count == pools.count
                ? within.interval(about: difference, confidence: confidence) : nil,
            intervalOverTraces: pools.count < 2 ? nil : over.interval(about: difference, confidence: confidence))
    }

    private static func notes(_ pairs: [ComparedPair]) -> [String] {
        var notes: [String] = []
        let single = pairs.count(where: \.lacksNoise)
        if single > 0 {
            notes.append(
                "In \(single.counted("cell")) a policy that draws random numbers ran with one seed: intervals do not "
                    + "include the noise of seeds there.")
        }
        let few = pairs.count { $0.units == nil }
        if few > 0 {
            notes.append("\(few.counted("cell")) \(few == 1 ? "has" : "have") fewer than two units and no interval.")
        }
        for (name, differs) in [
            (
                "result versions",
                { (pair: ComparedPair) in
                    pair.a.first.identity.resultVersion != pair.b.first.identity.resultVersion
                }
            ),
            ("matrix routines", { $0.a.first.identity.kernels != $0.b.first.identity.kernels }),
        ] {
            let count = pairs.count(where: differs)
            if count > 0 { notes.append("The sides have different \(name) in \(count.counted("cell")).") }
        }
        let kingfishers = pairs.count {
            ($0.a.first.identity.tiers == nil) != ($0.b.first.identity.tiers == nil)
        }
        if kingfishers > 0 {
            notes.append(
                "In \(kingfishers.counted("cell")) Kingfisher's memory and disk are compared with one cache of the disk's "
                    + "capacity.")
        }
        return notes
    }

    /// Returns a sentence for each group of traces that have equal counts in every cell: copies with other labels, which
    /// do not count as independent traces.
    private static func twins(_ traces: [(name: String, pairs: [ComparedPair])]) -> [String] {
        struct Counts: Hashable {
            let requests: [Int]
            let hits: [[Double]]
        }
        var results: [[Counts: Int]: [String]] = [:]
        for (name, pairs) in traces {
            let counts = pairs.map { Counts(requests: $0.a.weights, hits: [$0.a.byUnit, $0.b.byUnit]) }
            results[Dictionary(counts.map { ($0, 1) }, uniquingKeysWith: +), default: []].append(name)
        }
        return results.values.filter { $0.count > 1 }.sorted { $0[0] < $1[0] }.map {
            "\($0.joined(separator: " and ")) have equal counts in every cell: they are not independent traces."
        }
    }

    /// Whether a cell is significant over all cells together.
    public func isSignificant(_ cell: Cell) -> Bool { Tally.isSignificant(cell, confidence: confidence) }

    /// The reasons why A is worse than B, one sentence each: the pooled interval of these traces is below zero, or a cell
    /// is significantly worse over all cells together. Empty if neither is shown.
    public var losses: [String] {
        var losses: [String] = []
        if let interval = pooled.intervalOfTheseTraces, interval.high < 0 {
            losses.append(
                "A is worse over all traces: \(pooled.difference.points) (\(interval.words)).")
        }
        for cell in cells where cell.difference < 0 && isSignificant(cell) {
            losses.append("A is significantly worse in \(name(of: cell)): \(cell.difference.points).")
        }
        return losses
    }
}

extension Comparison.Tally {
    init(_ cells: [Comparison.Cell], confidence: Double) {
        for cell in cells {
            let isSignificant = Self.isSignificant(cell, confidence: confidence)
            if abs(cell.difference) <= 1e-12 {
                equal += 1
            } else if cell.difference > 0 {
                won += 1
                if isSignificant { significantlyWon += 1 }
            } else {
                lost += 1
                if isSignificant { significantlyLost += 1 }
            }
        }
    }

    static func isSignificant(_ cell: Comparison.Cell, confidence: Double) -> Bool {
        (cell.adjustedPValue ?? 1) <= 1 - confidence + 1e-12
    }
}

extension StandardError {
    /// The degrees of freedom, if they are finite.
    var finiteDegrees: Double? { degrees.isFinite ? degrees : nil }
}

extension Interval {
    /// The interval in points: `-0.20 to +1.30`.
    var words: String { "\(low.signedHundredths) to \(high.signedHundredths)" }
}

/// The names of the compared traces. Traces that share a name, their requests, or the name that they count as, are one
/// trace.
private struct TraceNaming {
    /// The names in alphabetical order.
    let order: [String]
    /// A sentence for each trace with several names.
    let notes: [String]
    private let names: [String: String]

    init(_ pairs: [ComparedPair]) {
        var parent: [String: String] = [:]
        func root(_ item: String) -> String {
            var item = item
            while let next = parent[item], next != item { item = next }
            return item
        }
        func join(_ item: String, _ other: String) {
            for item in [item, other] where parent[item] == nil { parent[item] = item }
            parent[root(other)] = root(item)
        }
        var chosen: Set<String> = []
        for pair in pairs {
            let requests = "#" + pair.a.first.identity.fingerprint
            for row in pair.a.rows + pair.b.rows { join(requests, "@" + row.cell.trace.name) }
            if let name = pair.countsAs {
                join(requests, "@" + name)
                chosen.insert(name)
            }
        }
        var members: [String: [String]] = [:]
        for item in parent.keys where item.hasPrefix("@") {
            members[root(item), default: []].append(String(item.dropFirst()))
        }
        var names: [String: String] = [:]
        var notes: [String] = []
        for group in members.values.map({ $0.sorted() }).sorted(by: { $0[0] < $1[0] }) {
            let known = group.first(where: chosen.contains)
            for name in group { names[name] = known ?? group[0] }
            if let known, group.count > 1 {
                notes.append("\(group.joined(separator: " and ")) count as one trace, \(known).")
            } else if group.count > 1 {
                notes.append("\(group.joined(separator: " and ")) have the same requests and count as one trace.")
            }
        }
        self.names = names
        self.notes = notes
        order = Set(names.values).sorted()
    }

    func name(of pair: ComparedPair) -> String { names[pair.a.first.trace.name] ?? pair.a.first.trace.name }
}
