extension ReplayReport {
    /// The times of runs at one capacity; empty if they were not timed.
    func timings(of group: [RunResult]) -> String {
        guard let clock = group.compactMap(\.timings).map(\.clock).max() else { return "" }
        var table = TextTable(
            [(title: "policy", alignment: .left), (title: "ns", alignment: .left)]
                + ["times", "mean", "p50", "p90", "p99", "p99.9", "max"].map { (title: $0, alignment: .right) })
        for run in group {
            for (name, times) in run.timings?.kinds ?? [] {
                let figures = [times.p50, times.p90, times.p99, times.p999, times.max].map(\.grouped)
                table.add(
                    [.init(run.label), .init(name), .init(times.count.grouped), .init(times.mean.decimals(0))]
                        + figures.map { .init($0) })
            }
        }
        return "\n" + table.rendered() + "The clock's own \(clock.decimals(0)) ns are taken off.\n"
    }
}
