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
/// history:
///   - {date: 2026-11-21, halcyon: 0.1.0, targets: 2, reason: "First values."}
/// ```
///
/// A target has two kinds of figures. *Exact hits* must be reproduced to the digit on every machine by every build
/// with the same result version. *Floors* and *highest losses* are limits that no version may break. A policy or
/// planner with `kernels=system` depends on the processor and has limits only.
///
/// Ratios are 0…1. Paths of traces are relative to the folder of the file. ``text`` is the canonical form.
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

/// The targets of one trace and mode.
public struct TargetGroup: Sendable, Equatable {
    /// The trace, relative to the folder of the file.
    public var trace: String
    /// The kind of caches. Per-user caches skip requests without a user. The default is shared.
    public var mode: ReplayMode
    /// The rule for the sizes of objects, as for `--sizes`. The default is `first`.
    public var sizes: String = "first"
    /// The names of columns that differ from the usual ones, as for `--columns`. Nil by default: the usual names.
    public var columns: String?
    /// The maximum number of requests, from the start. Nil by default: no limit.
    public var limit: Int?
    /// The share of the requests that warms up the cache and is not counted. The default is 0.
    public var warmup: Double = 0
    /// The seed of all random choices. The default is 1.
    public var seed: UInt64 = 1
    /// The prefetching options, as for `--prefetch` and `--prefetch-budget`. Nil by default.
    public var prefetch: PrefetchOptions?
    /// The targets in the order of the file.
    public var targets: [Target]
    var comments: [String] = []

    /// Creates a group with the defaults of a replay.
    public init(trace: String, mode: ReplayMode = .shared, targets: [Target]) {
        self.trace = trace
        self.mode = mode
        self.targets = targets
    }

    /// Returns the path of the trace.
    ///
    /// - Parameter path: the path of the target file. ``trace`` is relative to its folder.
    public func tracePath(inFileAt path: String) -> String {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        return URL(fileURLWithPath: trace, relativeTo: folder).standardizedFileURL.path
    }
}

/// The limits of one policy at one capacity.
public struct Target: Sendable, Equatable {
    /// The policy as in `--policy`: `lru`, `s3-fifo(small=0.2)`.
    public var policy: String
    /// The capacity as in `--capacity`: `1%`, `64MB`, `20`.
    public var capacity: String
    /// The exact number of counted hits. Nil if it was not recorded, or if the policy depends on the processor.
    public var hits: Int?
    /// The lowest accepted object hit ratio.
    public var floor: Double?
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

    /// Whether the target has a floor or, with a baseline, a highest loss. Without, it can only be recorded.
    public var hasLimit: Bool { baseline == nil ? floor != nil : highestLoss != nil }
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
