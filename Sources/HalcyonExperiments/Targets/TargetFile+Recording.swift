import HalcyonEviction
import HalcyonSimulation

extension TargetFile {
    /// Returns the file with the figures of `report`, and an entry in the history.
    ///
    /// - New targets get their exact hits, and limits one ``margin(of:)`` away from the measured values. These are a floor,
    ///   a byte floor if the trace has sizes, and with tiers a highest latency. Its distance is the margin times the latency of the
    ///   network: what as many more misses cost.
    /// - Targets that moved get their new hits if the build has a higher result version than the file. The file then
    ///   gets that version.
    /// - Existing limits do not change: no floor is lowered, and no highest loss is raised.
    ///
    /// If no figure changes, the file is returned unchanged.
    ///
    /// - Parameters:
    ///   - report: the report of checking this file.
    ///   - reason: the reason for the new values.
    ///   - date: the day, `2026-11-21`.
    ///   - path: the name of the file, for messages.
    /// - Throws: `ReplayError.usage(_:)` if the file has a higher result version than the build,
    ///   hits moved without a higher result version, or a limit is missed.
    public func recording(
        _ report: TargetReport, reason: String, date: String, path: String
    ) throws(ReplayError) -> TargetFile {
        try requireVersion(for: report, path: path)
        try requireLimits(in: report, path: path)
        var file = self
        var changed = 0
        for outcome in report.outcomes where outcome.hasMoved || outcome.isNew {
            file.groups[outcome.group].targets[outcome.number] = recorded(outcome)
            changed += 1
        }
        if file.groups.contains(where: { $0.targets.contains { $0.hits != nil } }) {
            file.resultVersion = report.resultVersion
        }
        if changed > 0 || file.resultVersion != resultVersion {
            file.history.append(
                TargetRecording(date: date, halcyonVersion: Halcyon.version, targets: changed, reason: reason))
        }
        return file
    }

    private func recorded(_ outcome: TargetOutcome) -> Target {
        var target = outcome.target
        var margin = margin(of: outcome.policyName)
        if let prefetch = groups[outcome.group].prefetch {
            margin = max(margin, self.margin(of: prefetch.policy.name))
        }
        if outcome.isExact { target.hits = outcome.hits }
        if target.isUnlimited {
            target.floor = max(0, outcome.hitRatio - margin)
            target.byteFloor = outcome.byteHitRatio.map { max(0, $0 - margin) }
            target.highestLatency = outcome.meanLatency.map { latency in
                latency + margin * (groups[outcome.group].tiers?.latency.network ?? 0)
            }
        }
        if target.highestLoss == nil, let loss = outcome.loss { target.highestLoss = min(1, loss + margin) }
        return target
    }

    /// Refuses a build whose figures must not replace those of the file.
    private func requireVersion(for report: TargetReport, path: String) throws(ReplayError) {
        guard let resultVersion else { return }
        if report.resultVersion < resultVersion {
            throw .usage(
                "\(path) was recorded with result version \(resultVersion), and this build has \(report.resultVersion): "
                    + "use a build with result version \(resultVersion) or higher.")
        }
        guard report.resultVersion == resultVersion, let first = report.moved.first else { return }
        let rest = report.moved.count - 1
        throw .usage(
            "\(first.name) has \(first.hits.counted("hit")), and \((first.target.hits ?? 0).grouped) "
                + "\(first.target.hits == 1 ? "was" : "were") recorded with result version \(resultVersion), which this build "
                + "has too\(rest > 0 ? "; \(rest.counted("other target")) moved as well" : ""): raise the result version "
                + "(Halcyon.resultVersion) first.")
    }

    /// Refuses to record if a limit is missed: a limit is only changed by hand.
    private func requireLimits(in report: TargetReport, path: String) throws(ReplayError) {
        for outcome in report.outcomes {
            if outcome.missesFloor {
                throw .usage(
                    "--update lowers no floor: \(outcome.name) has a hit ratio of \(outcome.hitRatio.decimals(6)), and the "
                        + "floor is \((outcome.target.floor ?? 0).decimals(6)); lower it by hand in \(path) if that is meant."
                )
            }
            if outcome.missesByteFloor {
                throw .usage(
                    "--update lowers no byte floor: \(outcome.name) has a byte hit ratio of "
                        + "\((outcome.byteHitRatio ?? 0).decimals(6)), and the floor is "
                        + "\((outcome.target.byteFloor ?? 0).decimals(6)); lower it by hand in \(path) if that is meant."
                )
            }
            if outcome.missesHighestLatency {
                throw .usage(
                    "--update raises no highest latency: \(outcome.name) has a mean latency of "
                        + "\((outcome.meanLatency ?? 0).decimals(6)) ms, and the highest accepted is "
                        + "\((outcome.target.highestLatency ?? 0).decimals(6)) ms; raise it by hand in \(path) if that is "
                        + "meant.")
            }
            if outcome.missesHighestLoss {
                throw .usage(
                    "--update raises no highest loss: \(outcome.name) has a loss of \((outcome.loss ?? 0).decimals(6)), and "
                        + "the highest accepted is \((outcome.target.highestLoss ?? 0).decimals(6)); raise it by hand in "
                        + "\(path) if that is meant.")
            }
        }
    }
}
