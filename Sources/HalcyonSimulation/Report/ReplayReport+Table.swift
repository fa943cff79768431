import Foundation
import HalcyonPrefetch

extension ReplayReport {
    /// Returns the report as tables of runs, the best in bold, the optimum last.
    ///
    /// - Parameter emphasis: whether to set bold text, as on a terminal.
    public func table(emphasis: Bool = false) -> String {
        var text = header
        var capacities: [(capacity: Int, requested: String)] = []
        for run in runs
        where !capacities.contains(where: { $0.capacity == run.capacity && $0.requested == run.capacityAsked }) {
            capacities.append((run.capacity, run.capacityAsked))
        }
        for (capacity, requested) in capacities {
            let group = runs.filter { $0.capacity == capacity && $0.capacityAsked == requested }
            text += "\n" + title(group[0], requested: requested) + "\n" + table(of: group, emphasis: emphasis)
            text += breakdown(of: group, by: "category", \.categories) + breakdown(of: group, by: "user", \.users)
            text += timings(of: group) + prefetching(of: group)
        }
        return text
    }

    private var header: String {
        let unit = trace.sizeUnit == .bytes ? ", \(trace.distinctSize.bytesForPeople)" : ""
        var text = "\(trace.path): \(trace.requests.counted("request")), \(trace.objects.counted("object"))\(unit)"
        if trace.users > 0 { text += ", \(trace.users.counted("user"))" }
        if trace.categories > 0 {
            text += ", \(trace.categories.grouped) \(trace.categories == 1 ? "category" : "categories")"
        }
        text += "\n"
        for note in trace.notes { text += "  note: \(note)\n" }
        if let note = KernelInfo.note(runs.flatMap(\.allKernels)) { text += "  note: \(note)\n" }
        if let run = runs.first, run.warmupRequests > 0 {
            let warmup = run.warmupRequests.counted("request")
            text += "  note: the first \(warmup) warm up the cache and are not counted.\n"
        }
        return text
    }

    private func title(_ run: RunResult, requested: String) -> String {
        var text: String
        if let tiers = run.tiers {
            text = "memory \(amount(tiers.memoryCapacity, run)), disk \(amount(tiers.diskCapacity, run))"
        } else {
            text = "capacity \(amount(run.capacity, run))"
            if requested != "\(run.capacity)", requested.last == "%" { text += " (\(requested))" }
        }
        if run.mode == .perUser { text += " a user, \(run.caches.counted("user"))" }
        return text + ", \(run.requests.counted("request")) counted"
    }

    private func amount(_ capacity: Int, _ run: RunResult) -> String {
        run.capacityUnit == .bytes ? capacity.bytesForPeople : capacity.counted("object")
    }

