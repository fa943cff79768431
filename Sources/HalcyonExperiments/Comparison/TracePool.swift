import HalcyonSimulation

/// The mean difference over all compared cells of one trace, with its standard error.
struct TracePool {
    /// The mean over cells of the differences A − B.
    let difference: Double
    /// The variance of ``difference`` over units. Nil if a cell has fewer than two units with requests.
    let unitVariance: (variance: Double, degrees: Double)?
    /// The noise of the runs in ``difference``.
    let noise: RunNoise

    /// Pools the cells of one trace. O(cells × units).
    ///
    /// Cells that count the same units depend on each other, because the same users (or blocks of time) cause the
    /// differences at every capacity. Their differences are added by unit before the variance is taken. Standard errors of
    /// cells with other units, such as those of another mode, are added as if perfectly correlated, which is the largest
    /// value that their sum can have. Runs that are part of several pairs count once, with their total weight.
    init(_ pairs: [ComparedPair]) {
        let count = Double(pairs.count)
        difference = pairs.reduce(0) { $0 + $1.difference } / count
        unitVariance = Self.unitVariance(pairs)
        noise = Self.noise(pairs)
    }

    private struct Units: Hashable {
        let kind: UnitCounts.Kind
        let weights: [Int]
    }

    private static func unitVariance(_ pairs: [ComparedPair]) -> (variance: Double, degrees: Double)? {
        let groups = Dictionary(grouping: pairs) { Units(kind: $0.a.kind, weights: $0.a.weights) }
        var deviations: [Double] = []
        var degrees = Double.infinity
        for (units, pairs) in groups {
            var series = [Double](repeating: 0, count: units.weights.count)
            for pair in pairs {
                for (unit, value) in pair.series.enumerated() { series[unit] += value }
            }
            let (variance, _) = ComparedPair.variance(series, units.weights.map(Double.init), units.kind)
            guard let variance else { return nil }
            deviations.append(variance.variance(of: series).squareRoot())
            degrees = min(degrees, variance.degrees)
        }
        // Sorted, so that the sum does not depend on the order of a dictionary.
        let deviation = deviations.sorted().reduce(0, +) / Double(pairs.count)
        return (deviation * deviation, degrees)
    }

    private static func noise(_ pairs: [ComparedPair]) -> RunNoise {
        let share = 1 / Double(pairs.count)
        var arms: [String: (weight: Double, variance: Double)] = [:]
        for pair in pairs {
            for (key, sign, noise) in [
                ("a " + pair.a.key, share, pair.noise.a), ("b " + pair.b.key, -share, pair.noise.b),
            ] {
                var arm = arms[key] ?? (0, 0)
                arm.weight += sign
                arm.variance = max(arm.variance, noise.deviation * noise.deviation)
                arms[key] = arm
            }
        }
        let variance = arms.values.map { $0.weight * $0.weight * $0.variance }.sorted().reduce(0, +)
        let parts = pairs.map {
            (variance: $0.jointNoise.deviation * $0.jointNoise.deviation, degrees: $0.jointNoise.degrees)
        }
        return RunNoise(deviation: variance.squareRoot(), degrees: StandardError(adding: parts).degrees)
    }

    /// The variances that make up that of ``difference``, with their degrees of freedom. Nil if units are too few.
    var parts: [(variance: Double, degrees: Double)]? {
        unitVariance.map { units in
            [
                (variance: max(0, units.variance), degrees: max(1, units.degrees)),
                (variance: noise.deviation * noise.deviation, degrees: max(1, noise.degrees)),
            ]
        }
    }
}
