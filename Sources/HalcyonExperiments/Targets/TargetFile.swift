import Foundation
import HalcyonSimulation
import HalcyonTrace

/// Recorded hits and hit ratios that `replay check` compares with new replays.
///
/// ```yaml
/// schema: halcyon.targets/2
/// result_version: 1
/// margins: {default: 0.001, learned: 0.005}
/// groups:
///   - trace: ../Traces/shop.csv
///     mode: shared
///     targets:
///       - {policy: lru, capacity: 1%, hits: 27774, floor: 0.230450}
///       - {policy: learned, capacity: 1%, hits: 33534, floor: 0.276450, baseline: lru, highest_loss: -0.045000}
///   - trace: ../Traces/feed.csv
///     mode: shared
///     tiers: {memory: 1%, disk: 10%}
///     targets:
///       - {policy: lru, hits: 61390, floor: 0.550000, byte_floor: 0.540000, highest_latency_ms: 75.000000}
/// history:
///   - {date: 2026-11-21, halcyon: 0.1.0, targets: 2, reason: "First values."}
/// ```
///
/// A target has two kinds of figures. *Exact hits* must be reproduced to the digit on every machine by every build
/// with the same result version. *Floors*, *byte floors*, *highest losses* and *highest latencies* are limits that no
/// version may break. A policy or planner with `kernels=system` depends on the processor and has limits only.
///
/// With several `seeds`, exact hits are the sum over the seeds, and limits hold for the mean. A policy that draws no
/// random numbers runs once.
///
/// Ratios are 0…1. Paths of traces are relative to the folder of the file and may name environment variables, as in a
/// suite. ``text`` is the canonical form.
public struct TargetFile: Sendable, Equatable {
    /// The version of this structure.
    public static let schema = "halcyon.targets/2"

    /// The result version of the build that recorded the exact hits; `nil` if none were recorded.
    public var resultVersion: Int?
    /// The distance of a new floor below the measured hit ratio, and of a new highest loss above the measured loss, 0…1.
    ///
    /// The margins are keyed by the name of an eviction or a prefetch policy; `default` is for all others. A target
    /// with both kinds of policy uses the larger one.
    public var margins: [(policy: String, margin: Double)]
    /// The targets, by trace and mode.
    public var groups: [TargetGroup]
    /// The records of when and why values were recorded, oldest first.
    public var history: [TargetRecording]
    /// The comments above `schema`, `result_version`, `margins`, `groups` and `history`, and those at the end.
    var comments: [String: [String]] = [:]

    /// Creates a file.
    public init(
        resultVersion: Int? = nil, margins: [(policy: String, margin: Double)] = [("default", 0.001)],
        groups: [TargetGroup], history: [TargetRecording] = []
    ) {
        self.resultVersion = resultVersion
        self.margins = margins
        self.groups = groups
        self.history = history
    }

    /// The number of targets.
    public var targetCount: Int { groups.reduce(0) { $0 + $1.targets.count } }

    /// Returns the margin between the measured figures of a policy and its new limits, 0…1.
    ///
    /// - Parameter name: the policy's name without parameters.
    public func margin(of name: String) -> Double {
        (margins.first { $0.policy == name } ?? margins.first { $0.policy == "default" })?.margin ?? 0.001
    }

    /// Returns whether two files have the same content.
    public static func == (left: TargetFile, right: TargetFile) -> Bool { left.text == right.text }
}

/// The targets of one trace and one kind of caches.
public struct TargetGroup: Sendable, Equatable {
    /// The trace, how to read it, and which of its requests to replay.
    public var source: TraceReference
    /// The kind of caches. Per-user caches skip requests without a user. The default is shared.
    public var mode: ReplayMode
    /// The sharing of models between per-user caches, for policies that learn. The default is shared.
    public var models: ModelSharing = .shared
    /// The tiers that replace each cache; targets have no capacity then. Nil by default.
    public var tiers: TierOptions?
    /// The share of the requests that warms up the cache and is not counted. The default is 0.
    public var warmup: Double = 0
    /// The seeds of all random choices; figures are means over them. The default is 1.
    public var seeds: [UInt64] = [1]
    /// The prefetching options, as for `--prefetch`, `--prefetch-budget` and `--prefetch-latency`. Nil by default.
    public var prefetch: PrefetchOptions?
    /// The targets in the order of the file.
    public var targets: [Target]
    var comments: [String] = []

