import HalcyonEviction
import HalcyonTrace

extension RunResult {
    /// Gives names to what was measured in a loaded trace.
    package init(
        _ policy: ConfiguredPolicy, trace: Trace, mode: ReplayMode, options: ReplayOptions, _ measured: Measured
    ) {
        let counts = measured.counts
        self.init(
            policy, unit: trace.sizeUnit, requests: trace.count, mode: mode, options: options, measured)
        categories = options.byCategory ? Self.byCategory(counts.byCategorySet, trace) : nil
        users = options.byUser ? Self.byUser(counts.byUser, trace) : nil
        userDistribution =
            mode == .perUser
            ? UserDistribution(counts.byUser.filter { $0.requests > 0 }.map(\.objectHitRatio)) : nil
    }

    /// Gives names to what was measured, without tables.
    ///
    /// - Parameter requests: the requests served, the warm-up included.
    init(
        _ policy: ConfiguredPolicy, unit: SizeUnit, requests: Int, mode: ReplayMode, options: ReplayOptions,
        _ measured: Measured
    ) {
        let counts = measured.counts
        func difference(_ value: (CacheState) -> Int) -> Int {
            measured.caches.reduce(0) { $0 + value($1.after) - value($1.before) }
        }
        let metadata = measured.caches.reduce(MetadataBytes()) { $0 + $1.after.metadataBytes }
        let residents = measured.caches.reduce(0) { $0 + $1.after.count }
        self.init(
            policy: policy.info.name, label: policy.label,
            parameters: Dictionary(policy.parameters.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }),
            traits: policy.info.traits.nameList, capacity: 0, capacityAsked: "", capacityUnit: unit,
            mode: mode, caches: measured.caches.count, requests: counts.total.requests, hits: counts.total.hits,
            objectHitRatio: counts.total.objectHitRatio, byteHitRatio: counts.total.byteHitRatio,
            bytesFetched: counts.total.bytesFetched, evictions: difference(\.evictions),
            admissionsRefused: counts.refused, stale: counts.stale, warmupRequests: counts.warmup,
            seed: options.seed, seconds: measured.seconds,
            requestsPerSecond: measured.seconds > 0 ? Double(requests) / measured.seconds : 0,
            metadataBytes: metadata.total, metadataFixedBytes: metadata.fixed,
            metadataBytesPerResident: measured.entries.bytesPerResident(metadata, residents: residents),
            metrics: Dictionary(
                measured.caches.last?.after.metrics.map { ($0.name, $0.value) } ?? [], uniquingKeysWith: { $1 }),
            windows: counts.windows)
        kernels = KernelInfo(policy)
    }

    private static func byCategory(_ tallies: [Tally], _ trace: Trace) -> [String: Tally] {
        var sums = [Tally](repeating: Tally(), count: trace.categoryCount)
        for (set, tally) in tallies.enumerated() where tally.requests > 0 {
            for category in trace.categorySets[UInt32(set)] { sums[Int(category)].add(tally) }
        }
        return named(sums, trace.names.categories)
    }

    private static func byUser(_ tallies: [Tally], _ trace: Trace) -> [String: Tally] {
        named(tallies, trace.names.users)
    }

    /// By name, or by number where names were not kept.
    private static func named(_ tallies: [Tally], _ names: StringTable) -> [String: Tally] {
        var table: [String: Tally] = [:]
        for (number, tally) in tallies.enumerated() where tally.requests > 0 {
            table[number < names.count ? names[UInt32(number)] : "\(number)", default: Tally()].add(tally)
        }
        return table
    }
}

extension PolicyTraits {
    /// The traits by name.
    public var nameList: [String] { PolicyTraits.names.filter { contains($0.trait) }.map(\.name) }
}
