import Foundation
import HalcyonPrefetch
import HalcyonSupport

extension ReplayReport {
    /// Returns the report as tables of runs: by default the best in bold and the optimum last.
    ///
    /// Runs that differ in their seed only are one row, with their mean.
    ///
    /// - Parameters:
    ///   - options: the columns and the order of the rows.
    ///   - emphasis: whether to set bold text, as on a terminal.
    public func table(_ options: TableOptions = TableOptions(), emphasis: Bool = false) -> String {
        var text = header
        let groups = Self.byCapacity(runs)
        let tables = groups.map { RunTable($0, trace: trace, options: options) }
        // A note that all tables share stands once, below the last one.
        let notes = tables.map(\.notes)
        let shared = notes.count > 1 ? notes[0].filter { note in notes.allSatisfy { $0.contains(note) } } : []
        for (number, group) in groups.enumerated() {
            text += "\n" + title(of: group) + "\n"
            text += tables[number].rendered(emphasis: emphasis)
            text += Self.lines(of: notes[number].filter { !shared.contains($0) })
            text += breakdown(of: group, by: "category", \.categories) + breakdown(of: group, by: "user", \.users)
            text += timings(of: group) + prefetching(of: group)
        }
        return text + (shared.isEmpty ? "" : "\n" + Self.lines(of: shared))
    }

    private static func lines(of notes: [String]) -> String { notes.map { "  note: \($0)\n" }.joined() }

    private var header: String {
        let unit = trace.sizeUnit == .bytes ? ", \(trace.distinctSize.bytesForPeople)" : ""
        var text =
            "\(trace.path.escapingControls()): \(trace.requests.counted("request")), \(trace.objects.counted("object"))\(unit)"
        if trace.users > 0 { text += ", \(trace.users.counted("user"))" }
        if trace.categories > 0 {
            text += ", \(trace.categories.grouped) \(trace.categories == 1 ? "category" : "categories")"
        }
        text += "\n"
        text += Self.lines(of: trace.notes)
        if let note = KernelInfo.note(runs.flatMap(\.allKernels)) { text += "  note: \(note)\n" }
        if let pretraining = runs.lazy.compactMap(\.pretrain).first.flatMap({ try? Pretraining(parsing: $0) }) {
            text += "  note: \(pretraining.sentence)\n"
        }
        if let run = runs.first, run.warmupRequests > 0 {
            let warmup = run.warmupRequests.counted("request")
            text += "  note: the first \(warmup) warm up the cache and are not counted.\n"
        }
        return text
    }

    private func title(of group: [RunResult]) -> String {
        // Beside policies in one cache, a run in two tiers is described by a note.
        let run = group.first { $0.tiers == nil } ?? group[0]
        let requested = run.capacityAsked
        var text: String
        if let tiers = run.tiers {
            let ratio = tiers.decodedSizeRatio.map { " (decoded, \($0.decimals(1)) × the size on disk)" } ?? ""
            text = "memory \(exactAmount(tiers.memoryCapacity, run))\(ratio), "
            text += "disk \(exactAmount(tiers.diskCapacity, run))"
        } else {
            let isShare = requested.last == "%"
            text = "capacity \(isShare ? amount(run.capacity, run) : exactAmount(run.capacity, run))"
            if requested != "\(run.capacity)", isShare { text += " (\(requested))" }
        }
        if run.mode == .perUser {
            text += " a user, \(run.caches.counted("user"))"
            if let knowledge = group.lazy.compactMap(\.knowledge).first { text += ", \(knowledge.rawValue) knowledge" }
            if let restart = run.restart { text += ", restarted between \(restart)" }
        }
        return text + ", \(run.requests.counted("request")) counted"
    }

    private func amount(_ capacity: Int, _ run: RunResult) -> String {
        run.capacityUnit == .bytes ? capacity.bytesForPeople : capacity.counted("object")
    }

    private func exactAmount(_ capacity: Int, _ run: RunResult) -> String {
        run.capacityUnit == .bytes ? capacity.exactBytesForPeople : capacity.counted("object")
    }
}

extension ReplayReport {
    /// Returns the times of runs at one capacity; empty if they were not timed.
    func timings(of group: [RunResult]) -> String {
        guard let clock = group.compactMap(\.timings).map(\.clock).max() else { return "" }
        var table = TextTable(
            left: ["policy", "ns"], right: ["times", "mean", "p50", "p90", "p99", "p99.9", "max"])
        for run in RunRow.rows(group).map(\.first) {
            for (name, times) in run.timings?.kinds ?? [] {
                let figures = [times.p50, times.p90, times.p99, times.p999, times.max].map(\.grouped)
                table.add([run.label, name, times.count.grouped, times.mean.decimals(0)] + figures)
            }
        }
        let seeds = group.count > RunRow.rows(group).count ? " Of several seeds, the first one is shown." : ""
        return "\n" + table.rendered() + "The clock's overhead of \(clock.decimals(0)) ns is subtracted.\(seeds)\n"
    }
}

extension ReplayReport {
    /// The number of categories or users that the table lists. The JSON has all.
    private static let listed = 10

