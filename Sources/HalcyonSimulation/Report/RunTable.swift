import HalcyonEviction
import HalcyonPrefetch

/// The columns and the order of the table of runs.
public struct TableOptions: Sendable, Equatable {
    /// A column of the table. The raw value is its name on the command line.
    public enum Column: String, Sendable, CaseIterable, Codable {
        /// The hits by requests.
        case hitRatio = "hit-ratio"
        /// The bytes hit by bytes requested.
        case byteHitRatio = "byte-hit-ratio"
        /// One minus the hit ratio.
        case missRatio = "miss-ratio"
        /// One minus the byte hit ratio.
        case byteMissRatio = "byte-miss-ratio"
        /// The total cost of the misses.
        case missCost = "miss-cost"
        /// The share of the gap between LRU and the optimum that is closed.
        case gapClosed = "gap-closed"
        /// The 10th percentile of the users' hit ratios.
        case userP10 = "user-p10"
        /// The median of the users' hit ratios.
        case userP50 = "user-p50"
        /// The 90th percentile of the users' hit ratios.
        case userP90 = "user-p90"
        /// The requests served from memory, by all requests.
        case memory
        /// The requests served from disk, by all requests.
        case disk
        /// The mean latency, in milliseconds.
        case meanLatency = "mean-ms"
        /// The 99th percentile of the latency, in milliseconds.
        case p99Latency = "p99-ms"
        /// The requests whose object was not admitted, by all requests.
        case refused
        /// The requests that found their object expired or of another size, by all requests.
        case stale
        /// The number of evictions.
        case evictions
        /// Millions of requests per second.
        case speed
        /// The metadata bytes that do not grow with the entries.
        case fixed
        /// The other metadata bytes per resident.
        case perResident = "per-resident"
        /// All metadata bytes of the replay.
        case total
    }

    /// The columns to show. Nil by default: those that apply to the runs.
    public var columns: [Column]?
    /// The column to order the rows by: ratios of hits, speeds and counts of hits from the largest, all others from the
    /// smallest. Nil by default: the requested order, the offline optimum last.
    public var order: Column?
    /// Whether the default columns have miss ratios in place of hit ratios. False by default.
    public var showsMissRatio = false

    /// Creates the default options.
    public init() {}
}

/// The runs of one policy at one capacity that differ in their seed only: a row of the table.
struct RunRow {
    let runs: [RunResult]

    var first: RunResult { runs[0] }
    var label: String { first.label + (first.prefetch.map { " + \($0.policy)" } ?? "") }
    var isOffline: Bool { first.traits.contains("needs_future") }

    func mean(_ value: (RunResult) -> Double) -> Double {
        // Equal values have exactly that mean.
        let first = value(runs[0])
        return first + runs.reduce(0) { $0 + (value($1) - first) } / Double(runs.count)
    }

    func meanCount(_ value: (RunResult) -> Int) -> Int { Int(mean { Double(value($0)) }.rounded()) }

    /// Returns the mean of a count by the number of requests.
    func meanShare(_ value: (RunResult) -> Int) -> Double { mean { Double(value($0)) / Double(max(1, $0.requests)) } }

    /// Returns the mean of a field that every run has; `nil` if one lacks it.
    func meanIfAll(_ value: (RunResult) -> Double?) -> Double? {
        let values = runs.compactMap(value)
        return values.count == runs.count ? mean { value($0) ?? 0 } : nil
    }

    /// The half-width of the 95 % confidence interval of the mean; 0 for one run.
    func margin(_ value: (RunResult) -> Double) -> Double { Estimate(runs.map(value))?.margin ?? 0 }

    /// Returns the rows of runs, in the order of their first run.
    static func rows(_ runs: [RunResult]) -> [RunRow] {
        var groups: [[RunResult]] = []
        var places: [String: Int] = [:]
        for run in runs {
            let name = "\(run.label) + \(run.prefetch?.policy ?? "")"
            // The same run requested twice stays two rows.
            if let place = places[name], !groups[place].contains(where: { $0.seed == run.seed }) {
                groups[place].append(run)
            } else {
                places[name] = groups.count
                groups.append([run])
            }
        }
        return groups.map { RunRow(runs: $0) }
    }
}

