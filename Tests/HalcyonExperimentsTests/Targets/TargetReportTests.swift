import Foundation
import HalcyonSimulation
import Testing

@testable import HalcyonExperiments

#if canImport(FoundationXML)
    import FoundationXML
#endif

@Suite("Targets: reports", .timeLimit(.minutes(20)))
struct TargetReportTests {
    /// One reached, one missed in three ways, one not recorded.
    let outcomes: [TargetOutcome] = {
        func outcome(_ number: Int, _ target: Target, _ hits: Int, _ baseline: Double? = nil) -> TargetOutcome {
            TargetOutcome(
                group: number / 2, number: number % 2, trace: "a&b.csv", mode: number < 2 ? .shared : .perUser,
                target: target, policyName: "p", hits: hits, requests: 10_000, baselineHitRatio: baseline, seconds: 0.5)
        }
        return [
            outcome(0, Target(policy: "lru", capacity: "1%", hits: 2_500, floor: 0.249), 2_500),
            outcome(
                1,
                Target(
                    policy: "s3-fifo(small=0.2)", capacity: "1%", hits: 3_000, floor: 0.299, baseline: "lru",
                    highestLoss: -0.04), 2_400, 0.25),
            outcome(2, Target(policy: "lfu|x", capacity: "20"), 5_000),
        ]
    }()

    private func report(recorded: Int = 1, build: Int = 1) -> TargetReport {
        TargetReport(file: "t.yml", recordedVersion: recorded, resultVersion: build, outcomes: outcomes)
    }

    private static let moved =
        "There are 2,400 hits, and 3,000 were recorded with result version 1, which this build has too: a change that moves "
        + "results needs a new result version (Halcyon.resultVersion), a line in CHANGELOG.md and --update."

    @Test("the table shows what moved, was missed or is not recorded, and the sentences why")
    func text() {
        let name = "a&b.csv, shared: s3-fifo(small=0.2) at 1%"
        #expect(
            report().text() == """
                trace    mode      policy              capacity   hits  recorded  moved  hit ratio    floor  baseline   loss  highest  verdict
                a&b.csv  shared    s3-fifo(small=0.2)        1%  2,400     3,000   -600    24.00 %  29.90 %  lru       +1.00    -4.00  MISSED
                a&b.csv  per user  lfu|x                     20  5,000         -      -    50.00 %        -  -             -        -  not recorded

                \(name): \(Self.moved)
                \(name): The hit ratio is 24.00 %, and the floor is 29.90 %.
                \(name): The loss to lru is +1.00 points, and the highest accepted is -4.00 points.
                3 targets on 1 trace: 1 missed, 1 moved, 1 not recorded yet.
                Checked by Halcyon \(BuildInfo.current.sentence).

                """)
    }

    @Test("one hit is written in the singular, and a target that moved with a new version is no miss")
    func singular() throws {
        var outcome = outcomes[0]
        outcome.target.floor = 0
        (outcome.hits, outcome.target.hits) = (1, 0)
        let one = TargetReport(file: "t.yml", recordedVersion: 1, resultVersion: 1, outcomes: [outcome])
        #expect(try #require(one.misses(of: outcome).first).hasPrefix("There is 1 hit, and 0 were recorded with "))
        (outcome.hits, outcome.target.hits) = (0, 1)
        #expect(try #require(one.misses(of: outcome).first).hasPrefix("There are 0 hits, and 1 was recorded with "))
        let newer = TargetReport(file: "t.yml", recordedVersion: 1, resultVersion: 2, outcomes: [outcome])
        #expect(newer.misses(of: outcome).isEmpty && newer.text().contains("  moved\n"))
    }

    @Test("JUnit XML is XML, with a suite a group and a case a target")
    func junit() throws {
        let reader = ElementReader()
        let parser = XMLParser(data: Data(report().junit.utf8))
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
        #expect(
            reader.attributes[4]["message"] == Self.moved + " The hit ratio is 24.00 %, and the floor is 29.90 %. "
                + "The loss to lru is +1.00 points, and the highest accepted is -4.00 points.")
    }

    @Test("JUnit XML has a failed case for another result version")
    func junitVersion() throws {
        let reader = ElementReader()
        let parser = XMLParser(data: Data(report(build: 2).junit.utf8))
        parser.delegate = reader
        #expect(parser.parse())
        #expect(reader.names.prefix(4) == ["testsuites", "testsuite", "testcase", "failure"])
        #expect(reader.attributes[0]["tests"] == "4" && reader.attributes[0]["failures"] == "2")
        #expect(reader.attributes[1]["tests"] == "1" && reader.attributes[1]["name"] == "result version")
        #expect(
            reader.attributes[3]["message"]
                == "The exact figures were recorded with result version 1, and this build has 2: record them with "
                + "--update --reason \"…\".")
        #expect(reader.text == "a&b.csv, shared: s3-fifo(small=0.2) at 1%: 2,400 hits, recorded 3,000")
    }

    @Test("Markdown lists what was missed first, and folds the rest away")
    func markdown() {
        let lines = report().markdown.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(lines[0] == "## Hit-rate targets")
        #expect(lines[2] == "❌ 3 targets on 1 trace: 1 missed, 1 moved, 1 not recorded yet.")
        #expect(lines[4] == "- a\\&b.csv, shared: s3-fifo(small=0.2) at 1%: \(Self.moved)")
        #expect(lines[6].hasSuffix("The loss to lru is +1.00 points, and the highest accepted is -4.00 points."))
        #expect(lines[10].hasPrefix("| **a\\&b.csv** | **shared** | **s3-fifo(small=0.2)** | **1%** | **2,400** |"))
        #expect(lines[11].contains("| lfu\\|x |"))
        #expect(lines.contains("<details><summary>All targets</summary>"))
        #expect(lines.count { $0.hasPrefix("| ") } == 2 + 2 + 2 + 3)
    }
}

/// The elements of an XML document in order.
private final class ElementReader: NSObject, XMLParserDelegate {
    var names: [String] = []
    var attributes: [[String: String]] = []
    /// The text that is not white space.
    var text = ""

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        if string.contains(where: { !$0.isWhitespace }) { text += string }
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        names.append(name)
        self.attributes.append(attributes)
    }
}
