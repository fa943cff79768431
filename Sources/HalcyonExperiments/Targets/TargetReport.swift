import HalcyonSimulation

/// The result of a check of targets.
public struct TargetReport: Sendable, Equatable {
    /// The file that was checked, as it was named.
    public var file: String
    /// The result version that the exact hits of the file were recorded with; `nil` if none were recorded.
    public var recordedVersion: Int?
    /// The result version of the build that measured.
    public var resultVersion: Int
    /// The targets of all groups, in the order of the file.
    public var outcomes: [TargetOutcome]

    /// A report.
    public init(file: String, recordedVersion: Int?, resultVersion: Int, outcomes: [TargetOutcome]) {
        self.file = file
        self.recordedVersion = recordedVersion
        self.resultVersion = resultVersion
        self.outcomes = outcomes
    }

    /// Whether the check is passed: no target is missed, and the exact hits are those of the build's result version.
    public var isPassed: Bool { missed.isEmpty && versionFault == nil }

    /// A sentence if exact hits were recorded with another result version than the build has; `nil` otherwise.
    ///
    /// Exact hits are then not compared: limits alone decide which targets are missed.
    public var versionFault: String? {
        guard let recordedVersion, recordedVersion != resultVersion, outcomes.contains(where: { $0.target.hits != nil })
        else { return nil }
        let versions =
            "The exact figures were recorded with result version \(recordedVersion), and this build has \(resultVersion): "
        return versions
            + (resultVersion > recordedVersion
                ? "record them with --update --reason \"…\"." : "use a build with result version \(recordedVersion).")
    }

    /// The targets that were missed.
    public var missed: [TargetOutcome] { outcomes.filter { !misses(of: $0).isEmpty } }
    /// The targets whose hits are not those recorded.
    public var moved: [TargetOutcome] { outcomes.filter(\.hasMoved) }
    /// The targets without a limit.
    public var unrecorded: [TargetOutcome] { outcomes.filter { !$0.target.hasLimit } }
    /// The targets with a limit whose exact hits could be recorded, but are not.
    public var withoutHits: [TargetOutcome] { outcomes.filter { $0.target.hasLimit && $0.lacksHits } }

    /// The targets that a reader has to look at: moved, missed or without a limit.
    var noteworthy: [TargetOutcome] {
        outcomes.filter { $0.hasMoved || !misses(of: $0).isEmpty || !$0.target.hasLimit }
    }

    /// What `outcome` misses, a sentence each; empty where the target is reached.
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
        if outcome.missesHighestLoss {
            misses.append(
                "The loss to \(outcome.target.baseline ?? "") is \((outcome.loss ?? 0).points), and the highest accepted is "
                    + "\((outcome.target.highestLoss ?? 0).points).")
        }
        return misses
    }
}

/// A target and what was measured.
public struct TargetOutcome: Sendable, Equatable {
    /// The place of the group in the file, from 0.
    public var group: Int
    /// The place of the target in the group, from 0.
    public var number: Int
    /// The trace as the file names it, with the prefetch policy if there is one.
    public var trace: String
    /// One cache for all, or one a user.
    public var mode: ReplayMode
    /// The target as the file has it.
    public var target: Target
    /// The policy's name without parameters.
    public var policyName: String
    /// The hits counted.
    public var hits: Int
    /// The requests counted.
    public var requests: Int
    /// The object hit ratio of the baseline, 0…1; `nil` without one.
    public var baselineHitRatio: Double?
    /// The matrix routines that make the result depend on the processor; `nil` where it is exact.
    public var systemKernels: KernelInfo?
    /// The seconds that the run took.
    public var seconds: Double

    /// The object hit ratio, 0…1.
    public var hitRatio: Double { requests == 0 ? 0 : Double(hits) / Double(requests) }

    /// How far the baseline is ahead, as a difference of object hit ratios; `nil` without a baseline.
    public var loss: Double? { baselineHitRatio.map { $0 - hitRatio } }

    /// How many hits there are above those recorded; `nil` where none were recorded.
    public var change: Int? { target.hits.map { hits - $0 } }

    /// Whether the hits are the same on every machine.
    public var isExact: Bool { systemKernels == nil }

    /// Whether the hits differ from those recorded.
    public var hasMoved: Bool { change.map { $0 != 0 } ?? false }

    /// Whether exact hits could be recorded, but are not.
    var lacksHits: Bool { isExact && target.hits == nil }

    /// Whether a figure of the target is yet to be recorded.
    var isNew: Bool { !target.hasLimit || lacksHits }

    /// Whether the hit ratio is below the floor.
    var missesFloor: Bool { target.floor.map { hitRatio < $0 - Self.resolution } ?? false }

    /// Whether the baseline is ahead by more than the highest accepted loss.
    var missesHighestLoss: Bool {
        guard let loss, let highest = target.highestLoss else { return false }
        return loss > highest + Self.resolution
    }

    /// The file rounds ratios to six decimals.
    private static let resolution = 0.000_000_6
}

extension Double {
    /// A difference of ratios in points, with its sign: `-1.25 points`.
    var points: String { signedHundredths + " points" }
    /// A difference of ratios in points, with its sign and without the word.
    var signedHundredths: String {
        let text = (self * 100).decimals(2)
        return text == "-0.00" ? "0.00" : self > 0 && text != "0.00" ? "+" + text : text
    }
}
