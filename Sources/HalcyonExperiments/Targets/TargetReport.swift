import HalcyonSimulation

/// The result of a check of targets.
public struct TargetReport: Sendable, Equatable {
    /// The checked file, as the user named it.
    public var file: String
    /// The result version of the file's exact hits. Nil if none were recorded.
    public var recordedVersion: Int?
    /// The result version of the build that ran the check.
    public var resultVersion: Int
    /// The targets of all groups, in the order of the file.
    public var outcomes: [TargetOutcome]

    /// Creates a report.
    public init(file: String, recordedVersion: Int?, resultVersion: Int, outcomes: [TargetOutcome]) {
        self.file = file
        self.recordedVersion = recordedVersion
        self.resultVersion = resultVersion
        self.outcomes = outcomes
    }

    /// Whether the check is passed: no target is missed, and the exact hits belong to the build's result version.
    public var isPassed: Bool { missed.isEmpty && versionFault == nil }

    /// A sentence if the exact hits belong to another result version than the build's; `nil` otherwise.
    ///
    /// If there is one, exact hits are not compared. Only the limits decide which targets are missed.
    public var versionFault: String? {
        guard let recordedVersion, recordedVersion != resultVersion, outcomes.contains(where: { $0.target.hits != nil })
        else { return nil }
        let versions =
            "The exact figures were recorded with result version \(recordedVersion), and this build has \(resultVersion): "
        return versions
            + (resultVersion > recordedVersion
                ? "record them with --update --reason \"…\"." : "use a build with result version \(recordedVersion).")
    }

    /// The missed targets.
    public var missed: [TargetOutcome] { outcomes.filter { !misses(of: $0).isEmpty } }
    /// The targets whose hits differ from the recorded ones.
    public var moved: [TargetOutcome] { outcomes.filter(\.hasMoved) }
    /// The targets without a limit.
    public var unrecorded: [TargetOutcome] { outcomes.filter { !$0.target.hasLimit } }
    /// The targets with a limit whose exact hits can be recorded, but are not.
    public var withoutHits: [TargetOutcome] { outcomes.filter { $0.target.hasLimit && $0.lacksHits } }

    /// The targets to show: moved, missed or without a limit.
    var noteworthy: [TargetOutcome] {
        outcomes.filter { $0.hasMoved || !misses(of: $0).isEmpty || !$0.target.hasLimit }
    }

    /// Returns the reasons why `outcome` is missed, one sentence each; empty if the target is reached.
    public func misses(of outcome: TargetOutcome) -> [String] {
        var misses: [String] = []
        if let recorded = outcome.target.hits, outcome.hasMoved, recordedVersion == resultVersion {
            misses.append(
                "There \(outcome.hits == 1 ? "is" : "are") \(outcome.hits.counted("hit")), and \(recorded.grouped) "
                    + "\(recorded == 1 ? "was" : "were") recorded with result version \(resultVersion), which this build has "
                    + "too: a change that moves results needs a new result version (Halcyon.resultVersion), a line in "
                    + "CHANGELOG.md and --update.")
        }
        if outcome.missesFloor {
            misses.append(
                "The hit ratio is \(outcome.hitRatio.percent), and the floor is \((outcome.target.floor ?? 0).percent)."
            )
        }
        if outcome.missesByteFloor {
            misses.append(
                "The byte hit ratio is \((outcome.byteHitRatio ?? 0).percent), and the floor is "
                    + "\((outcome.target.byteFloor ?? 0).percent).")
        }
        if outcome.missesHighestLatency {
            misses.append(
                "The mean latency is \((outcome.meanLatency ?? 0).decimals(3)) ms, and the highest accepted is "
                    + "\((outcome.target.highestLatency ?? 0).decimals(3)) ms.")
        }
        if outcome.missesHighestLoss {
            misses.append(
                "The loss to \(outcome.target.baseline ?? "") is \((outcome.loss ?? 0).points), and the highest accepted is "
                    + "\((outcome.target.highestLoss ?? 0).points).")
        }
        return misses
    }
}

/// A target and its measured values.
public struct TargetOutcome: Sendable, Equatable {
    /// The index of the group in the file.
    public var group: Int
    /// The index of the target in the group.
    public var number: Int
    /// The trace as named in the file, with the prefetch policy, the sharing of models and the number of seeds if they
    /// are not the usual ones.
    public var trace: String
    /// The trace as named in the file. Nil if ``trace`` has nothing else.
    public var file: String?
    /// The kind of caches: one shared cache, or per-user caches.
    public var mode: ReplayMode
    /// The target as in the file.
    public var target: Target
    /// The policy's name without parameters.
    public var policyName: String
    /// The capacity for messages. Nil for that of ``target``.
    var tierCapacity: String?
    /// The number of counted hits, summed over the seeds.
    public var hits: Int
    /// The number of counted requests, summed over the seeds.
    public var requests: Int
    /// The byte hit ratio, 0…1, a mean over the seeds. Nil if every object of the trace counts 1.
    public var byteHitRatio: Double?
    /// The mean latency, in milliseconds, a mean over the seeds. Nil without tiers.
    public var meanLatency: Double?
    /// The object hit ratio of the baseline, 0…1. Nil without a baseline.
    public var baselineHitRatio: Double?
    /// The matrix routines that make the result depend on the processor. Nil for an exact result.
    public var systemKernels: KernelInfo?
    /// The duration of the run, in seconds.
    public var seconds: Double

    /// The object hit ratio, 0…1.
    public var hitRatio: Double { requests == 0 ? 0 : Double(hits) / Double(requests) }

    /// The baseline's object hit ratio minus the policy's. Nil without a baseline.
    public var loss: Double? { baselineHitRatio.map { $0 - hitRatio } }

    /// The difference between the measured and the recorded hits. Nil if none were recorded.
    public var change: Int? { target.hits.map { hits - $0 } }

    /// Whether the hits are the same on every machine.
    public var isExact: Bool { systemKernels == nil }

    /// Whether the hits differ from the recorded ones.
    public var hasMoved: Bool { change.map { $0 != 0 } ?? false }

    /// Whether exact hits can be recorded, but are not.
    var lacksHits: Bool { isExact && target.hits == nil }

    /// Whether a figure of the target is not recorded yet.
    var isNew: Bool { !target.hasLimit || lacksHits }

    /// Whether the hit ratio is below the floor.
    var missesFloor: Bool { target.floor.map { hitRatio < $0 - Self.resolution } ?? false }

    /// Whether the byte hit ratio is below the byte floor.
    var missesByteFloor: Bool {
        guard let byteHitRatio, let floor = target.byteFloor else { return false }
        return byteHitRatio < floor - Self.resolution
    }

    /// Whether the mean latency is above the highest accepted one.
    var missesHighestLatency: Bool {
        guard let meanLatency, let highest = target.highestLatency else { return false }
        return meanLatency > highest + Self.resolution
    }

    /// Whether the loss is larger than the highest accepted loss.
    var missesHighestLoss: Bool {
        guard let loss, let highest = target.highestLoss else { return false }
        return loss > highest + Self.resolution
    }

    /// The resolution of limits in the file, which are rounded to six decimals.
    private static let resolution = 0.000_000_6
}

extension Double {
    /// The difference of ratios in points, with its sign: `-1.25 points`.
    var points: String { signedHundredths + " points" }
    /// The difference of ratios in points, with its sign and without the word.
    var signedHundredths: String {
        let text = (self * 100).decimals(2)
        return text == "-0.00" ? "0.00" : self > 0 && text != "0.00" ? "+" + text : text
    }
}
