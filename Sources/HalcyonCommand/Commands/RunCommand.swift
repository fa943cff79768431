import ArgumentParser
import Foundation
import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonSimulation
import HalcyonTrace

/// `replay TRACE…`: replays every policy at every capacity.
struct RunCommand: AsyncParsableCommand {
    enum PerUser: String, CaseIterable, ExpressibleByArgument {
        case user
    }

    enum Table: String, CaseIterable, ExpressibleByArgument {
        case category, user
    }

    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Replay traces through policies (the default).")

    @Argument(
        help: ArgumentHelp(
            "The traces: CSV with a header, oracleGeneral, lcs, vSCSI, Twitter's text, or a form of --trace-format, plain, gzip, "
                + "zstd or xz; or an access log; - is standard input.", valueName: "trace"))
    var traces: [String]

    @OptionGroup(title: "Reading") var reading: ReadingArguments

    @Option(
        name: [.short, .long],
        help:
            """
            A policy, with parameters if any: 's3-fifo(small=0.2)'. May be repeated; several may be separated by commas. \
            'kingfisher' is an app's two tiers, with a memory of a sixteenth of the capacity in front of the disk.
            """
    )
    var policy: [String] = []

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Capacities: a share of all distinct bytes or objects (1%), a size (64MB is 64,000,000 bytes, 64MiB 64 × 1,048,576), "
                + "or a number (1000, 64k, 1e6; k, M, G and T are powers of 1000): of bytes if the trace has sizes, otherwise of "
                + "objects; or a range of ten (0.1%..20%:10). (default: 1%,10%)",
            valueName: "capacity,…"))
    var capacity: String?

    @Flag(help: "Replay only the given policies, without the baselines.")
    var only = false

    @Option(help: "Give each 'user' a separate cache of this capacity.")
    var per: PerUser?

    @OptionGroup var knowing: KnowledgeArguments

    @Option(
        help: ArgumentHelp(
            """
            With --per user: replay only part i, from 1, of n parts of the users, divided by a hash of their numbers. The counts \
            of all parts add up to those of the whole.
            """, valueName: "i/n"))
    var users: String?

    @OptionGroup(title: "A trained model") var pretrained: ModelArguments

    @OptionGroup(title: "A trained model") var pretraining: PretrainArguments

    @Option(
        help: """
            Two tiers in place of one cache: memory=64MB,disk=1GB. A tier may have a policy of its own: \
            memory=64MB:kingfisher-memory,disk=1GB:kingfisher-disk.
            """)
    var tiers: String?

    @Option(help: "With --tiers: the lifetime of an entry in memory after its last access, such as 300s.")
    var memoryExpiration: String?

    @Option(help: "With --tiers: the lifetime of an entry on disk after its last access, such as 7d.")
    var diskExpiration: String?

    @Option(
        help:
            "With --tiers: latencies in milliseconds, memory=0.001,disk=10,network=150, and bandwidth=5MB per second.")
    var latency: String?

    @Option(
        help: """
            With --tiers: the ratio of an object's size in memory, decoded, to its size on disk; 1 by default. The capacity of \
            the memory counts decoded bytes.
            """)
    var decodedSizeRatio: Double?

    @OptionGroup(title: "Prefetching") var prefetching: PrefetchArguments

    @Option(
        help: ArgumentHelp(
            """
            With --prefetch, --per user and device knowledge: at its first request in each period, a device receives the objects \
            that all users requested most in the last period. Also counts=on, the server's counts, and entry-bytes=64. The bytes \
            of the lists are reported.
            """, valueName: "popular(count=100, every=1h)"))
    var announce: String?

    @Option(
        help: ArgumentHelp(
            """
            With --per user and device knowledge: kill the app after each pause of more than 30 minutes. Memory is empty then (with \
            --tiers), the disk or the only tier stays, and policies that learn continue with what a live cache has written: the latest \
            16,384 calls of the policy, or as many as visits(calls=1024) says, and its model if there were more.
            """, valueName: "visits"))
    var restart: String?

    @Flag(
        help: """
            Let entries expire by the lifetimes of the trace, as libCacheSim does: from a CSV's column ttl (or --columns ttl=…), \
            Twitter's text, lcs from version 3, or the presets meta-kv and twitter.
            """)
    var useTtl = false

    @Option(help: "Replay at most this number of requests.")
    var limit: Int?

    @Option(help: "Skip this number of requests at the start.")
    var skip: Int = 0

    @Option(
        help: ArgumentHelp(
            "Shuffle simultaneous requests of each user with this seed: the control for an artificial order in the source.",
            valueName: "seed"))
    var shuffle: UInt64?

    @OptionGroup var opening: ListArguments

    @Option(
        help: ArgumentHelp(
            "The first requests, which warm up the caches and are not counted: a share (25%, or 0.25: a number with a point), a "
                + "number of requests (60000, 60k), or a time from the first request (5d, 12h, 30min).",
            valueName: "share|requests|time"))
    var warmup: String = "0"

    @Option(
        help: ArgumentHelp(
            "Replay this trace first, read with the same options, and do not count it. Equal keys are one object, and shares of "
                + "--capacity are of the objects of both. --skip, --limit and --warmup apply to the counted trace.",
            valueName: "file"))
    var warmupTrace: String?

    @Option(help: "The seed of all random choices; without --seeds, the only one. (default: 1)")
    var seed: UInt64?

    @Option(
        help: """
            Replay policies that draw random numbers with this number of seeds, from --seed on, and show the mean and the 95 % \
            confidence interval. (default: 3 in a table, 1 with --seed, --stream or --timings and in other formats)
            """)
    var seeds: Int?

    /// The number of seeds of policies that draw random numbers. One seed can be far from the mean: on a block trace,
    /// 24 seeds of `learned` have 25.4 to 31.2 % of the hits.
    var seedCount: Int {
        seeds ?? (output.format == .table && seed == nil && !stream && !timings ? 3 : 1)
    }

    @Option(help: "The number of equal windows of the series over time, in JSON. (default: 10)")
    var windows: Int?

    @Option(help: "Also count hits by category or by user: the largest in the table, all in JSON. May be repeated.")
    var by: [Table] = []

    @Flag(
        help: ArgumentHelp(
            "Also time each access and each choice of a victim: percentiles for hits, misses and evictions.",
            discussion: "By default, timed runs are not parallel. They take longer."))
    var timings = false

    @Option(help: "The number of parallel runs; by default one per core.")
    var threads: Int?

    @Flag(
        help:
            "Replay while reading, for traces larger than memory. Needs online policies and capacities in numbers.")
    var stream = false

    @OptionGroup(title: "The table") var table: TableArguments

    @OptionGroup(title: "Output") var output: OutputArguments

    func run() async throws {
        try await reportingFailure {
            try validateNumbers()
            try verifyFiles()
            let runs = try RequestedRuns(self)
            let others = try pretraining.traces(besides: traces.flatMap(reading.files).compactMap(\.path))
            var reports: [ReplayReport] = []
            for trace in traces {
                reports.append(stream ? try await streamed(trace, runs) : try await loaded(trace, runs, others))
            }
            let emphasis = Terminal.allowsEmphasis && output.output == nil
            let options = try table.options()
            let data =
                switch output.format {
                case .table: Data(reports.map { $0.table(options, emphasis: emphasis) }.joined(separator: "\n").utf8)
                case .json: try reports.count == 1 ? reports[0].json() : JSONReport.data(reports)
                case .csv: ReplayReport.csv(reports)
                case .jsonl: try reports.reduce(into: Data()) { $0.append(try $1.jsonLines()) }
                }
            try Output.write(data, to: output.output)
        }
    }

    private func verifyFiles() throws {
        if traces.count > 1, !reading.then.isEmpty {
            throw ReplayError.usage("--then continues one trace, and \(traces.count) are given: name one.")
        }
        try CommandFiles(
            reads: traces.flatMap(reading.files) + [
                ("warm-up trace", warmupTrace.map(ReadingArguments.path)),
                ("model", pretrained.model), ("prefetch model", prefetching.prefetchModel),
            ] + pretraining.files,
            writes: [("--output", output.output)]
        ).verify()
    }

    private var notes: [String] {
        pretrained.notes + prefetching.notes + (users.map { ["Part \($0) of the users."] } ?? [])
    }

    private func loadOptions(of trace: String) throws -> TraceLoadOptions {
        var names: NameKinds = []
        if by.contains(.category) { names.insert(.categories) }
        if by.contains(.user) { names.insert(.users) }
        if try prefetching.options().contains(where: { $0?.traits.contains(.usesKeys) == true }) { names.insert(.keys) }
        // Two files have one numbering by their names.
        if warmupTrace != nil { names = .all }
        var options = try reading.options(of: trace, names: names)
        options.recording = prefetching.isOn
        options.lifetimes = useTtl
        return options
    }

    private func loaded(_ trace: String, _ runs: RequestedRuns, _ others: [String: Trace]) async throws -> ReplayReport
    {
        let path = ReadingArguments.path(of: trace)
        var load = try loadOptions(of: trace)
        if per == nil {
            load.limit = limit
            load.skip = skip
        }
        var (requests, notes) = try perUserPart(of: Trace.load(path, load), trace)
        if let shuffle {
            requests = requests.shufflingSimultaneous(seed: shuffle)
            notes.append("Requests of one user at one time are in a random order (--shuffle \(shuffle)).")
        }
        requests = try opening.applied(to: requests, &notes)
        if let warmupTrace { requests = try warmed(requests, by: warmupTrace, &notes) }
        if by.contains(.category), !requests.hasCategories {
            throw ReplayError.data("\(path) has no categories for a table by category.")
        }
        if by.contains(.user), !requests.hasUsers {
            throw ReplayError.data("\(path) has no users for a table by user.")
        }
        let summary = TraceSummary(requests, path: path, notes: notes + self.notes)
        var sweep = try Sweep(trace: requests, jobs: try runs.jobs(for: requests, summary))
        try await sweep.train(on: others, workers: threads)
        let progress = sweep.makeProgress()
        return await showingProgress(progress) {
            await sweep.report(on: summary, workers: threads ?? (timings ? 1 : nil), progress: progress)
        }
    }

    /// Returns the requests after those of the warm-up trace.
    private func warmed(_ trace: Trace, by name: String, _ notes: inout [String]) throws -> Trace {
        let path = ReadingArguments.path(of: name)
        var options = try loadOptions(of: name)
        options.continuations = []
        var first = try Trace.load(path, options)
        if per == .user { first = first.selection(withUserOnly: true).trace }
        var delayed: [String] = []
        first = try opening.applied(to: first, isWarmup: true, &delayed)
        notes += delayed.map { "\(name): \($0)" }
        guard first.count > 0 else { throw ReplayError.data("\(path) has no request to warm up the caches with.") }
        let joined: Trace
        do { joined = try trace.warmed(by: first) } catch { throw ReplayError.data("\(path): \(error.message).") }
        notes.append("\(first.count.counted("request")) of \(name) come first, to warm up the caches.")
        if joined.times[0] != first.times[0] {
            notes.append("\(name) ends after the trace begins: its times are moved back to end there.")
        }
        return joined
    }

    /// Returns the part of a trace that per-user caches replay, and the notes for a report.
    private func perUserPart(of trace: Trace, _ name: String) throws -> (trace: Trace, notes: [String]) {
        guard per == .user else { return (trace, []) }
        guard trace.hasUsers else {
            throw ReplayError.data("\(name) has no users, which per-user caches need.")
        }
        let part = trace.selection(skip: skip, limit: limit, withUserOnly: true)
        let note = "\(part.withoutUser.counted("request")) without a user left out."
        return (part.trace, part.withoutUser > 0 ? [note] : [])
    }

    private func streamed(_ trace: String, _ runs: RequestedRuns) async throws -> ReplayReport {
        if useTtl {
            throw ReplayError.usage("--use-ttl needs the whole trace in memory: leave out --stream or --use-ttl.")
        }
        if shuffle != nil {
            throw ReplayError.usage("--shuffle needs the whole trace in memory: leave out --stream or --shuffle.")
        }
        if let policy = try prefetching.options().compactMap({ $0 }).first(where: \.plansOnLists) {
            throw ReplayError.usage(
                "--prefetch \(policy.policy.name) plans on lists, and a stream has none: leave out --stream.")
        }
        if warmupTrace != nil {
            throw ReplayError.usage(
                "--warmup-trace needs both traces in memory: leave out --stream or --warmup-trace.")
        }
        if windows != nil {
            throw ReplayError.usage(
                "--windows divides the requests into equal parts, but their number is not known in a stream: leave it out."
            )
        }
        var load = try loadOptions(of: trace)
        load.limit = limit
        load.skip = skip
        let replay = try StreamReplay(path: ReadingArguments.path(of: trace), load: load, jobs: runs.jobs())
        return try await showingProgress(of: nil) { try replay.run(notes: notes) }
    }

    private func validateNumbers() throws {
        if let limit, limit < 1 { throw ReplayError.usage("--limit \(limit) leaves nothing: give at least 1.") }
        if skip < 0 { throw ReplayError.usage("--skip \(skip) is negative: give 0 or more.") }
        if let seeds, !(1...1_000).contains(seeds) {
            throw ReplayError.usage("--seeds \(seeds) is out of range: give 1 to 1000.")
        }
        try knowing.validateNames()
        if knowing.knowledge != nil, per == nil { throw ReplayError.usage("--knowledge needs --per user.") }
        if let windows, windows < 1 || windows > 100_000 {
            throw ReplayError.usage("--windows \(windows) is out of range: give 1 to 100000.")
        }
        if let threads, threads < 1 { throw ReplayError.usage("--threads \(threads) is too small: give at least 1.") }
    }
}
