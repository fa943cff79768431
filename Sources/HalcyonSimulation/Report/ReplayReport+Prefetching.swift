import HalcyonPrefetch

extension ReplayReport {
    /// What came of prefetching in runs at one capacity; empty if nothing was fetched ahead.
    func prefetching(of group: [RunResult]) -> String {
        guard let first = group.lazy.compactMap(\.prefetch).first else { return "" }
        var columns: [(title: String, alignment: TextTable.Alignment)] = [("prefetching", .left)]
        columns += [
            "hit ratio", "without", "owed", "fetched", "precision", "coverage", "pollution", "timely", "wasted", "µs",
        ]
        .map { ($0, .right) }
        var table = TextTable(columns)
        for run in group {
            guard let prefetch = run.prefetch else { continue }
            let requests = Double(max(1, run.requests))
            let shares = [
                run.objectHitRatio, prefetch.objectHitRatioWithout, Double(prefetch.hitsOwed) / requests,
                Double(prefetch.fetched) / requests, prefetch.precision, prefetch.coverage, prefetch.pollution,
                prefetch.timeliness, prefetch.wastedShare,
            ]
            table.add(
                [.init("\(run.label) + \(prefetch.policy)")] + shares.map { .init($0.percent) }
                    + [.init(prefetch.planningMicroseconds.decimals(1))])
        }
        var text = "\n" + table.rendered()
        text +=
            "Budget \(first.budget). Hits owed to prefetching and objects fetched ahead: of the requests; precision: used, of the "
        text +=
            "fetched; coverage: misses avoided, of all without prefetching; pollution: hits lost, of the requests; wasted: "
        text += "fetched ahead in vain, of all that was fetched; µs: learning and planning a request.\n"
        for run in group { text += calibration(of: run) }
        return text
    }

    /// Predicted probabilities beside what happened; empty for a prefetch policy that gives none.
    private func calibration(of run: RunResult) -> String {
        guard let prefetch = run.prefetch, prefetch.calibration.contains(where: { $0.count > 0 }) else { return "" }
        var table = TextTable(
            [(title: "\(prefetch.policy): probability", alignment: .left)]
                + ["candidates", "predicted", "observed"].map { (title: $0, alignment: .right) })
        for bin in prefetch.calibration where bin.count > 0 {
            table.add([
                .init("\(bin.from.percent) to \(bin.to.percent)"), .init(bin.count.grouped),
                .init(bin.predicted.percent),
                .init(bin.observed.percent),
            ])
        }
        return "\n" + table.rendered()
    }
}