    /// Returns the hit ratios of runs at one capacity by category or user, the most requested first; empty if not
    /// counted.
    func breakdown(of group: [RunResult], by what: String, _ tallies: (RunResult) -> [String: Tally]?) -> String {
        guard let first = group.first.flatMap(tallies), !first.isEmpty else { return "" }
        let rows = RunRow.rows(group)
        let names = first.sorted { ($1.value.requests, $0.key) < ($0.value.requests, $1.key) }
        var table = TextTable(left: [what], right: ["requests"] + rows.map(\.label))
        for (name, tally) in names.prefix(Self.listed) {
            let ratios = rows.map { $0.meanIfAll { tallies($0)?[name]?.objectHitRatio }?.percent ?? "-" }
            table.add([name, tally.requests.grouped] + ratios)
        }
        let rest = names.count - Self.listed
        return "\n" + table.rendered() + (rest > 0 ? "and \(rest.grouped) more, in --format json and csv\n" : "")
    }
}

extension ReplayReport {
    /// Returns the results of prefetching in runs at one capacity; empty without prefetching.
    func prefetching(of group: [RunResult]) -> String {
        guard let first = group.lazy.compactMap(\.prefetch).first else { return "" }
        var table = TextTable(
            left: ["prefetching"],
            right: [
                "hit ratio", "without", "owed", "fetched", "precision", "coverage", "pollution", "timely", "wasted",
                "µs",
            ])
        let rows = RunRow.rows(group).filter { $0.first.prefetch != nil }
        for row in rows {
            func mean(_ value: (PrefetchResult, Double) -> Double) -> Double {
                row.meanIfAll { run in run.prefetch.map { value($0, Double(max(1, run.requests))) } } ?? 0
            }
            let shares = [
                row.mean { $0.objectHitRatio }, mean { prefetch, _ in prefetch.objectHitRatioWithout },
                mean { Double($0.hitsOwed) / $1 }, mean { Double($0.fetched) / $1 },
                mean { prefetch, _ in prefetch.precision }, mean { prefetch, _ in prefetch.coverage },
                mean { prefetch, _ in prefetch.pollution }, mean { prefetch, _ in prefetch.timeliness },
                mean { prefetch, _ in prefetch.wastedShare },
            ]
            let microseconds = mean { prefetch, _ in prefetch.planningMicroseconds }
            table.add([row.label] + shares.map(\.percent) + [microseconds.decimals(1)])
        }
        var text = "\n" + table.rendered()
        text += "Budget \(first.budget); a fetch takes: \(first.latency). \(first.resolutionSentence)"
        if group.contains(where: { $0.mode == .perUser }) {
            text +=
                group.contains { $0.knowledge == .device && $0.prefetch != nil }
                ? "Device knowledge: each user's prefetch policy sees the requests of this user alone. "
                : "Server knowledge: one prefetch policy learns from the live requests of all users, which no device sees. "
        }
        text += "owed: hits due to prefetching, of the requests; "
        text += "fetched: prefetched objects, "
        text += "of the requests; precision: used, of the fetched; coverage: misses avoided, of the misses without "
        text += "prefetching; pollution: hits lost, of the requests; timely: used, of the used and late; wasted: "
        text += "prefetched and unused, of everything fetched; µs: learning and planning per request.\n"
        for row in rows { text += announcements(of: row) + lists(of: row) + waits(of: row) }
        for row in rows { text += calibration(of: row.first) }
        return text
    }

    /// Returns what a server announced, in one line; empty without announcements.
    private func announcements(of row: RunRow) -> String {
        guard let sent = row.first.prefetch?.announcements else { return "" }
        let each = Double(sent.bytes) / Double(max(1, row.first.requests))
        return "\(row.label): announced \(sent.announcements): \(sent.lists.counted("list")) of "
            + "\(sent.entries.grouped) entries in all, \(sent.bytes.bytesForPeople), \(each.decimals(0)) bytes a "
            + "request.\n"
    }

    /// Returns what was shown and opened, in one line; empty without lists.
    private func lists(of row: RunRow) -> String {
        guard let shown = row.first.prefetch?.lists else { return "" }
        let ratio = row.meanIfAll { $0.prefetch?.lists?.hitRatio } ?? 0
        let fetched = row.meanIfAll { $0.prefetch?.lists.map { Double($0.fetched) / Double($0.lists) } } ?? 0
        return
            "\(row.label): \(shown.lists.counted("list")) of \(shown.items.grouped) items; \(fetched.decimals(1)) fetched "
            + "a list; \(shown.openings.counted("opening")), \(ratio.percent) of them hits.\n"
    }

    /// Returns how long a request waits with prefetching and without, in one line.
    private func waits(of row: RunRow) -> String {
        func mean(_ value: (PrefetchResult) -> Double) -> String {
            (row.meanIfAll { $0.prefetch.map(value) } ?? 0).decimals(1)
        }
        return "\(row.label): a request waits \(mean(\.meanLatency)) ms on average, 99 of 100 at most "
            + "\(mean(\.p99Latency)) ms; without prefetching \(mean(\.meanLatencyWithout)) and "
            + "\(mean(\.p99LatencyWithout)) ms.\n"
    }

    /// Returns the predicted probabilities and the observed frequencies; empty for a prefetch policy without
    /// probabilities.
    private func calibration(of run: RunResult) -> String {
        guard let prefetch = run.prefetch, prefetch.calibration.contains(where: { $0.count > 0 }) else { return "" }
        var table = TextTable(
            left: ["\(prefetch.policy): probability"], right: ["candidates", "predicted", "observed"])
        for bin in prefetch.calibration where bin.count > 0 {
            table.add([
                "\(bin.from.percent) to \(bin.to.percent)", bin.count.grouped, bin.predicted.percent,
                bin.observed.percent,
            ])
        }
        return "\n" + table.rendered()
    }
}
