import Foundation
import HalcyonSimulation
import Testing

@testable import HalcyonExperiments

#if canImport(FoundationXML)
    import FoundationXML
#endif

@Suite("Reports of a check", .timeLimit(.minutes(20)))
struct CheckReportTests {
    /// A run that is reached, one that is missed in three ways, and one that is not stored.
    private func report(stored version: Int = 1, build: Int = 1) -> CheckReport {
        func run(_ mode: ReplayMode, _ policy: String, _ capacity: String, _ hits: Int) -> CheckedRun {
            CheckedRun(
                experiment: "e", trace: "a&b", setting: "", mode: mode, policy: policy, capacity: capacity, hits: hits,
                requests: 10_000, seconds: 0.5)
        }
        var reached = run(.shared, "lru", "1%", 2_500)
        (reached.recordedHits, reached.recordedVersion) = (2_500, version)
        reached.limit = RunLimit(policy: "lru")
        reached.limit?.floor = 0.249
        var missed = run(.shared, "s3-fifo(small=0.2)", "1%", 2_400)
        (missed.recordedHits, missed.recordedVersion) = (3_000, version)
        missed.changes = ["hits 2,400 (stored 3,000)", "hits over time"]
        if version == build { missed.unversionedChanges = missed.changes }
        var limit = RunLimit(policy: "s3-fifo(small=0.2)")
        (limit.floor, limit.baseline, limit.highestLoss) = (0.299, "lru", -0.04)
        missed.limit = limit
        missed.baselineHitRatio = 0.25
        return CheckReport(
            suite: "s.yml", folder: "r", resultVersion: build,
            runs: [reached, missed, run(.perUser, "lfu|x", "20", 5_000)],
            leftovers: 0, cells: [])
    }

    private static let moved =
        "It moved within result version 1: hits 2,400 (stored 3,000), hits over time. Builds with the same result version "
        + "give the same results. If you changed Halcyon's sources, raise Halcyon.resultVersion; if not, the stored cells "
        + "were edited or come from changed sources: remove r. Then store the results with --accept --reason \"…\"."
    private static let missing =
        "Its result is not stored in r: it is new, or a parameter, a default or its policy's version changed. Store it with --accept "
        + "--reason \"…\"."

    @Test("The table shows the runs that moved or were missed, and the sentences say why")
    func text() {
        let name = "a&b, shared: s3-fifo(small=0.2) at 1%"
        #expect(
            report().text() == """
                trace  mode      policy              capacity   hits  stored  moved  hit ratio    floor  baseline   loss  highest  verdict
                a&b    shared    s3-fifo(small=0.2)        1%  2,400   3,000   -600    24.00 %  29.90 %  lru       +1.00    -4.00  MISSED
                a&b    per user  lfu|x                     20  5,000       -      -    50.00 %        -  -             -        -  NOT STORED

                \(name): \(Self.moved)
                \(name): The hit ratio is 24.00 %, and the floor is 29.90 %.
                \(name): The loss to lru is +1.00 points, and the highest accepted is -4.00 points.
                a&b, per user: lfu|x at 20: \(Self.missing)
                3 runs on 1 trace: 2 missed, 1 moved, 1 not stored.
                Checked by Halcyon \(BuildInfo.current.sentence).

                """)
    }

    @Test("A run that moved with a new result version is not missed for that")
    func newVersion() {
        var report = report(stored: 1, build: 2)
        report.runs[1].limit = nil
        #expect(report.misses(of: report.runs[1]).isEmpty && !report.isPassed)
        #expect(report.text().contains("  moved\n"))
    }

    @Test("After the results were stored, only limits are missed, and what moved is still shown")
    func accepted() {
        var report = report(stored: 1, build: 2)
        report.isAccepted = true
        #expect(report.versionFault == nil && report.missed.count == 1 && report.notStored.isEmpty)
        report.runs[1].limit = nil
        #expect(report.isPassed && report.text().contains("  moved\n") && report.junit.contains("failures=\"0\""))
    }

    @Test("JUnit XML has a suite for each experiment, trace and mode, and a case for each run")
    func junit() throws {
        let reader = try ElementReader(report().junit)
        #expect(
            reader.names == [
                "testsuites", "testsuite", "testcase", "testcase", "failure", "testsuite", "testcase", "error",
            ])
        #expect(reader.attributes[0]["tests"] == "3" && reader.attributes[0]["time"] == "1.500")
        #expect(reader.attributes[0]["failures"] == "1" && reader.attributes[0]["errors"] == "1")
        #expect(reader.attributes[1]["name"] == "e: a&b, shared")
        #expect(reader.attributes[3]["name"] == "s3-fifo(small=0.2) at 1%")
        #expect(
            reader.attributes[4]["message"] == Self.moved + " The hit ratio is 24.00 %, and the floor is 29.90 %. "
                + "The loss to lru is +1.00 points, and the highest accepted is -4.00 points.")
        #expect(reader.attributes[7] == ["type": "not stored", "message": Self.missing])
    }

    @Test("JUnit XML has a failed case for another result version")
    func junitVersion() throws {
        let reader = try ElementReader(report(stored: 1, build: 2).junit)
        #expect(reader.names.prefix(4) == ["testsuites", "testsuite", "testcase", "failure"])
        #expect(reader.attributes[0]["tests"] == "4" && reader.attributes[0]["failures"] == "2")
        #expect(reader.attributes[1]["tests"] == "1" && reader.attributes[1]["name"] == "result version")
        #expect(
            reader.attributes[3]["message"]
                == "The stored cells in r have result version 1, and this build has 2: record them with --accept --reason \"…\"."
        )
        #expect(
            reader.text
                == "a&b, shared: s3-fifo(small=0.2) at 1%: hits 2,400 (stored 3,000), hits over time")
    }

    @Test("Markdown lists the missed runs first and folds all runs away")
    func markdown() {
        let lines = report().markdown.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(lines[0] == "## Hit-rate check")
        #expect(lines[2] == "❌ 3 runs on 1 trace: 2 missed, 1 moved, 1 not stored.")
        #expect(lines[4] == "- a\\&b, shared: s3-fifo(small=0.2) at 1%: \(Self.moved)")
        #expect(lines[6].hasSuffix("The loss to lru is +1.00 points, and the highest accepted is -4.00 points."))
        #expect(lines[7].hasPrefix("- a\\&b, per user: lfu\\|x at 20: Its result is not stored in r: "))
        #expect(lines[11].hasPrefix("| **a\\&b** | **shared** | **s3-fifo(small=0.2)** | **1%** | **2,400** |"))
        #expect(lines[12].contains("| **lfu\\|x** |"))
        #expect(lines.contains("<details><summary>All runs</summary>"))
        #expect(lines.count { $0.hasPrefix("| ") } == 2 + 2 + 2 + 3)
    }
}

/// The elements of an XML document in order.
private final class ElementReader: NSObject, XMLParserDelegate {
    var names: [String] = []
    var attributes: [[String: String]] = []
    /// The text that is not white space.
    var text = ""

    /// Reads a document, which must be XML.
    init(_ document: String) throws {
        super.init()
        let parser = XMLParser(data: Data(document.utf8))
        parser.delegate = self
        try #require(parser.parse())
    }

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
