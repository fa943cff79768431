import Foundation
import HalcyonTrace

extension TraceInspection {
    /// The inspection as aligned lines for people, each ended by a newline.
    public var text: String {
        var lines: [(String, String)] = [
            ("requests", grouped(requests)),
            ("objects", grouped(objects)),
            ("one-hit wonders", "\(grouped(oneHitWonders)) (\(percent(oneHitWonders, of: objects)) of objects)"),
        ]
        if unit == .bytes {
            lines.append(("bytes, distinct", "\(bytes(distinctCost)) (mean \(bytes(mean(distinctCost, objects))))"))
            lines.append(("bytes, requested", "\(bytes(requestedCost)) (mean \(bytes(mean(requestedCost, requests))))"))
        }
        if let span = timeSpan { lines.append(("time span", duration(span.last - span.first))) }
        if let popularity {
            lines.append(
                (
                    "popularity slope",
                    "\(decimal(popularity.alpha)) (R² \(decimal(popularity.rSquared)), "
                        + "\(grouped(popularity.objects)) objects with \(PopularitySlope.minimumCount) requests or more)"
                ))
        }
        lines += reuseLines
        if let categories { lines += categoryLines(categories) }
        if let users { lines += userLines(users) }
        lines += notices.map { ("note", $0) }
        let width = lines.map(\.0.count).max() ?? 0
        return lines.map { $0.0.padding(toLength: width + 2, withPad: " ", startingAt: 0) + $0.1 + "\n" }.joined()
    }

    private var reuseLines: [(String, String)] {
        var lines = [("re-accesses", "\(grouped(reuse.reaccesses)) (\(percent(reuse.reaccesses, of: requests)))")]
        guard let at = reuse.percentiles else { return lines }
        lines.append(
            (
                "reuse distance",
                "10 % ≤ \(grouped(at.p10)), 25 % ≤ \(grouped(at.p25)), 50 % ≤ \(grouped(at.p50)), "
                    + "75 % ≤ \(grouped(at.p75)), 90 % ≤ \(grouped(at.p90)), 99 % ≤ \(grouped(at.p99)) objects"
            ))
        let most = reuse.log2Histogram.max() ?? 1
        for (octave, count) in reuse.log2Histogram.enumerated() {
            let label = octave == 0 ? "1" : "\(grouped(1 << octave))–\(grouped((2 << octave) - 1))"
            let bar = String(repeating: "▇", count: (count * 30 + most - 1) / max(1, most))
            lines.append(("  " + label, "\(percent(count, of: reuse.reaccesses)) \(bar)"))
        }
        return lines
    }

    private func categoryLines(_ mix: CategoryMix) -> [(String, String)] {
        var lines = [("categories", "\(grouped(mix.count)) (on \(percent(mix.categorised)) of requests)")]
        if !mix.top.isEmpty { lines.append(("  most requested", list(mix.top))) }
        if let persistence = mix.persistence {
            lines.append(
                (
                    "  same as previous",
                    "\(percent(persistence.sameAsPrevious)) against \(percent(persistence.chance)) by chance "
                        + "(\(percent(persistence.sameAsPreviousOtherObject)) where the object is another)"
                ))
        }
        return lines
    }

    private func userLines(_ mix: UserMix) -> [(String, String)] {
        var lines = [("users", grouped(mix.count))]
        if mix.requestsWithoutUser > 0 {
            lines[0].1 += " (\(percent(mix.requestsWithoutUser, of: requests)) of requests have none)"
        }
        if !mix.top.isEmpty { lines.append(("  most active", list(mix.top))) }
        lines.append(
            (
                "  same-user re-access",
                "\(percent(mix.reaccess)) (immediate repeats \(percent(mix.immediateRepeats)))"
            ))
        return lines
    }

    private func list(_ shares: [Share]) -> String {
        shares.map { "\($0.name) \(percent($0.share))" }.joined(separator: ", ")
    }

    private func mean(_ total: UInt64, _ count: Int) -> UInt64 { total / UInt64(max(1, count)) }

    private func grouped(_ number: Int) -> String {
        var digits = Array(String(number))
        for place in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: place) }
        return String(digits)
    }

    private func decimal(_ value: Double) -> String { String(format: "%.2f", value) }

    private func percent(_ share: Double) -> String { String(format: "%.1f %%", share * 100) }

    private func percent(_ part: Int, of whole: Int) -> String { percent(Double(part) / Double(max(1, whole))) }

    private func bytes(_ count: UInt64) -> String {
        let units = ["B", "KB", "MB", "GB", "TB", "PB", "EB"]
        var value = Double(count)
        var unit = 0
        while value >= 1000 && unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        return unit == 0 ? "\(count) B" : String(format: "%.1f ", value) + units[unit]
    }

    private func duration(_ microseconds: Int64) -> String {
        let seconds = Double(microseconds) / 1e6
        if seconds >= 172_800 { return String(format: "%.1f days", seconds / 86_400) }
        if seconds >= 7_200 { return String(format: "%.1f hours", seconds / 3_600) }
        if seconds >= 120 { return String(format: "%.1f minutes", seconds / 60) }
        return String(format: "%.3f seconds", seconds)
    }
}
