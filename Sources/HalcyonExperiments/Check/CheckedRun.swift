import Foundation
import HalcyonEviction
import HalcyonSimulation

/// A run of a checked suite, of all its seeds: what was measured, what is stored, and its limit.
package struct CheckedRun: Sendable, Equatable {
    /// The name of the experiment.
    package var experiment: String
    /// The name of the trace.
    package var trace: String
    /// What distinguishes the run from others of its policy: prefetching, knowledge, labels, the number of seeds. Often
    /// empty.
    package var setting: String
    /// The kind of caches.
    package var mode: ReplayMode
    /// The policy with the parameters set by the user.
    package var policy: String
    /// The capacity as requested, or the capacities of the tiers.
    package var capacity: String
    /// The number of counted hits, summed over the seeds.
    package var hits: Int
    /// The number of counted requests, summed over the seeds.
    package var requests: Int
    /// The stored hits, summed over the seeds. Nil if the cell of a seed is not stored, or the run is not exact.
    package var recordedHits: Int?
    /// The result version of the stored cells. Nil as ``recordedHits``.
    package var recordedVersion: Int?
    /// The stored figures that differ from the measured ones: `hits 3 (stored 4)`.
    package var changes: [String] = []
    /// As ``changes``, but only of stored cells of the build's own result version, within which no result may move.
    package var unversionedChanges: [String] = []
    /// The byte hit ratio, 0…1, a mean over the seeds. Nil if every object of the trace counts 1.
    package var byteHitRatio: Double?
    /// The mean latency, in milliseconds, a mean over the seeds. Nil without tiers and prefetching.
    package var meanLatency: Double?
    /// The limit of the run. Nil if the suite states none.
    package var limit: RunLimit?
    /// The object hit ratio of the limit's baseline, 0…1. Nil without a baseline.
    package var baselineHitRatio: Double?
    /// Whether the limit's baseline could not be run, so that the loss is not known. The default is false.
    package var lacksBaseline = false
    /// Whether the result also depends on the keys of the trace, or on the recording of an access log. The default is
    /// false.
    package var readsMoreThanRequests = false
    /// The version of a policy that is not of Halcyon; see `PolicyInfo.version`. Nil for a policy of Halcyon.
    package var policyVersion: Int?
    /// The matrix routines that make the result depend on the processor. Nil for an exact result.
    package var systemKernels: KernelInfo?
    /// The duration of the run on one core, in seconds.
    package var seconds: Double

    /// The name: `shop, shared: lru at 1%`.
    package var name: String { "\(place): \(policy) at \(capacity)" }

    /// The trace with the setting, and the kind of caches.
    var place: String { "\(trace)\(setting), \(mode.words)" }

    /// The object hit ratio, 0…1.
    package var hitRatio: Double { Self.ratio(hits, requests) }

    /// The baseline's object hit ratio minus the policy's. Nil without a baseline.
    package var loss: Double? { baselineHitRatio.map { $0 - hitRatio } }

    /// Whether the result is the same on every machine.
    package var isExact: Bool { systemKernels == nil }

    /// Whether a figure differs from the stored one.
    package var hasMoved: Bool { !changes.isEmpty }

    /// Whether the hit ratio is below the floor.
    var missesFloor: Bool { limit?.floor.map { hitRatio < $0 - Self.resolution } ?? false }

    /// Whether the byte hit ratio is below the byte floor.
    var missesByteFloor: Bool {
        guard let byteHitRatio, let floor = limit?.byteFloor else { return false }
        return byteHitRatio < floor - Self.resolution
    }

    /// Whether the mean latency is above the highest accepted one.
    var missesHighestLatency: Bool {
        guard let meanLatency, let highest = limit?.highestLatency else { return false }
        return meanLatency > highest + Self.resolution
    }

    /// Whether the loss is larger than the highest accepted loss.
    var missesHighestLoss: Bool {
        guard let loss, let highest = limit?.highestLoss else { return false }
        return loss > highest + Self.resolution
    }

    /// The limits that the run misses, one sentence each.
    package var missedLimits: [String] {
        var misses: [String] = []
        if missesFloor {
            misses.append("The hit ratio is \(hitRatio.percent), and the floor is \((limit?.floor ?? 0).percent).")
        }
        if missesByteFloor {
            misses.append(
                "The byte hit ratio is \((byteHitRatio ?? 0).percent), and the floor is "
                    + "\((limit?.byteFloor ?? 0).percent).")
        }
        if missesHighestLatency {
            misses.append(
                "The mean latency is \((meanLatency ?? 0).decimals(3)) ms, and the highest accepted is "
                    + "\((limit?.highestLatency ?? 0).decimals(3)) ms.")
        }
        if lacksBaseline {
            misses.append("The loss to \(limit?.baseline ?? "") is not known: \(limit?.baseline ?? "") was not run.")
        }
        if missesHighestLoss {
            misses.append(
                "The loss to \(limit?.baseline ?? "") is \((loss ?? 0).points), and the highest accepted is "
                    + "\((limit?.highestLoss ?? 0).points).")
        }
        return misses
    }

    /// The resolution of limits, which are written with six decimals.
    private static let resolution = 0.000_000_6

    static func ratio(_ hits: Int, _ requests: Int) -> Double { requests == 0 ? 0 : Double(hits) / Double(requests) }

    /// Compares the cells of all seeds with the stored ones. A cell that is not stored hides no change of another.
    ///
    /// - Parameter stored: for each cell the stored one; `nil` if there is none.
    mutating func compare(_ cells: [StoredCell], with stored: [StoredCell?]) {
        let pairs = zip(stored, cells).compactMap { old, new in old.map { (stored: $0, measured: new) } }
        changes = Self.changes(in: pairs)
        unversionedChanges = Self.changes(
            in: pairs.filter { $0.stored.identity.resultVersion == $0.measured.identity.resultVersion })
        guard pairs.count == cells.count else { return }
        recordedHits = pairs.reduce(0) { $0 + $1.stored.counts.hits }
        // Another version than this build's is named, if there is one.
        let versions = pairs.map(\.stored.identity.resultVersion)
        recordedVersion = versions.first { $0 != Halcyon.resultVersion } ?? versions.first
    }

    /// Returns the figures in which cells differ: counts with their values, the other parts by name.
    private static func changes(in pairs: [(stored: StoredCell, measured: StoredCell)]) -> [String] {
        var sums: [String: (stored: Int, measured: Int)] = [:]
        var names: [String] = []
        for (old, new) in pairs {
            let (before, after) = (counts(of: old), counts(of: new))
            for name in Set(before.keys).union(after.keys) where before[name] != after[name] {
                sums[name, default: (0, 0)].stored += before[name] ?? 0
                sums[name, default: (0, 0)].measured += after[name] ?? 0
            }
            for part in parts where part.differs(old, new) && !names.contains(part.name) { names.append(part.name) }
            var renamed = old
            renamed.identity.resultVersion = new.identity.resultVersion
            if sums.isEmpty, names.isEmpty, !new.hasResult(of: renamed) { names.append("other figures") }
        }
        // The hits come first.
        let moved = sums.keys.sorted { ($0 == "hits" ? 0 : 1, $0) < ($1 == "hits" ? 0 : 1, $1) }
        return moved.map { name in
            let (stored, measured) = sums[name] ?? (0, 0)
            return "\(name.replacing("_", with: " ")) \(measured.grouped) (stored \(stored.grouped))"
        } + names
    }

    /// The parts of a stored cell besides its counts.
    private static let parts: [(name: String, differs: @Sendable (StoredCell, StoredCell) -> Bool)] = [
        ("latency", { $0.latency != $1.latency }), ("counts by unit", { $0.units != $1.units }),
        ("hits over time", { $0.series != $1.series }),
        ("capacity", { ($0.capacity, $0.memoryCapacity ?? 0) != ($1.capacity, $1.memoryCapacity ?? 0) }),
    ]

    /// Returns the counts of a cell by their names in the file.
    private static func counts(of cell: StoredCell) -> [String: Int] {
        // Counts are always encodable, as whole numbers.
        let json = try? JSONReport.compact(cell.counts)
        return json.flatMap { try? JSONDecoder().decode([String: Int].self, from: $0) } ?? [:]
    }
}

extension ReplayMode {
    /// The mode as text.
    var words: String { self == .shared ? "shared" : "per user" }
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
