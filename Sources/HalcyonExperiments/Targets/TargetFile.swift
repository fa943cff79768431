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
/// Ratios are 0…1. Paths of traces are relative to the folder of the file. ``text`` is the one form in which it is written.
public struct TargetFile: Sendable, Equatable {
    /// The version of this structure.
    public static let schema = "halcyon.targets/2"

    /// The result version of the build that recorded the exact hits; `nil` if none were recorded.
    public var resultVersion: Int?
    /// The distance of a new floor below the measured hit ratio, and of a new highest loss above the measured loss, 0…1.
    ///
    /// By the name of an eviction or a prefetch policy, the larger where a target has both; `default` for the rest.
    public var margins: [(policy: String, margin: Double)]
    /// The targets, by trace and mode.
    public var groups: [TargetGroup]
    /// When and why values were recorded, oldest first.
    public var history: [TargetRecording]
    /// The comments above everything else, above `result_version`, `margins`, `groups` and `history`, and below
    /// everything.
    var comments: [String: [String]] = [:]

    /// A file of these.
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

    /// The margin between the measured figures of a policy and its new limits, 0…1.
    ///
    /// - Parameter name: the policy's name without parameters.
    public func margin(of name: String) -> Double {
        (margins.first { $0.policy == name } ?? margins.first { $0.policy == "default" })?.margin ?? 0.001
    }

    /// Whether two files say the same.
    public static func == (left: TargetFile, right: TargetFile) -> Bool { left.text == right.text }
}

/// Targets on one trace, replayed in one way.
public struct TargetGroup: Sendable, Equatable {
    /// The trace, relative to the folder of the file.
    public var trace: String
    /// One cache for all, or one a user; then requests without a user are left out.
    public var mode: ReplayMode
    /// How objects get their sizes, as for `--sizes`.
    public var sizes: String = "first"
    /// At most so many requests from the start; `nil` is all.
    public var limit: Int?
    /// The share of the requests that warms the cache and is not counted.
    public var warmup: Double = 0
    /// The seed of everything random.
    public var seed: UInt64 = 1
    /// What is fetched ahead of need, as for `--prefetch` and `--prefetch-budget`; `nil` is nothing.
    public var prefetch: PrefetchOptions?
    /// The targets in the order of the file.
    public var targets: [Target]
    var comments: [String] = []

    /// A group with the defaults of a replay.
    public init(trace: String, mode: ReplayMode = .shared, targets: [Target]) {
        self.trace = trace
        self.mode = mode
        self.targets = targets
    }

    /// Where the trace is.
    ///
    /// - Parameter path: the file of targets, to whose folder ``trace`` is relative.
    public func tracePath(inFileAt path: String) -> String {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        return URL(fileURLWithPath: trace, relativeTo: folder).standardizedFileURL.path
    }
}

/// What one policy must reach at one capacity.
public struct Target: Sendable, Equatable {
    /// The policy as one writes it: `lru`, `s3-fifo(small=0.2)`.
    public var policy: String
    /// The capacity as one writes it: `1%`, `64MB`, `20`.
    public var capacity: String
    /// The exact number of counted hits; `nil` if it was not recorded, or if the policy depends on the processor.
    public var hits: Int?
    /// The lowest accepted object hit ratio.
    public var floor: Double?
    /// The policy that this one is compared with, at the same capacity.
    public var baseline: String?
    /// The check fails where the baseline's object hit ratio is above this policy's by more than this; negative where
    /// this policy must be ahead.
    public var highestLoss: Double?
    var comments: [String] = []

    /// A target; without limits it has to be recorded first.
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

    /// Whether it has a floor or, with a baseline, a highest loss. A target without can only be recorded.
    public var hasLimit: Bool { baseline == nil ? floor != nil : highestLoss != nil }
}

/// An entry of the history: when values were recorded, and why.
public struct TargetRecording: Sendable, Equatable {
    /// The day, `2026-11-21`, in universal time.
    public var date: String
    /// The version of Halcyon that measured.
    public var halcyonVersion: String
    /// How many targets were recorded.
    public var targets: Int
    /// Why.
    public var reason: String
    var comments: [String] = []

    /// A recording.
    public init(date: String, halcyonVersion: String, targets: Int, reason: String) {
        self.date = date
        self.halcyonVersion = halcyonVersion
        self.targets = targets
        self.reason = reason
    }
}
