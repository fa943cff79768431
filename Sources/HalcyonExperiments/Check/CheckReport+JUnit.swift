import HalcyonSimulation

extension CheckReport {
    /// The report as JUnit XML: a suite for each experiment, trace and mode, and a case for each run.
    ///
    /// A run without a stored result or of another trace is an error, a run that moved or misses a limit a failure.
    /// What could not be run comes first, in a suite of errors. If the stored cells have another result version, a
    /// suite with
    /// one failed case follows; so does one for cells of no run in a folder of accepted results.
    package var junit: String {
        var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        text +=
            "<testsuites name=\"\(Self.escaped(suite))\" \(counts(runs, others: faults.count, errors: errors.count))>\n"
        text += errorSuite
        for fault in faults { text += faultSuite(fault) }
        for group in groups {
            let name = Self.escaped("\(group[0].experiment): \(group[0].place)")
            text += "  <testsuite name=\"\(name)\" \(counts(group))>\n"
            for run in group { text += testCase(run, suite: name) }
            text += "  </testsuite>\n"
        }
        return text + "</testsuites>\n"
    }

    /// The runs by experiment, trace, setting and mode, in the order in which each is first met.
    private var groups: [[CheckedRun]] {
        var groups: [[CheckedRun]] = []
        var places: [String: Int] = [:]
        for run in runs {
            let name = "\(run.experiment)\n\(run.place)"
            if let place = places[name] {
                groups[place].append(run)
            } else {
                places[name] = groups.count
                groups.append([run])
            }
        }
        return groups
    }

    /// A fault of the stored cells as a whole.
    private struct Fault {
        let suite: String
        let type: String
        let sentence: String
        var lines: [String] = []
    }

    /// The result version, with the runs that moved, and the cells that belong to no run.
    private var faults: [Fault] {
        let version = versionFault.map { sentence in
            Fault(
                suite: "result version", type: "version", sentence: sentence,
                lines: moved.map { "\($0.name): \($0.changes.joined(separator: ", "))" })
        }
        let leftover = leftoverFault.map { Fault(suite: "cells of no run", type: "leftover", sentence: $0) }
        return [version, leftover].compactMap { $0 }
    }

    /// The suite of what could not be run; empty if there is nothing.
    private var errorSuite: String {
        if errors.isEmpty { return "" }
        var text = "  <testsuite name=\"not run\" \(counts([], errors: errors.count))>\n"
        for error in errors {
            text += "    <testcase classname=\"not run\" name=\"\(Self.escaped(error.name))\" time=\"0.000\">\n"
            text += "      <error type=\"not run\" message=\"\(Self.escaped(error.sentence))\"/>\n    </testcase>\n"
        }
        return text + "  </testsuite>\n"
    }

    /// Returns the failed case of a fault.
    private func faultSuite(_ fault: Fault) -> String {
        var text = "  <testsuite name=\"\(fault.suite)\" \(counts([], others: 1))>\n"
        text += "    <testcase classname=\"\(fault.suite)\" name=\"stored cells\" time=\"0.000\">\n"
        text += "      <failure type=\"\(fault.type)\" message=\"\(Self.escaped(fault.sentence))\">"
        text += Self.escaped(fault.lines.joined(separator: "\n")) + "</failure>\n"
        return text + "    </testcase>\n  </testsuite>\n"
    }

    private func testCase(_ run: CheckedRun, suite: String) -> String {
        let name = Self.escaped("\(run.policy) at \(run.capacity)")
        let text = "    <testcase classname=\"\(suite)\" name=\"\(name)\" time=\"\(run.seconds.decimals(3))\""
        let misses = misses(of: run)
        if misses.isEmpty { return text + "/>\n" }
        let message = Self.escaped(misses.joined(separator: " "))
        let element =
            if otherTrace(of: run) != nil {
                "error type=\"other trace\""
            } else {
                isNotStored(run) ? "error type=\"not stored\"" : "failure type=\"missed\""
            }
        return text + ">\n      <\(element) message=\"\(message)\"/>\n    </testcase>\n"
    }

    /// Returns the attributes of a suite.
    ///
    /// - Parameters:
    ///   - others: the number of failed cases that are not runs.
    ///   - notRun: the number of cases that could not be run.
    private func counts(_ runs: [CheckedRun], others: Int = 0, errors notRun: Int = 0) -> String {
        let errors = runs.count { isNotStored($0) || otherTrace(of: $0) != nil }
        let missed = runs.count { !misses(of: $0).isEmpty } - errors
        let seconds = runs.reduce(0) { $0 + $1.seconds }
        return "tests=\"\(runs.count + others + notRun)\" failures=\"\(missed + others)\" "
            + "errors=\"\(errors + notRun)\" skipped=\"0\" "
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