    /// Creates a group with the defaults of a replay.
    public init(trace: String, mode: ReplayMode = .shared, targets: [Target]) {
        source = TraceReference(path: trace)
        self.mode = mode
        self.targets = targets
    }

    /// The trace as written: relative to the folder of the file, perhaps with environment variables.
    public var trace: String {
        get { source.path }
        set { source.path = newValue }
    }

    /// Returns the path of the trace.
    ///
    /// - Parameter path: the path of the target file. ``trace`` is relative to its folder.
    /// - Throws: `ReplayError.data(_:)` if an environment variable of the path is not set.
    public func tracePath(inFileAt path: String) throws(ReplayError) -> String {
        try source.resolvedPath(inFileAt: path)
    }

    /// The capacity of a target in messages: that of the target, or those of the tiers, memory first.
    func capacity(of target: Target) -> String { tiers.map { "\($0.memory)/\($0.disk)" } ?? target.capacity }

    /// What distinguishes the group from others of the same trace and mode, for messages.
    var setting: String {
        var text = ""
        if let prefetch {
            text += " + \(prefetch.policy)"
            if case .fixed(let latency) = prefetch.latency { text += " in \(TargetText.duration(latency))" }
        }
        if models != .shared { text += ", models \(models.rawValue)" }
        if seeds.count > 1 { text += ", \(seeds.count) seeds" }
        return text
    }

    /// Returns whether two groups have the same content.
    public static func == (left: TargetGroup, right: TargetGroup) -> Bool {
        left.source == right.source && left.mode == right.mode && left.models == right.models
            && left.tiers.map(TargetText.tiers) == right.tiers.map(TargetText.tiers) && left.warmup == right.warmup
            && left.seeds == right.seeds && left.prefetch == right.prefetch && left.targets == right.targets
            && left.comments == right.comments
    }
}

/// The limits of one policy at one capacity.
public struct Target: Sendable, Equatable {
    /// The policy as in `--policy`: `lru`, `s3-fifo(small=0.2)`.
    public var policy: String
    /// The capacity as in `--capacity`: `1%`, `64MB`, `20`. Empty if the group has tiers.
    public var capacity: String
    /// The exact number of counted hits, summed over the seeds. Nil if it was not recorded, or if the policy depends on
    /// the processor.
    public var hits: Int?
    /// The lowest accepted object hit ratio.
    public var floor: Double?
    /// The lowest accepted byte hit ratio, for a trace with sizes.
    public var byteFloor: Double?
    /// The highest accepted mean latency, in milliseconds, for a group with tiers.
    public var highestLatency: Double?
    /// The policy that this one is compared with, at the same capacity.
    public var baseline: String?
    /// The largest accepted difference of the baseline's object hit ratio minus this policy's. Negative if this
    /// policy must be better.
    public var highestLoss: Double?
    var comments: [String] = []

    /// Creates a target. Without limits it has to be recorded first.
    public init(
        policy: String, capacity: String, hits: Int? = nil, floor: Double? = nil, baseline: String? = nil,
        highestLoss: Double? = nil
    ) {
        self.policy = policy
        self.capacity = capacity
        self.hits = hits
        self.floor = floor
        self.baseline = baseline
        self.highestLoss = highestLoss
    }

    /// Whether the target has a limit: with a baseline a highest loss, otherwise any. Without, it can only be recorded.
    public var hasLimit: Bool { baseline == nil ? !isUnlimited : highestLoss != nil }

    /// Whether the target has no limit at all.
    var isUnlimited: Bool { floor == nil && byteFloor == nil && highestLatency == nil && highestLoss == nil }
}

/// An entry of the history: when values were recorded, and why.
public struct TargetRecording: Sendable, Equatable {
    /// The day, `2026-11-21`, in universal time.
    public var date: String
    /// The version of Halcyon that measured the values.
    public var halcyonVersion: String
    /// The number of recorded targets.
    public var targets: Int
    /// The reason for the new values.
    public var reason: String
    var comments: [String] = []

    /// Creates a recording.
    public init(date: String, halcyonVersion: String, targets: Int, reason: String) {
        self.date = date
        self.halcyonVersion = halcyonVersion
        self.targets = targets
        self.reason = reason
    }
}