/// The table of the runs at one capacity.
struct RunTable {
    private let rows: [RunRow]
    private let trace: TraceSummary
    private let options: TableOptions
    private let references: GapReferences

    init(_ runs: [RunResult], trace: TraceSummary, options: TableOptions) {
        self.trace = trace
        self.options = options
        let requested = RunRow.rows(runs)
        let references = GapReferences(requested, trace: trace)
        self.references = references
        if let order = options.order {
            let column = ColumnContent(order, references)
            let keyed = requested.enumerated().map { (key: column.key($1), place: $0, row: $1) }
            rows = keyed.sorted { ($0.key, $0.place) < ($1.key, $1.place) }.map(\.row)
        } else {
            rows = requested.filter { !$0.isOffline } + requested.filter(\.isOffline)
        }
    }

    private var shown: [TableOptions.Column] { options.columns ?? standardColumns }

    /// Returns the table; ``notes`` has the sentences that its figures need.
    func rendered(emphasis: Bool) -> String {
        let columns = shown.map { ColumnContent($0, references) }
        let online = rows.filter { !$0.isOffline }
        let best = columns.map { $0.isRatio ? online.map($0.key).min() : nil }
        var table = TextTable(left: ["policy"], right: columns.map(\.title))
        for row in rows {
            let cells = zip(columns, best).map { column, best in
                TextTable.Cell(column.text(row), isBold: !row.isOffline && best == column.key(row))
            }
            table.add([.init(row.label)] + cells)
        }
        return table.rendered(emphasis: emphasis)
    }

    private var standardColumns: [TableOptions.Column] {
        let hasBytes = trace.sizeUnit == .bytes
        var columns: [TableOptions.Column] = options.showsMissRatio ? [.missRatio] : [.hitRatio]
        if hasBytes { columns.append(options.showsMissRatio ? .byteMissRatio : .byteHitRatio) }
        if rows.contains(where: { $0.first.missCost != nil }) { columns.append(.missCost) }
        if references.exist { columns.append(.gapClosed) }
        if rows.contains(where: { $0.first.userDistribution != nil }) { columns += [.userP10, .userP50, .userP90] }
        if rows.allSatisfy({ $0.first.tiers != nil }) { columns += [.memory, .disk, .meanLatency, .p99Latency] }
        // The optimum refuses by definition; its refusals alone are no reason for a column.
        if rows.contains(where: { !$0.isOffline && $0.meanCount { $0.admissionsRefused } > 0 }) {
            columns.append(.refused)
        }
        if rows.contains(where: { $0.meanCount { $0.stale } > 0 }) { columns.append(.stale) }
        return columns + [.evictions, .speed, .fixed, .perResident, .total]
    }

    /// Returns a percentage; of several runs with its margin, and no more digits than the margin's first one, at most
    /// two decimals.
    static func percent(_ share: Double, margin: Double, runs: Int) -> String {
        guard runs > 1 else { return share.percent }
        let points = margin * 100
        let digits = points >= 10 ? 0 : points >= 0.95 ? 0 : points >= 0.095 ? 1 : 2
        return "\((share * 100).decimals(digits)) ± \(points.decimals(digits)) %"
    }

    // MARK: - Notes

