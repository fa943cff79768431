/// What misses cost, where a policy was asked to save that (`learned(objective=cost)`).
struct MissPrices: Hashable {
    let perMiss: Double
    let perByte: Double

    /// The prices that a run's policy was given; `nil` if it saves something else.
    init?(_ run: RunResult) {
        guard run.parameters["objective"] == "cost", let perMiss = run.parameters["per-miss"].flatMap(Double.init),
            let perByte = run.parameters["per-byte"].flatMap(Double.init)
        else { return nil }
        self.perMiss = perMiss
        self.perByte = perByte
    }

    /// The runs with what their misses cost: each at its policy's own prices, and those of other policies at these too, so
    /// that they can be compared, unless there are several.
    static func applied(to runs: [RunResult]) -> [RunResult] {
        let all = Set(runs.compactMap { MissPrices($0) })
        return runs.map { run in
            var run = run
            run.missCost = (MissPrices(run) ?? (all.count == 1 ? all.first : nil))?.total(run)
            return run
        }
    }

    private func total(_ run: RunResult) -> Double {
        perMiss * Double(run.requests - run.hits) + perByte * Double(run.bytesFetched)
    }
}
