extension TargetReport {
    /// The report as JUnit XML: a suite for each group and a case for each target.
    ///
    /// If the exact hits belong to another result version, a suite with one failed case comes first.
    public var junit: String {
        var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        text += "<testsuites name=\"\(Self.escaped(file))\" \(counts(outcomes, others: versionFault == nil ? 0 : 1))>\n"
        if let versionFault { text += versionSuite(versionFault) }
        let groups = Dictionary(grouping: outcomes, by: \.group).sorted { $0.key < $1.key }.map(\.value)
        for group in groups {
            guard let first = group.first else { continue }
            let suite = Self.escaped("\(first.trace), \(first.mode.words)")
            text += "  <testsuite name=\"\(suite)\" \(counts(group))>\n"
            for outcome in group { text += testCase(outcome, suite: suite) }
            text += "  </testsuite>\n"
        }
        return text + "</testsuites>\n"
    }

    /// Returns the failed case of the result version, with the targets that moved.
    private func versionSuite(_ fault: String) -> String {
        var text = "  <testsuite name=\"result version\" \(counts([], others: 1))>\n"
        text += "    <testcase classname=\"result version\" name=\"exact figures\" time=\"0.000\">\n"
        text += "      <failure type=\"version\" message=\"\(Self.escaped(fault))\">"
        let lines = moved.map { "\($0.name): \($0.hits.counted("hit")), recorded \(($0.target.hits ?? 0).grouped)" }
        text += Self.escaped(lines.joined(separator: "\n")) + "</failure>\n"
        return text + "    </testcase>\n  </testsuite>\n"
    }

    private func testCase(_ outcome: TargetOutcome, suite: String) -> String {
        let name = Self.escaped("\(outcome.target.policy) at \(outcome.capacity)")
        var text = "    <testcase classname=\"\(suite)\" name=\"\(name)\" time=\"\(outcome.seconds.decimals(3))\""
        let misses = misses(of: outcome)
        if misses.isEmpty {
            if outcome.target.hasLimit { return text + "/>\n" }
            return text + ">\n      <skipped message=\"not recorded yet\"/>\n    </testcase>\n"
        }
        text += ">\n      <failure type=\"missed\" message=\"\(Self.escaped(misses.joined(separator: " ")))\"/>\n"
        return text + "    </testcase>\n"
    }

    /// Returns the attributes of a suite.
    ///
    /// - Parameter others: the number of failed cases that are not targets.
    private func counts(_ outcomes: [TargetOutcome], others: Int = 0) -> String {
        let missed = outcomes.count { !misses(of: $0).isEmpty }
        let skipped = outcomes.count { misses(of: $0).isEmpty && !$0.target.hasLimit }
        let seconds = outcomes.reduce(0) { $0 + $1.seconds }
        return "tests=\"\(outcomes.count + others)\" failures=\"\(missed + others)\" errors=\"0\" "
            + "skipped=\"\(skipped)\" time=\"\(seconds.decimals(3))\""
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
