import Foundation
import HalcyonSupport
import HalcyonTrace

/// The content of a trace, as reported by `replay inspect`.
///
/// Shares are between 0 and 1. A figure is nil if the trace has no data for it (no users, no categories).
package struct TraceInspection: Sendable, Codable, Equatable {
    /// The version of this structure.
    package private(set) var schema = "halcyon.inspection/1"
    /// The version of Halcyon that inspected the trace.
    package private(set) var halcyonVersion = BuildInfo.current.halcyonVersion
    /// The identifier of the executable; see ``BuildInfo/identifier``.
    package private(set) var buildId = BuildInfo.current.identifier
    /// The hash of the requests, the one of a replay of the whole trace; see `Trace.fingerprint`.
    package let fingerprint: String
    /// The number of requests.
    package let requests: Int
    /// The number of distinct objects.
    package let objects: Int
    /// The unit of sizes; with `objects` every object counts 1.
    package let unit: SizeUnit
    /// The total size of all requests, in ``unit``.
    package let requestedSize: UInt64
    /// The total size of all distinct objects, in ``unit``.
    package let distinctSize: UInt64
    /// The number of objects that are requested only once.
    package let oneHitWonders: Int
    /// The times of the first and the last request, in microseconds. Nil if the trace is empty or has no times.
    package let timeSpan: TimeRange?
    /// The resolution of the times, in microseconds; see `TimeColumn.resolution`. Nil without times, and if all are
    /// equal.
    package let timeResolution: Int64?
    /// The fitted slope of the popularity distribution.
    package let popularity: PopularitySlope?
    /// The LRU stack distances of re-accesses, in distinct objects.
    package let reuse: ReuseDistances
    /// The use of categories. Nil without categories.
    package let categories: CategoryMix?
    /// The use of users. Nil without users.
    package let users: UserMix?
    /// What was shown. Nil for a trace without lists.
    package let lists: ListMix?
    /// The columns of a CSV with their roles, and those that were not used. Nil for formats whose fields are fixed.
    package let columns: ColumnUse?
    /// Notices of the trace reader.
    package let notices: [String]

    /// The times of the first and the last request.
    package struct TimeRange: Sendable, Codable, Equatable {
        /// The time of the first request, in microseconds.
        package let first: Int64
        /// The time of the last request, in microseconds.
        package let last: Int64
    }

    /// The share of one category or user.
    package struct Share: Sendable, Codable, Equatable {
        /// Its name, or its number if names were not loaded.
        package let name: String
        /// Its number of requests.
        package let requests: Int
        /// Its share of all requests.
        package let share: Double
    }

    /// Inspects `trace`. O(requests · log objects) time; 8 additional bytes per request if the trace has users.
    ///
    /// - Parameter top: the number of categories and users to list.
    package init(of trace: Trace, top: Int = 10) {
        var counts = [Int](repeating: 0, count: trace.objectCount)
        var requested: UInt64 = 0
        for index in 0..<trace.count {
            counts[Int(trace.entries[index])] += 1
            requested &+= trace.size(ofRequest: index)
        }
        fingerprint = trace.fingerprint
        requests = trace.count
        objects = trace.objectCount
        unit = trace.sizeUnit
        requestedSize = requested
        distinctSize = trace.distinctSize
        oneHitWonders = counts.reduce(0) { $0 + ($1 == 1 ? 1 : 0) }
        if let first = trace.times.first, let last = trace.times.last, !trace.report.noTimes {
            timeSpan = TimeRange(first: first, last: last)
            timeResolution = trace.times.resolution
        } else {
            (timeSpan, timeResolution) = (nil, nil)
        }
        popularity = PopularitySlope(counts: counts)
        reuse = ReuseDistances(of: trace)
        categories = CategoryMix(of: trace, top: top)
        users = UserMix(of: trace, top: top)
        lists = ListMix(of: trace)
        columns = trace.report.columns.used.isEmpty ? nil : trace.report.columns
        // The columns have a line of their own.
        var report = trace.report
        report.columns = ColumnUse()
        notices = report.sentences
    }

    /// Returns the `top` largest of `counts` (by number), with their shares of `total`; ties are ordered by number.
    static func largest(_ counts: [Int], of total: Int, top: Int, names: StringTable) -> [Share] {
        counts.indices.filter { counts[$0] > 0 }
            .sorted { (counts[$0], $1) > (counts[$1], $0) }
            .prefix(top)
            .map { number in
                Share(
                    name: number < names.count ? names[UInt32(number)] : "\(number)", requests: counts[number],
                    share: Double(counts[number]) / Double(max(1, total)))
            }
    }
}

