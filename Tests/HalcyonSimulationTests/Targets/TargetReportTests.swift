import Foundation
@testable import HalcyonSimulation
import Testing

#if canImport(FoundationXML)
    import FoundationXML
#endif

@Suite("Targets: reports")
struct TargetReportTests {
    /// One reached, one missed in both ways, one not recorded.
    let report: TargetReport = {
        func outcome(_ number: Int, _ target: Target, _ ratio: Double, _ baseline: Double? = nil) -> TargetOutcome {
            TargetOutcome(
                group: number / 2, number: number % 2, trace: "a&b.csv", mode: number < 2 ? .shared : .perUser,
                target: target, policyName: "p", hitRatio: ratio, baselineHitRatio: baseline, seconds: 0.5)
        }
        return TargetReport(
            file: "t.yml",
            outcomes: [
                outcome(0, Target(policy: "lru", capacity: "1%", hitRatio: 0.25, lowestHitRatio: 0.249), 0.25),
                outcome(
                    1,
                    Target(
                        policy: "s3-fifo(small=0.2)", capacity: "1%", hitRatio: 0.3, lowestHitRatio: 0.299,
                        baseline: "lru", highestLoss: -0.04), 0.24, 0.25),
                outcome(2, Target(policy: "lfu|x", capacity: "20"), 0.5),
            ])
    }()

    @Test("the table shows what moved, was missed or waits, and the sentences why")
    func text() {
        #expect(
            report.text() == """
                trace    mode      policy              capacity  measured  recorded  moved   lowest  baseline   loss  highest  verdict
                a&b.csv  shared    s3-fifo(small=0.2)        1%   24.00 %   30.00 %  -6.00  29.90 %  lru       +1.00    -4.00  MISSED
                a&b.csv  per user  lfu|x                     20   50.00 %         -      -        -  -             -        -  not recorded

                a&b.csv, shared: s3-fifo(small=0.2) at 1%: The hit ratio is 24.00 %, and the lowest accepted is 29.90 %.
                a&b.csv, shared: s3-fifo(small=0.2) at 1%: The loss against lru is +1.00 points, and the highest accepted is -4.00 points.
                3 targets on 1 trace: 1 missed, 1 moved, 1 not recorded yet.

                """)
    }

    @Test("JUnit XML is XML, with a suite a group and a case a target")
    func junit() throws {
        let reader = ElementReader()
        let parser = XMLParser(data: Data(report.junit.utf8))
        parser.delegate = reader
        #expect(parser.parse())
        #expect(
            reader.names == [
                "testsuites", "testsuite", "testcase", "testcase", "failure", "testsuite", "testcase", "skipped",
            ])
        #expect(reader.attributes[0]["tests"] == "3")
        #expect(reader.attributes[0]["failures"] == "1")
        #expect(reader.attributes[1]["name"] == "a&b.csv, shared")
        #expect(reader.attributes[3]["name"] == "s3-fifo(small=0.2) at 1%")
        #expect(reader.attributes[4]["message"]?.hasPrefix("The hit ratio is 24.00 %") == true)
    }

    @Test("Markdown tells what was missed first, and folds the rest away")
    func markdown() {
        let lines = report.markdown.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(lines[0] == "## Hit-rate targets")
        #expect(lines[2] == "❌ 3 targets on 1 trace: 1 missed, 1 moved, 1 not recorded yet.")
        #expect(lines[6].hasPrefix("| **a\\&b.csv** | **shared** | **s3-fifo(small=0.2)** | **1%** | **24.00 %** |"))
        #expect(lines[7].contains("| lfu\\|x |"))
        #expect(lines.contains("<details><summary>All targets</summary>"))
        #expect(lines.count { $0.hasPrefix("| ") } == 2 + 2 + 2 + 3)
    }
}

/// The elements of an XML document in order.
private final class ElementReader: NSObject, XMLParserDelegate {
    var names: [String] = []
    var attributes: [[String: String]] = []

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        names.append(name)
        self.attributes.append(attributes)
    }
}