    private func table(of group: [RunResult], emphasis: Bool) -> String {
        let hasBytes = trace.sizeUnit == .bytes
        let hasMissCosts = group.contains { $0.missCost != nil }
        let hasTiers = group.contains { $0.tiers != nil }
        let hasUsers = group.contains { $0.userDistribution != nil }
        let lru = group.first { $0.label == "lru" }?.objectHitRatio
        let optimum = group.first { $0.traits.contains("needs_future") }?.objectHitRatio
        let online = group.filter { !$0.traits.contains("needs_future") }
        let best = online.map(\.objectHitRatio).max()
        let bestBytes = online.map(\.byteHitRatio).max()

        var columns: [(String, TextTable.Alignment)] = [("policy", .left), ("hit ratio", .right)]
        if hasBytes { columns.append(("byte hit ratio", .right)) }
        if hasMissCosts { columns.append(("miss cost", .right)) }
        if lru != nil && optimum != nil { columns.append(("gap closed", .right)) }
        if hasUsers { columns += [("user p10", .right), ("user p50", .right), ("user p90", .right)] }
        if hasTiers { columns += [("memory", .right), ("disk", .right), ("mean ms", .right), ("p99 ms", .right)] }
        columns += [("evictions", .right), ("M req/s", .right)]
        columns += [("fixed", .right), ("B/resident", .right), ("total", .right)]
        var table = TextTable(columns.map { (title: $0.0, alignment: $0.1) })
        for run in online + group.filter({ $0.traits.contains("needs_future") }) {
            let isOnline = !run.traits.contains("needs_future")
            var row: [TextTable.Cell] = [
                .init(run.label + (run.prefetch.map { " + \($0.policy)" } ?? "")),
                .init(run.objectHitRatio.percent, isBold: isOnline && run.objectHitRatio == best),
            ]
            if hasBytes {
                row.append(.init(run.byteHitRatio.percent, isBold: isOnline && run.byteHitRatio == bestBytes))
            }
            if hasMissCosts { row.append(.init(run.missCost.map { $0.decimals(1) } ?? "-")) }
            if let lru, let optimum {
                row.append(.init(optimum > lru ? ((run.objectHitRatio - lru) / (optimum - lru)).percent : "-"))
            }
            if hasUsers {
                let spread = run.userDistribution
                row += [spread?.p10, spread?.p50, spread?.p90].map { .init($0.map(\.percent) ?? "-") }
            }
            if hasTiers, let tiers = run.tiers {
                let requests = Double(max(1, run.requests))
                row += [
                    .init((Double(tiers.memoryHits) / requests).percent),
                    .init((Double(tiers.diskHits) / requests).percent), .init(tiers.meanLatency.decimals(2)),
                    .init(tiers.p99Latency.decimals(2)),
                ]
            }
            row += [
                .init(run.evictions.grouped), .init((run.requestsPerSecond / 1e6).decimals(2)),
                .init(run.metadataFixedBytes.bytesForPeople), .init(run.metadataBytesPerResident.decimals(0)),
                .init(run.metadataBytes.bytesForPeople),
            ]
            table.add(row)
        }
        return table.rendered(emphasis: emphasis)
    }
}

extension ReplayReport {
    /// Returns the times of runs at one capacity; empty if they were not timed.
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
        return "\n" + table.rendered() + "The clock's overhead of \(clock.decimals(0)) ns is subtracted.\n"
    }
}

extension ReplayReport {
    /// The number of categories or users that the table lists. The JSON has all.
    private static let listed = 10

    /// Returns the hit ratios of runs at one capacity by category or user, the most requested first; empty if not
    /// counted.
    func breakdown(of group: [RunResult], by what: String, _ tallies: (RunResult) -> [String: Tally]?) -> String {
        guard let first = group.first.flatMap(tallies), !first.isEmpty else { return "" }
        let names = first.sorted { ($1.value.requests, $0.key) < ($0.value.requests, $1.key) }
        var table = TextTable(
            [(title: what, alignment: .left), (title: "requests", alignment: .right)]
                + group.map { (title: $0.label, alignment: .right) })
        for (name, tally) in names.prefix(Self.listed) {
            let ratios = group.map { TextTable.Cell(tallies($0)?[name]?.objectHitRatio.percent ?? "-") }
            table.add([.init(name), .init(tally.requests.grouped)] + ratios)
        }
        let rest = names.count - Self.listed
        return "\n" + table.rendered() + (rest > 0 ? "and \(rest.grouped) more, in --format json\n" : "")
    }
}

extension ReplayReport {
    /// Returns the results of prefetching in runs at one capacity; empty without prefetching.
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
        text += "Budget \(first.budget). owed: hits due to prefetching, of the requests; fetched: prefetched objects, "
        text += "of the requests; precision: used, of the fetched; coverage: misses avoided, of the misses without "
        text += "prefetching; pollution: hits lost, of the requests; timely: used, of the used and late; wasted: "
        text += "prefetched and unused, of everything fetched; µs: learning and planning per request.\n"
        for run in group { text += calibration(of: run) }
        return text
    }

    /// Returns the predicted probabilities and the observed frequencies; empty for a prefetch policy without
    /// probabilities.
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
