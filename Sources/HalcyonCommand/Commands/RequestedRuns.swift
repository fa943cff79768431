import HalcyonEviction
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace

/// The runs that the options of `replay run` request, for each of its traces.
struct RequestedRuns {
    /// The baselines that every run without `--only` has, besides Kingfisher and the offline optimum.
    private static let baselines = ["lru", "lfu", "s3-fifo", "gdsf"]
    /// The name that requests Kingfisher's two tiers.
    static let kingfisher = "kingfisher"

    /// A requested row of the table: a policy, or the two tiers of Kingfisher.
    private enum Row {
        case policy(ConfiguredPolicy)
        case kingfisher
        /// The policies that the tiers name.
        case tiers
    }

    private var rows: [Row] = []
    /// The offline references, which a loaded trace is replayed through last.
    private let optimum: ConfiguredPolicy?
    private let bypassingOptimum: ConfiguredPolicy?
    private let capacities: [CapacityRequest]
    private let tiers: TierOptions?
    private let options: [ReplayOptions]
    private let mode: ReplayMode
    private let knowledge: Knowledge
    private let users: UserPart?
    private let pretraining: Pretraining?
    private let seeds: Int

    /// Reads the options.
    ///
    /// - Throws: `ReplayError`, `PolicyError`, `ModelFileError` or `PrefetchBudgetError` for options that do not go
    ///   together or cannot be read.
    init(_ command: RunCommand) throws {
        let catalogue = try command.pretrained.catalogue()
        capacities = try CapacityRequest.list(parsing: command.capacity ?? "1%,10%")
        tiers = try Self.tiers(command, catalogue)
        options = try Self.options(command)
        mode = command.per == .user ? .perUser : .shared
        knowledge = command.knowing.knowledge ?? .device
        users = try command.users.map { text throws(ReplayError) in try UserPart(parsing: text) }
        pretraining = try command.pretraining.pretraining()
        if pretraining != nil, command.pretrained.model != nil {
            throw ReplayError.usage("--pretrain trains a model, and --model gives one: leave one of them out.")
        }
        seeds = command.seedCount

        var names = command.policy.flatMap(PolicySpec.split)
        let namesTiers = tiers?.memoryPolicy != nil && tiers?.diskPolicy != nil
        let isKingfisher =
            tiers?.memoryPolicy?.label == "kingfisher-memory" && tiers?.diskPolicy?.label == "kingfisher-disk"
        if namesTiers { rows.append(isKingfisher ? .kingfisher : .tiers) }
        if names.isEmpty, !namesTiers { names = ["learned"] }
        for name in names { rows.append(try Self.row(name, catalogue)) }
        if !command.only {
            let requested = Set(rows.map(Self.label))
            // Kingfisher's tiers have lifetimes of their own.
            let tiered = command.useTtl ? [] : [Self.kingfisher]
            for name in Self.baselines.prefix(2) + tiered + Self.baselines.dropFirst(2) {
                let row = try Self.row(name, catalogue)
                if !requested.contains(Self.label(row)) { rows.append(row) }
            }
        }
        // It does not know of lifetimes, and is no optimum with them.
        let serves =
            !command.only && tiers == nil && !command.stream && !command.prefetching.isOn && !command.useTtl
            && command.restart == nil
        optimum = serves ? try catalogue.policy("belady") : nil
        bypassingOptimum = serves ? try catalogue.policy("belady(bypass=on)") : nil
        let policies: [ConfiguredPolicy] = rows.compactMap { if case .policy(let policy) = $0 { policy } else { nil } }
        try command.pretrained.requireUse(by: policies)
        if pretraining != nil, !policies.contains(where: ReplayJob.begins),
            !options.contains(where: { $0.prefetch?.isPlanner == true })
        {
            throw ReplayError.usage(
                "--pretrain needs a policy that begins with a trained model: add --policy learned, or --prefetch planner or lists."
            )
        }
    }

    /// Returns the runs over a loaded trace.
    ///
    /// The offline optimum is one of them. Where a cache is small, the optimum that may refuse objects is another.
    func jobs(for trace: Trace, _ summary: TraceSummary) throws(ReplayError) -> [ReplayJob] {
        var jobs = jobs()
        let requested = Set(jobs.map(\.label))
        for optimum in [optimum, bypassingOptimum] {
            guard let optimum, !requested.contains(optimum.label) else { continue }
            for capacity in capacities {
                if optimum.label == bypassingOptimum?.label {
                    let size = try capacity.resolved(unit: trace.sizeUnit, distinct: summary.distinctSize)
                    guard GapReferences.isSmall(size, objects: summary.objects, distinctSize: summary.distinctSize)
                    else {
                        continue
                    }
                }
                jobs += options.map {
                    ofUsers(
                        ReplayJob(policy: optimum, capacity: capacity, mode: mode, knowledge: knowledge, options: $0))
                }
            }
        }
        return jobs
    }