    /// The sentences that the figures of the table need.
    var notes: [String] {
        var notes: [String] = []
        if let several = rows.first(where: { $0.runs.count > 1 })?.runs.count {
            notes.append(
                "\(several) seeds (--seeds): ± is the half-width of the 95 % interval of the mean (Student's t).")
        } else if let random = rows.first(where: { $0.first.isRandomised && !$0.isOffline }) {
            notes.append(
                "\(random.label) draws random numbers, and this is one seed of it: --seeds 5 shows how much they matter."
            )
        }
        if shown.contains(.gapClosed) { notes += references.notes }
        if let kingfisher = rows.first(where: { $0.first.label == "kingfisher" })?.first, let tiers = kingfisher.tiers {
            let share = TierOptions.kingfisherDiskPerMemory
            let isStandard = tiers.memoryCapacity == max(1, tiers.diskCapacity / share)
            notes.append(
                isStandard
                    ? "kingfisher: \(tiers.memoryPolicy) (1/\(share) of the capacity) in front of \(tiers.diskPolicy) (the "
                        + "capacity), as in an app."
                    : "kingfisher: \(tiers.memoryPolicy) in front of \(tiers.diskPolicy), as in an app.")
        }
        notes += refusals
        notes += deviceNotes
        if rows.contains(where: { $0.meanCount { $0.stale } > 0 }) {
            notes.append("stale: requests that found their object expired, or of another size.")
        }
        return notes + timeNotes
    }

    /// The metadata of one device, where each has a model and a prefetch policy.
    private var deviceNotes: [String] {
        rows.compactMap { row in
            guard row.first.knowledge == .device,
                let mean = row.meanIfAll({ $0.deviceMetadata.map { Double($0.meanBytes) } })
            else { return nil }
            let largest = row.runs.compactMap(\.deviceMetadata?.largestBytes).max() ?? 0
            return
                "\(row.label): the metadata of a device, with its models, have \(Int(mean.rounded()).bytesForPeople) on "
                + "average, \(largest.bytesForPeople) at most; 'total' is that of all devices."
        }
    }

    /// The reasons why objects were refused.
    private var refusals: [String] {
        let refusing = rows.filter { !$0.isOffline && $0.meanCount { $0.admissionsRefused } > 0 }
        guard !refusing.isEmpty else { return [] }
        let largest = rows.map { max($0.first.capacity, $0.first.tiers?.memoryCapacity ?? 0) }.max() ?? 0
        if trace.smallestSize > largest {
            return [
                "no object fits: the smallest is \(amount(trace.smallestSize)), the capacity \(amount(largest))."
            ]
        }
        var notes = ["refused: requests whose object was not kept."]
        let tooLarge = refusing.map { $0.meanCount { $0.refusedTooLarge } }.max() ?? 0
        if tooLarge > 0 { notes[0] += " \(tooLarge.counted("request")) ask for an object larger than the cache." }
        for row in refusing where row.meanCount({ $0.admissionsRefused - $0.refusedTooLarge }) > 0 {
            let kept =
                row.first.hits == 0 && row.first.admissionsRefused == row.first.requests ? "no object was kept; " : ""
            notes.append("\(row.label): \(kept)\(row.first.admissionRule ?? "refuses some objects").")
        }
        return notes
    }

    /// The warnings about times that the trace does not have.
    private var timeNotes: [String] {
        if trace.hasTimes { return [] }
        var users = rows.filter { $0.first.traits.contains("uses_time") }.map(\.label)
        let tiers = rows.compactMap(\.first.tiers)
        if tiers.contains(where: { $0.memoryLifetime != nil || $0.diskLifetime != nil }) { users.append("expirations") }
        if rows.contains(where: { ($0.first.prefetch?.fetchLatency ?? 0) > 0 }) { users.append("--fetch-latency") }
        if users.isEmpty { return [] }
        return [
            "the trace has no times; \(users.joined(separator: ", ")) \(users.count == 1 ? "depends" : "depend") on the "
                + "assumed second per request."
        ]
    }

    private func amount(_ size: Int) -> String {
        trace.sizeUnit == .bytes ? size.bytesForPeople : size.counted("object")
    }
}

/// What a column of the table shows.
private struct ColumnContent {
    let title: String
    /// Returns the value that orders the rows: the smallest is the best.
    let key: (RunRow) -> Double
    let text: (RunRow) -> String
    /// Whether the column is a hit or miss ratio, whose best one is set in bold.
    var isRatio = false

