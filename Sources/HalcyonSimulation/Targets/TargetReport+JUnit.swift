extension TargetReport {
    /// The report as JUnit XML: a suite for each group, a case for each target.
    public var junit: String {
        var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        text += "<testsuites name=\"\(Self.escaped(file))\" \(Self.counts(outcomes))>\n"
        let groups = Dictionary(grouping: outcomes, by: \.group).sorted { $0.key < $1.key }.map(\.value)
        for group in groups {
            guard let first = group.first else { continue }
            let suite = Self.escaped("\(first.trace), \(first.mode.words)")
            text += "  <testsuite name=\"\(suite)\" \(Self.counts(group))>\n"
            for outcome in group { text += testCase(outcome, suite: suite) }
            text += "  </testsuite>\n"
        }
        return text + "</testsuites>\n"
    }

    private func testCase(_ outcome: TargetOutcome, suite: String) -> String {
        let name = Self.escaped("\(outcome.target.policy) at \(outcome.target.capacity)")
        var text = "    <testcase classname=\"\(suite)\" name=\"\(name)\" time=\"\(outcome.seconds.decimals(3))\""
        if outcome.misses.isEmpty {
            if outcome.target.isBounded { return text + "/>\n" }
            return text + ">\n      <skipped message=\"not recorded yet\"/>\n    </testcase>\n"
        }
        text +=
            ">\n      <failure type=\"missed\" message=\"\(Self.escaped(outcome.misses.joined(separator: " ")))\"/>\n"
        return text + "    </testcase>\n"
    }

    private static func counts(_ outcomes: [TargetOutcome]) -> String {
        let missed = outcomes.count { !$0.misses.isEmpty }
        let skipped = outcomes.count { $0.misses.isEmpty && !$0.target.isBounded }
        let seconds = outcomes.reduce(0) { $0 + $1.seconds }
        return "tests=\"\(outcomes.count)\" failures=\"\(missed)\" errors=\"0\" skipped=\"\(skipped)\" "
            + "time=\"\(seconds.decimals(3))\""
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { escaped, scalar in
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\t", "\n", "\r": escaped += "&#\(scalar.value);"
            default: escaped.unicodeScalars.append(scalar.value < 0x20 ? "\u{FFFD}" : scalar)
            }
        }
    }
}
