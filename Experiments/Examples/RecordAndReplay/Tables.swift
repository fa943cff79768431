import Foundation
import Halcyon
import HalcyonSimulation

/// Where look-ups were answered, over all and in the categories that were asked for most.
func liveTable(_ statistics: CacheStatistics) -> String {
    var table = TextTable([
        ("category", .left), ("look-ups", .right), ("memory", .right), ("disk", .right), ("not at all", .right),
    ])
    let byCategory = statistics.lookUpsByCategory.sorted { ($1.value.total, $0.key) < ($0.value.total, $1.key) }
    for (name, counts) in [("all", statistics.lookUps)] + byCategory.prefix(8) {
        table.add([
            .init(name), .init("\(counts.total)"), .init(share(counts.memory, counts.total)),
            .init(share(counts.disk, counts.total)), .init(share(counts.none, counts.total)),
        ])
    }
    return table.rendered()
}

/// How often each policy would have hit.
func replayTable(_ runs: [RunResult]) -> String {
    var table = TextTable([("policy", .left), ("hit ratio", .right), ("evictions", .right)])
    for run in runs {
        table.add([.init(run.label), .init(share(run.hits, run.requests)), .init("\(run.evictions)")])
    }
    return table.rendered()
}

private func share(_ part: Int, _ whole: Int) -> String {
    String(format: "%.2f %%", 100 * Double(part) / Double(max(whole, 1)))
}

extension TierCounts {
    /// All look-ups.
    fileprivate var total: Int { memory + disk + none }
}