    init(_ column: TableOptions.Column, _ references: GapReferences) {
        switch column {
        case .hitRatio: self = Self.ratio("hit ratio", \.objectHitRatio)
        case .byteHitRatio: self = Self.ratio("byte hit ratio", \.byteHitRatio)
        case .missRatio: self = Self.ratio("miss ratio", isMiss: true, \.objectHitRatio)
        case .byteMissRatio: self = Self.ratio("byte miss ratio", isMiss: true, \.byteHitRatio)
        case .missCost: self.init("miss cost", { $0.meanIfAll(\.missCost) }) { $0.decimals(1) }
        case .gapClosed:
            self.init("gap closed", key: { -(references.gapClosed(by: $0)?.share ?? -.infinity) }) { row in
                let gap = references.gapClosed(by: row)
                return gap.map { RunTable.percent($0.share, margin: $0.margin, runs: row.runs.count) } ?? "-"
            }
        case .userP10: self = Self.user("user p10", \.p10)
        case .userP50: self = Self.user("user p50", \.p50)
        case .userP90: self = Self.user("user p90", \.p90)
        case .memory: self = Self.hits("memory", \.memoryHits)
        case .disk: self = Self.hits("disk", \.diskHits)
        case .meanLatency: self.init("mean ms", { $0.meanIfAll { $0.tiers?.meanLatency } }) { $0.decimals(2) }
        case .p99Latency: self.init("p99 ms", { $0.meanIfAll { $0.tiers?.p99Latency } }) { $0.decimals(2) }
        case .refused: self = Self.share("refused", \.admissionsRefused)
        case .stale: self = Self.share("stale", \.stale)
        case .evictions: self = Self.count("evictions", \.evictions, \.grouped)
        case .speed:
            self.init("M req/s", highestFirst: true, { $0.mean(\.requestsPerSecond) }) { ($0 / 1e6).decimals(2) }
        case .fixed: self = Self.count("fixed", \.metadataFixedBytes, \.bytesForPeople)
        case .perResident: self.init("B/resident", { $0.mean(\.metadataBytesPerResident) }) { $0.decimals(0) }
        case .total: self = Self.count("total", \.metadataBytes, \.bytesForPeople)
        }
    }

    /// A figure that a row may lack: it is then a dash, and the last one.
    private init(
        _ title: String, highestFirst: Bool = false, _ value: @escaping (RunRow) -> Double?,
        _ text: @escaping (Double) -> String
    ) {
        self.title = title
        key = { highestFirst ? -(value($0) ?? -.infinity) : value($0) ?? .infinity }
        self.text = { value($0).map(text) ?? "-" }
    }

    private init(
        _ title: String, key: @escaping (RunRow) -> Double, isRatio: Bool = false, text: @escaping (RunRow) -> String
    ) {
        (self.title, self.key, self.text, self.isRatio) = (title, key, text, isRatio)
    }

    private static func ratio(
        _ title: String, isMiss: Bool = false, _ value: @escaping (RunResult) -> Double
    ) -> Self {
        Self(title, key: { -$0.mean(value) }, isRatio: true) { row in
            let mean = row.mean(value)
            return RunTable.percent(isMiss ? 1 - mean : mean, margin: row.margin(value), runs: row.runs.count)
        }
    }

    private static func user(_ title: String, _ value: @escaping (UserDistribution) -> Double) -> Self {
        Self(title, highestFirst: true, { $0.meanIfAll { $0.userDistribution.map(value) } }) { $0.percent }
    }

    private static func hits(_ title: String, _ value: @escaping (TierResult) -> Int) -> Self {
        Self(title, key: { -($0.meanIfAll { $0.tiers.map { Double(value($0)) } } ?? .infinity) }) { row in
            row.first.tiers == nil ? "-" : row.meanShare { $0.tiers.map(value) ?? 0 }.percent
        }
    }

    private static func share(_ title: String, _ value: @escaping (RunResult) -> Int) -> Self {
        Self(title, key: { $0.mean { Double(value($0)) } }) { $0.meanShare(value).percent }
    }

