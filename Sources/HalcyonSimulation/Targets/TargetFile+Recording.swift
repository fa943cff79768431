import HalcyonEviction

extension TargetFile {
    /// The file with what `report` measured in place of what was recorded, and why.
    ///
    /// Only targets that moved, were missed or were never recorded change; each of their bounds is set a ``tolerance(of:)``
    /// away from what was measured. Where no target changes, the file is returned as it is.
    ///
    /// - Parameters:
    ///   - report: the outcome of checking this very file.
    ///   - reason: why the new values are right.
    ///   - date: the day, `2026-11-21`.
    public func recording(_ report: TargetReport, reason: String, date: String) -> TargetFile {
        var file = self
        var changed = 0
        for outcome in report.outcomes where outcome.hasMoved || !outcome.misses.isEmpty || !outcome.target.isBounded {
            file.groups[outcome.group].targets[outcome.number] = recorded(outcome)
            changed += 1
        }
        if changed > 0 {
            file.history.append(
                TargetRecording(date: date, halcyonVersion: Halcyon.version, targets: changed, reason: reason))
        }
        return file
    }

    private func recorded(_ outcome: TargetOutcome) -> Target {
        var target = outcome.target
        var tolerance = tolerance(of: outcome.policyName)
        // What is fetched ahead by a policy that learns differs a little between machines, as its own figures do.
        if let prefetch = groups[outcome.group].prefetch {
            tolerance = max(tolerance, self.tolerance(of: prefetch.policy.name))
        }
        target.hitRatio = outcome.hitRatio
        if target.lowestHitRatio != nil || target.highestLoss == nil {
            target.lowestHitRatio = max(0, outcome.hitRatio - tolerance)
        }
        if let loss = outcome.loss { target.highestLoss = min(1, loss + tolerance) }
        return target
    }
}
