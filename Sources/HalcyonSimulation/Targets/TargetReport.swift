/// What a check of targets found.
public struct TargetReport: Sendable, Equatable {
    /// The file that was checked, as it was named.
    public var file: String
    /// The targets of all groups, in the order of the file.
    public var outcomes: [TargetOutcome]

    /// A report.
    public init(file: String, outcomes: [TargetOutcome]) {
        self.file = file
        self.outcomes = outcomes
    }

    /// The targets that were missed.
    public var missed: [TargetOutcome] { outcomes.filter { !$0.misses.isEmpty } }
    /// The targets whose hit ratio is another one than recorded.
    public var moved: [TargetOutcome] { outcomes.filter(\.hasMoved) }
    /// The targets that have no bound yet.
    public var unbounded: [TargetOutcome] { outcomes.filter { !$0.target.isBounded } }
}

/// A target and what was measured.
public struct TargetOutcome: Sendable, Equatable {
    /// The place of the group in the file, from 0.
    public var group: Int
    /// The place of the target in the group, from 0.
    public var number: Int
    /// The trace as the file names it.
    public var trace: String
    /// Which caches there were.
    public var mode: ReplayMode
    /// What was to be reached.
    public var target: Target
    /// The policy's name without parameters.
    public var policyName: String
    /// The object hit ratio measured, 0…1.
    public var hitRatio: Double
    /// The baseline's, where there is one.
    public var baselineHitRatio: Double?
    /// The seconds that the run took.
    public var seconds: Double

    /// By how much the baseline is ahead; `nil` without one.
    public var loss: Double? { baselineHitRatio.map { $0 - hitRatio } }

    /// By how much the hit ratio is above what was recorded; `nil` where it never was.
    public var change: Double? { target.hitRatio.map { hitRatio - $0 } }

    /// Whether the hit ratio differs from what was recorded, in the six decimals that a file keeps.
    public var hasMoved: Bool { change.map { abs($0) > Self.resolution } ?? false }

    /// What was missed, a sentence each; empty where the target was reached.
    public var misses: [String] {
        var misses: [String] = []
        if let lowest = target.lowestHitRatio, hitRatio < lowest - Self.resolution {
            misses.append("The hit ratio is \(hitRatio.percent), and the lowest accepted is \(lowest.percent).")
        }
        if let loss, let highest = target.highestLoss, loss > highest + Self.resolution {
            misses.append(
                "The loss against \(target.baseline ?? "") is \(loss.points), and the highest accepted is "
                    + "\(highest.points).")
        }
        return misses
    }

    /// The files round to six decimals.
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