    private static func count(
        _ title: String, _ value: @escaping (RunResult) -> Int, _ text: @escaping (Int) -> String
    ) -> Self {
        Self(title, { $0.mean { Double(value($0)) } }) { text(Int($0.rounded())) }
    }
}

/// The references that the column *gap closed* compares with: LRU below, the offline optimum above.
///
/// The references do not depend on which other policies were requested. Belady always admits. In a small cache,
/// a policy that refuses objects can have more hits. Its reference is therefore `belady(bypass=on)` if the cache holds
/// fewer than ``smallCache`` objects of average size and the run refused an object that fits. A run that refused none
/// is bounded by Belady, whatever its policy may do elsewhere.
package struct GapReferences {
    /// The number of objects of average size from which bypassing is taken to make no difference.
    package static let smallCache = 1_000

    private let lru: RunRow?
    private let optimum: RunRow?
    private let bypassing: RunRow?
    private let isSmall: Bool
    private let refusing: [String]
    private let sizesVary: Bool

    init(_ rows: [RunRow], trace: TraceSummary) {
        func plain(_ row: RunRow) -> Bool { row.first.prefetch == nil && row.first.tiers == nil }
        lru = rows.first { $0.first.label == "lru" && plain($0) }
        let belady = rows.filter { $0.first.policy == "belady" && plain($0) }
        optimum = belady.first { $0.first.parameters["bypass"] != "on" }
        bypassing = belady.first { $0.first.parameters["bypass"] == "on" }
        isSmall = Self.isSmall(
            rows[0].first.capacity, objects: trace.objects, distinctSize: trace.distinctSize)
        refusing = rows.filter { Self.refuses($0) }.map(\.label)
        sizesVary = trace.sizesVary
    }

    /// Whether a cache of this capacity holds fewer than ``smallCache`` objects of average size.
    package static func isSmall(_ capacity: Int, objects: Int, distinctSize: Int) -> Bool {
        Double(capacity) * Double(objects) < Double(smallCache) * Double(distinctSize)
    }

    /// Whether both ends of the gap were replayed.
    var exist: Bool { lru != nil && (optimum != nil || bypassing != nil) }

    /// Returns the share of the gap that a row closes, and the margin of the mean over seeds; `nil` if its reference was
    /// not replayed, or there is no gap.
    func gapClosed(by row: RunRow) -> (share: Double, margin: Double)? {
        guard let low = lru?.mean({ $0.objectHitRatio }),
            let high = (isSmall && Self.refuses(row) ? bypassing : optimum)?.mean({ $0.objectHitRatio }), high > low
        else { return nil }
        let gap = high - low
        return ((row.mean { $0.objectHitRatio } - low) / gap, row.margin { $0.objectHitRatio } / gap)
    }

    /// Whether the row is the optimum that bypasses, or a run of it refused an object that fits into the cache.
    private static func refuses(_ row: RunRow) -> Bool {
        row.first.parameters["bypass"] == "on" || row.runs.contains { $0.admissionsRefused > $0.refusedTooLarge }
    }

    /// The sentences that name the references.
    var notes: [String] {
        guard lru != nil else { return [] }
        var notes: [String] = []
        let names = refusing.filter { !$0.hasPrefix("belady") }
        if isSmall, !names.isEmpty {
            notes.append(
                "gap closed: from lru to belady; of \(names.joined(separator: ", ")), which refused objects, "
                    + (bypassing == nil ? "only beside belady(bypass=on)." : "to belady(bypass=on)."))
        } else {
            notes.append("gap closed: from lru to belady.")
        }
        if sizesVary {
            notes.append("sizes vary, so belady is a mark and not the optimum.")
        }
        return notes
    }
}

extension RunResult {
    /// Whether the result depends on the seed.
    var isRandomised: Bool {
        traits.contains("is_randomised")
            || prefetch.flatMap { PrefetchCatalogue.entry(named: String($0.policy.prefix { $0 != "(" })) }?.traits
                .contains(.isRandomised) == true
    }
}
