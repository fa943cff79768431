import ArgumentParser
import Foundation
import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace

/// `replay TRACE`: every policy at every capacity.
struct RunCommand: AsyncParsableCommand {
    enum Devices: String, CaseIterable, ExpressibleByArgument {
        case user
    }

    enum Table: String, CaseIterable, ExpressibleByArgument {
        case category, user
    }

    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Replay a trace through policies (the default).")

    @OptionGroup var trace: TraceArguments

    @Option(
        name: [.short, .long],
        help:
            "A policy, with parameters if any: 's3-fifo(small=0.2)'. May be repeated; several may be separated by commas."
    )
    var policy: [String] = []

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Capacities: a share of all distinct bytes or objects (1%), a size (64MB), or a number of bytes where sizes "
                + "are known and of objects where they are not. (default: 1%,10%)", valueName: "capacity,…"))
    var capacity: String?

    @Flag(help: "Only the policies that were asked for, without the baselines beside them.")
    var only = false

    @Option(help: "Give each user a cache of their own of the stated capacity, as on a device.")
    var per: Devices?

    @Option(
        help:
            "With --per user: caches whose policy learns share one model, have their own, or adapt the shared one to their user. (default: shared)"
    )
    var models: FleetModels?

    @OptionGroup(title: "A trained model") var pretrained: ModelArguments

    @Option(help: "Two tiers in place of one cache: memory=64MB,disk=1GB.")
    var tiers: String?

    @Option(help: "With --tiers: how long an entry lives in memory after its last access, such as 300s.")
    var memoryExpiration: String?

    @Option(help: "With --tiers: how long an entry lives on disk after its last access, such as 7d.")
    var diskExpiration: String?

    @Option(
        help:
            "With --tiers: milliseconds an access takes, memory=0.001,disk=10,network=150, and bandwidth=5MB a second.")
    var latency: String?

    @OptionGroup(title: "Prefetching") var prefetching: PrefetchArguments

    @Option(help: "Replay at most so many requests.")
    var limit: Int?

    @Option(help: "Leave out so many requests from the start.")
    var skip: Int = 0

    @Option(help: "The share of the requests, 0 to less than 1, that comes first and only warms the cache, uncounted.")
    var warmup: Double = 0

    @Option(help: "The seed of everything random.")
    var seed: UInt64 = 1

    @Option(help: "Into how many equal stretches the series over time is cut, in JSON. (default: 10)")
    var windows: Int?

    @Option(help: "Also count hits by category or by user: the largest in the table, all in JSON. May be repeated.")
    var by: [Table] = []

    @Flag(
        help: ArgumentHelp(
            "Also time each access and each choice of a victim: percentiles for hits, misses and evictions.",
            discussion: "Runs then go one at a time, unless --threads says otherwise, and take longer."))
    var timings = false

    @Option(help: "How many runs go on at once; by default one a core.")
    var threads: Int?

    @Flag(
        help:
            "Replay while reading, for traces larger than memory: policies that need no future, capacities in numbers.")
    var stream = false

    @OptionGroup(title: "Output") var output: OutputArguments

    func run() async throws {
        try await reportingFailure {
            try validateNumbers()
            try verifyFiles()
            let report = stream ? try streamed() : try await loaded()
            let data =
                switch output.format {
                case .table:
                    Data(report.table(emphasis: Terminal.allowsEmphasis && output.output == nil).utf8)
                case .json: try report.json()
                case .csv: report.csv()
                case .jsonl: try report.jsonLines()
                }
            try Output.write(data, to: output.output)
        }
    }

    private func verifyFiles() throws {
        try CommandFiles(
            reads: [
                ("trace", trace.path), ("model", pretrained.model), ("prefetch model", prefetching.prefetchModel),
            ],
            writes: [("--output", output.output)]
        ).verify()
    }

    private func loaded() async throws -> ReplayReport {
        let policies = try chosenPolicies(from: pretrained.catalogue())
        let tiers = try tierOptions()
        var names: NameKinds = []
        if by.contains(.category) { names.insert(.categories) }
        if by.contains(.user) { names.insert(.users) }
        if try prefetching.options().contains(where: \.needsKeys) { names.insert(.keys) }
        var load = try trace.options(names: names)
        if per == nil {
            load.limit = limit
            load.skip = skip
        }
        let (requests, notes) = try perUserPart(of: Trace.load(trace.path, load))
        if by.contains(.category), !requests.hasCategories {
            throw ReplayError.data("\(trace.path) names no category, so that there is no table by category.")
        }
        if by.contains(.user), !requests.hasUsers {
            throw ReplayError.data("\(trace.path) names no user, so that there is no table by user.")
        }
        let prefetches = try prefetching.options()
        let options = ReplayOptions(
            warmup: warmup, seed: seed, windows: windows ?? 10, byCategory: by.contains(.category),
            byUser: by.contains(.user), timings: timings)
        let wanted: [PrefetchOptions?] = prefetches.isEmpty ? [nil] : prefetches
        let sweeps = try wanted.map { prefetch in
            var options = options
            options.prefetch = prefetch
            return try Sweep(
                trace: requests, policies: policies, capacities: try capacities(), options: options,
                mode: per == .user ? .perUser : .shared, models: models ?? .shared, tiers: tiers)
        }
        let progress = ReplayProgress(total: sweeps.reduce(0) { $0 + $1.runCount } * requests.count)
        // The fingerprint takes a pass over all columns: meanwhile the runs begin.
        async let summary = TraceSummary(
            requests, path: trace.path, notes: notes + pretrained.notes + prefetching.notes)
        let runs = await showingProgress(progress) {
            var runs: [RunResult] = []
            for sweep in sweeps {
                runs += await sweep.run(workers: threads ?? (timings ? 1 : nil), progress: progress)
            }
            return runs
        }
        return await ReplayReport(trace: summary, runs: runs)
    }

    /// What of the trace is replayed where each user has a cache, and what the reader should know of it.
    private func perUserPart(of trace: Trace) throws -> (trace: Trace, notes: [String]) {
        guard per == .user else { return (trace, []) }
        guard trace.hasUsers else {
            throw ReplayError.data("\(self.trace.trace) names no user, so that there is no cache for each.")
        }
        let part = trace.selection(skip: skip, limit: limit, withUserOnly: true)
        let note = "\(part.withoutUser.counted("request")) without a user left out."
        return (part.trace, part.withoutUser > 0 ? [note] : [])
    }

    private func streamed() throws -> ReplayReport {
        if per != nil || tiers != nil || !by.isEmpty || warmup > 0 || windows != nil {
            throw ReplayError.usage(
                "--stream goes with none of --per, --tiers, --by, --warmup and --windows: they need the whole trace.")
        }
        if prefetching.isOn { throw ReplayError.usage("--prefetch needs a loaded trace: leave out --stream.") }
        if timings { throw ReplayError.usage("--timings times a loaded trace: leave out --stream.") }
        var load = try trace.options(names: [])
        load.limit = limit
        load.skip = skip
        return try StreamReplay(
            path: trace.path, load: load, policies: try chosenPolicies(from: pretrained.catalogue()),
            capacities: try capacities(), seed: seed
        ).run(notes: pretrained.notes)
    }

    private func chosenPolicies(from catalogue: PolicyCatalogue) throws -> [ConfiguredPolicy] {
        var chosen = try policy.flatMap(PolicySpec.split).map { try catalogue.policy($0) }
        if chosen.isEmpty { chosen = [try catalogue.policy("learned")] }
        if !only {
            for name in ["lru", "lfu", "kingfisher", "s3-fifo", "gdsf", "belady"] {
                let baseline = try catalogue.policy(name)
                if tiers != nil || stream || prefetching.isOn, baseline.info.traits.contains(.needsFuture) { continue }
                if !chosen.contains(where: { $0.label == baseline.label }) { chosen.append(baseline) }
            }
        }
        try pretrained.requireUse(by: chosen)
        return chosen
    }

    private func capacities() throws(ReplayError) -> [CapacityRequest] {
        try CapacityRequest.list(parsing: capacity ?? "1%,10%")
    }

    private func tierOptions() throws -> TierOptions? {
        guard let tiers else {
            if memoryExpiration != nil || diskExpiration != nil || latency != nil {
                throw ReplayError.usage("--memory-expiration, --disk-expiration and --latency need --tiers.")
            }
            return nil
        }
        if capacity != nil { throw ReplayError.usage("--tiers states the capacities: leave out --capacity.") }
        if timings { throw ReplayError.usage("--timings times one cache: leave out --tiers.") }
        var options = try TierOptions(parsing: tiers)
        options.memoryLifetime = try memoryExpiration.map { try TimeSpan(parsing: $0).microseconds }
        options.diskLifetime = try diskExpiration.map { try TimeSpan(parsing: $0).microseconds }
        if let latency { options.latency = try LatencyModel(parsing: latency) }
        return options
    }

    private func validateNumbers() throws {
        if let limit, limit < 1 { throw ReplayError.usage("--limit \(limit) leaves nothing: give at least 1.") }
        if skip < 0 { throw ReplayError.usage("--skip \(skip) is negative: give 0 or more.") }
        if !(0..<1).contains(warmup) {
            throw ReplayError.usage("--warmup \(warmup) is not a share: give a number from 0 to less than 1.")
        }
        if models != nil, per == nil { throw ReplayError.usage("--models needs --per user.") }
        if let windows, windows < 1 || windows > 100_000 {
            throw ReplayError.usage("--windows \(windows) cannot be: give 1 to 100000.")
        }
        if let threads, threads < 1 { throw ReplayError.usage("--threads \(threads) cannot be: give at least 1.") }
    }
}