    /// Returns the runs without the offline optimum, for a stream.
    func jobs() -> [ReplayJob] {
        let jobs = options.flatMap { options in
            rows.flatMap { row in
                (tiers.map { [$0.disk] } ?? capacities).flatMap { seeded(job(row, $0, options)) }
            }
        }
        return jobs.map(ofUsers)
    }

    /// Returns the job for the requested part of the users, with models of others.
    private func ofUsers(_ job: ReplayJob) -> ReplayJob {
        var job = job
        job.users = users
        job.pretraining = pretraining
        return job
    }

    private func job(_ row: Row, _ capacity: CapacityRequest, _ options: ReplayOptions) -> ReplayJob {
        switch row {
        case .kingfisher:
            return .kingfisher(capacity: capacity, mode: mode, knowledge: knowledge, tiers: tiers, options: options)
        case .tiers:
            // Both tiers have a policy of their own, so that of the job is not used.
            return ReplayJob(
                policy: ConfiguredPolicy(LRU.self), capacity: capacity, mode: mode, knowledge: knowledge, tiers: tiers,
                options: options)
        case .policy(let policy):
            var tiers = tiers
            // Beside the named pair of policies, a policy serves both tiers.
            if tiers?.memoryPolicy != nil, tiers?.diskPolicy != nil {
                tiers?.memoryPolicy = nil
                tiers?.diskPolicy = nil
            }
            return ReplayJob(
                policy: policy, capacity: capacity, mode: mode, knowledge: knowledge, tiers: tiers, options: options)
        }
    }

    /// Returns the job with each seed, or as it is if its result does not depend on the seed.
    private func seeded(_ job: ReplayJob) -> [ReplayJob] {
        guard job.isRandomised else { return [job] }
        return (0..<seeds).map { number in
            var seeded = job
            seeded.options.seed = job.options.seed &+ UInt64(number)
            return seeded
        }
    }

    private static func row(_ name: String, _ catalogue: PolicyCatalogue) throws(PolicyError) -> Row {
        name.trimmingSpaces.lowercased() == kingfisher ? .kingfisher : .policy(try catalogue.policy(name))
    }

    private static func label(_ row: Row) -> String {
        switch row {
        case .policy(let policy): policy.label
        case .kingfisher: kingfisher
        case .tiers: ""
        }
    }

    /// Returns the options of each prefetch policy; without prefetching, of the one plain run.
    private static func options(_ command: RunCommand) throws -> [ReplayOptions] {
        let model = try command.latency.map { try LatencyModel(parsing: $0) }
        let warmup = try Warmup(parsing: command.warmup)
        let announcements = try command.announce.map { text throws(ReplayError) in
            try AnnouncementOptions(parsing: text)
        }
        let restart = try command.restart.map { text throws(ReplayError) in try RestartOptions(parsing: text) }
        let requested: [PrefetchOptions?] = try command.prefetching.options(latency: model)
        return (requested.isEmpty ? [nil] : requested).map { prefetch in
            ReplayOptions(
                warmup: warmup, seed: command.seed ?? 1, windows: command.windows ?? 10,
                byCategory: command.by.contains(.category), byUser: command.by.contains(.user),
                timings: command.timings, prefetch: prefetch,
                announcements: prefetch == nil && command.prefetching.isOn ? nil : announcements, restart: restart)
        }
    }

    private static func tiers(_ command: RunCommand, _ catalogue: PolicyCatalogue) throws -> TierOptions? {
        guard let tiers = command.tiers else {
            if command.memoryExpiration != nil || command.diskExpiration != nil || command.decodedSizeRatio != nil {
                throw ReplayError.usage("--memory-expiration, --disk-expiration and --decoded-size-ratio need --tiers.")
            }
            if command.latency != nil, !command.prefetching.isOn {
                throw ReplayError.usage("--latency needs --tiers or --prefetch.")
            }
            return nil
        }
        if command.capacity != nil { throw ReplayError.usage("--tiers states the capacities: leave out --capacity.") }
        var options = try TierOptions(parsing: tiers, catalogue: catalogue)
        options.memoryLifetime = try command.memoryExpiration.map { try TimeSpan(parsing: $0).microseconds }
        options.diskLifetime = try command.diskExpiration.map { try TimeSpan(parsing: $0).microseconds }
        if let latency = command.latency { options.latency = try LatencyModel(parsing: latency) }
        if let ratio = command.decodedSizeRatio { options.decodedSizeRatio = ratio }
        return options
    }
}