extension TraceInspection {
    /// The inspection as aligned lines of text, each ended by a newline.
    package var text: String {
        var lines: [(String, String)] = [
            ("requests", requests.grouped),
            ("objects", objects.grouped),
            ("one-hit wonders", "\(oneHitWonders.grouped) (\(percent(oneHitWonders, of: objects)) of objects)"),
        ]
        if let columns { lines.append(("columns", columns.text)) }
        if unit == .bytes {
            lines.append(("bytes, distinct", "\(bytes(distinctSize)) (mean \(bytes(mean(distinctSize, objects))))"))
            lines.append(("bytes, requested", "\(bytes(requestedSize)) (mean \(bytes(mean(requestedSize, requests))))"))
        }
        if let span = timeSpan { lines.append(("time span", duration(span.last - span.first))) }
        if let timeResolution {
            lines.append(("time resolution", TimeSpan(microseconds: timeResolution).description))
        }
        if let popularity {
            lines.append(
                (
                    "popularity slope",
                    "\(popularity.alpha.decimals(2)) (R² \(popularity.rSquared.decimals(2)), "
                        + "\(popularity.objects.grouped) objects with \(PopularitySlope.minimumCount) requests or more)"
                ))
        }
        lines += reuseLines
        if let categories { lines += categoryLines(categories) }
        if let users { lines += userLines(users) }
        if let lists { lines += listLines(lists) }
        lines.append(("fingerprint", fingerprint))
        lines += notices.map { ("note", $0) }
        let width = lines.map(\.0.count).max() ?? 0
        return lines.map { $0.0.padding(toLength: width + 2, withPad: " ", startingAt: 0) + $0.1 + "\n" }.joined()
    }

    private var reuseLines: [(String, String)] {
        var lines = [("re-accesses", "\(reuse.reaccesses.grouped) (\(percent(reuse.reaccesses, of: requests)))")]
        guard let at = reuse.percentiles else { return lines }
        lines.append(
            (
                "reuse distance",
                "10 % ≤ \(at.p10.grouped), 25 % ≤ \(at.p25.grouped), 50 % ≤ \(at.p50.grouped), "
                    + "75 % ≤ \(at.p75.grouped), 90 % ≤ \(at.p90.grouped), 99 % ≤ \(at.p99.grouped) objects"
            ))
        let most = reuse.log2Histogram.max() ?? 1
        for (octave, count) in reuse.log2Histogram.enumerated() {
            let label = octave == 0 ? "1" : "\((1 << octave).grouped)–\(((2 << octave) - 1).grouped)"
            let bar = String(repeating: "▇", count: (count * 30 + most - 1) / max(1, most))
            lines.append(("  " + label, "\(percent(count, of: reuse.reaccesses)) \(bar)"))
        }
        return lines
    }

    private func categoryLines(_ mix: CategoryMix) -> [(String, String)] {
        var lines = [("categories", "\(mix.count.grouped) (on \(mix.categorised.percent) of requests)")]
        if !mix.top.isEmpty { lines.append(("  most requested", list(mix.top))) }
        if let persistence = mix.persistence {
            lines.append(
                (
                    "  same as previous",
                    "\(persistence.sameAsPrevious.percent) against \(persistence.chance.percent) by chance "
                        + "(\(persistence.sameAsPreviousOtherObject.percent) where the object is another)"
                ))
        }
        if let reuse = mix.reuse {
            let ratio = reuse.ratio.map { "a factor of \($0.decimals(1)): " } ?? ""
            lines.append(
                (
                    "  reuse rates",
                    "\(ratio)\(reuse.low.percent) of the requests are re-requests at the 10th percentile of categories, "
                        + "\(reuse.high.percent) at the 90th"
                ))
        }
        return lines
    }

    private func listLines(_ mix: ListMix) -> [(String, String)] {
        var lines = [
            (
                "lists",
                "\(mix.lists.grouped) with \(mix.items.grouped) items (median \(mix.medianSize.grouped), at most "
                    + "\(mix.largestSize.grouped)), \(mix.objects.grouped) objects, \(mix.shownOnly.grouped) never requested"
            ),
            ("  opened", "\(mix.listsOpened.percent) of lists, \(mix.itemsOpened.percent) of items"),
            ("  shown before", mix.requestsShown.percent),
        ]
        if let categories = mix.categoriesPerList { lines.append(("  categories a list", categories.decimals(1))) }
        if let opening = mix.opening {
            let median = TimeSpan(microseconds: opening.median).description
            lines.append(
                ("  time to opening", "median \(median), \(opening.simultaneous.percent) at the time of the list"))
        }
        return lines
    }

    private func userLines(_ mix: UserMix) -> [(String, String)] {
        var lines = [("users", mix.count.grouped)]
        if mix.requestsWithoutUser > 0 {
            lines[0].1 += " (\(percent(mix.requestsWithoutUser, of: requests)) of requests have none)"
        }
        if !mix.top.isEmpty { lines.append(("  most active", list(mix.top))) }
        lines.append(
            (
                "  same-user re-access",
                "\(mix.reaccess.percent) (immediate repeats \(mix.immediateRepeats.percent))"
            ))
        return lines
    }

    private func list(_ shares: [Share]) -> String {
        shares.map { "\($0.name.shortened()) \($0.share.percent)" }.joined(separator: ", ")
    }

    private func mean(_ total: UInt64, _ count: Int) -> UInt64 { total / UInt64(max(1, count)) }

    private func bytes(_ count: UInt64) -> String { Int(clamping: count).bytesForPeople }

    private func percent(_ part: Int, of whole: Int) -> String { (Double(part) / Double(max(1, whole))).percent }

    private func duration(_ microseconds: Int64) -> String {
        let seconds = Double(microseconds) / 1e6
        if seconds >= 172_800 { return (seconds / 86_400).decimals(1) + " days" }
        if seconds >= 7_200 { return (seconds / 3_600).decimals(1) + " hours" }
        if seconds >= 120 { return (seconds / 60).decimals(1) + " minutes" }
        return seconds.decimals(3) + " seconds"
    }
}
