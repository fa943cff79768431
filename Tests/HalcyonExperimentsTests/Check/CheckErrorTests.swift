import Foundation
import HalcyonEviction
import HalcyonSimulation
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonExperiments

@Suite("Other traces and errors in a check", .timeLimit(.minutes(20)))
struct CheckErrorTests {
    let fixture: CheckFixture

    init() throws { fixture = try CheckFixture() }

    private func fingerprint(_ name: String = "small.csv") throws -> String {
        try Trace.load("\(fixture.folder.path)/\(name)").fingerprint
    }

    /// The sentence about a trace whose requests are others.
    private func sentence(_ expected: (Int, String), _ found: (Int, String)) -> String {
        "The trace is another one: expected \(expected.0.grouped) requests (fingerprint \(expected.1)), found "
            + "\(found.0.grouped) requests (fingerprint \(found.1)); if that is meant, store its results with --accept "
            + "--reason \"…\"."
    }

    @Test("A truncated trace is another trace, in one sentence, and nothing is said to have moved")
    func truncated() async throws {
        let fields =
            "policies: [lru, fifo], capacities: 40, limits: [{policy: lru, floor: \(fixture.lru(40) - 0.0001)}]"
        let suite = try fixture.suite(fields)
        try await fixture.accept(suite)
        let (whole, before) = (try fingerprint(), try fixture.csv)
        let lines = before.split(separator: "\n")
        _ = try fixture.folder.file("small.csv", lines.prefix(3_001).joined(separator: "\n") + "\n")
        let cut = try fingerprint()
        let report = try await fixture.check(suite)
        let expected = sentence((4_000, whole), (3_000, cut))
        #expect(whole != cut && !report.isPassed && report.moved.isEmpty && report.notStored.isEmpty)
        #expect(report.leftovers == 0 && report.leftoverFault == nil && report.versionFault == nil)
        #expect(report.missed.map(report.misses(of:)) == [[expected], [expected]])
        #expect(report.summary == "2 runs on 1 trace: 2 missed, none moved, 2 of another trace.")
        let text = report.text()
        #expect(text.components(separatedBy: "small, shared: \(expected)\n").count == 2)
        #expect(text.contains("OTHER TRACE\n") && !text.contains("result version did not"))
        #expect(report.markdown.components(separatedBy: "The trace is another one").count == 2)
        #expect(report.junit.contains("tests=\"2\" failures=\"0\" errors=\"2\""))
        #expect(report.junit.components(separatedBy: "<error type=\"other trace\" message=\"The trace is").count == 3)

        // Accepted with a reason, it is the trace that is expected.
        let low = try fixture.suite("policies: [lru, fifo], capacities: 40")
        #expect(try await fixture.accept(low, reason: "a shorter trace") == .init(stored: 2, removed: 2))
        #expect(try fixture.reasons.hasSuffix("2 of 2 cells: a shorter trace\n"))
        #expect(try await fixture.check(low).isPassed)
        _ = try fixture.folder.file("small.csv", before)
        #expect(try await fixture.check(low).otherTraces.map(\.sentence) == [sentence((3_000, cut), (4_000, whole))])
    }

    @Test("A trace of which two requests changed places is another trace in each mode that serves it in another order")
    func changed() async throws {
        let suite = try fixture.suite("policies: lru, capacities: 40, modes: [shared, per_user]")
        try await fixture.accept(suite)
        let whole = try fingerprint()
        var lines = try fixture.csv.split(separator: "\n")
        let place = try #require((1..<lines.count - 1).first { lines[$0] != lines[$0 + 1] })
        lines.swapAt(place, place + 1)
        _ = try fixture.folder.file("small.csv", lines.joined(separator: "\n") + "\n")
        let report = try await fixture.check(suite)
        #expect(report.otherTraces.map(\.mode) == [.shared, .perUser])
        #expect(report.otherTraces.map(\.trace) == ["small", "small"])
        #expect(report.otherTraces[0].sentence == sentence((4_000, whole), (4_000, try fingerprint())))
        #expect(report.otherTraces.allSatisfy { $0.expected.count == 4_000 && $0.found.count == 4_000 })
    }

    @Test("Other keys are named where a prefetch policy reads them, and are no difference elsewhere")
    func otherKeys() async throws {
        let suite = try fixture.suite(
            "policies: lru, capacities: 10, modes: per_user, prefetch: [none, next-key]")
        try await fixture.accept(suite)
        _ = try fixture.folder.file("small.csv", fixture.csv.replacing("\no", with: "\nother"))
        let report = try await fixture.check(suite)
        #expect(report.otherTraces.isEmpty && report.moved.isEmpty && report.missed.count == 1)
        let miss = report.missed.flatMap(report.misses(of:)).first ?? ""
        #expect(miss.contains("version changed, or the trace has other keys or another recording. Store it"), "\(miss)")
    }

    @Test("Limits are not compared on another trace, and still decide whether it is accepted")
    func limitsOfAnotherTrace() async throws {
        try await fixture.accept(fixture.suite("policies: lru, capacities: 40"))
        _ = try fixture.folder.file("small.csv", "key\na\nb\nc\nd\n")
        let suite = try fixture.suite("policies: lru, capacities: 40, limits: [{policy: lru, floor: 0.1}]")
        let report = try await fixture.check(suite)
        #expect(report.runs[0].missesFloor && report.missed.flatMap(report.misses(of:)).count == 1)
        #expect(!report.text().contains("The hit ratio is"))
        let before = fixture.files
        await #expect(throws: ReplayError.self) { try await fixture.accept(suite) }
        #expect(fixture.files == before)
    }

    @Test("A trace of another name with stored results, or one without any, is no other trace")
    func newTrace() async throws {
        try await fixture.accept(fixture.suite("policies: lru, capacities: 40"))
        _ = try fixture.folder.file("new.csv", "key\na\na\nb\n")
        let both = try await fixture.check(
            fixture.suite("policies: lru, capacities: 40", traces: "small.csv, new.csv"))
        #expect(both.otherTraces.isEmpty && both.notStored.map(\.trace) == ["new"])
        // The same requests under another name are the same trace.
        _ = try fixture.folder.file("copy.csv", fixture.csv)
        #expect(try await fixture.check(fixture.suite("policies: lru, capacities: 40", traces: "copy.csv")).isPassed)
    }

    private static let unreadable: [(trace: String, name: String, sentence: String)] = [
        ("missing.csv", "missing", "there is no such file"),
        ("empty.csv", "empty", "is empty; a trace has at least one request"),
        ("plain.csv", "plain", "plain.csv has no users, which per-user caches need."),
        ("cut.csv.gz", "cut", "truncated"),
        ("\"${HALCYON_NOT_SET}/a.csv\"", "a", "the environment variable HALCYON_NOT_SET is not set."),
    ]

    @Test(
        "A trace that cannot be used is an error in each report, and the runs of the others are made",
        arguments: [true, false])
    func unreadableTraces(limitsOnly: Bool) async throws {
        _ = try fixture.folder.file("plain.csv", "key\na\nb\n")
        _ = try fixture.folder.file("empty.csv", "")
        _ = try fixture.folder.file("cut.csv.gz", [0x1f, 0x8b, 8, 0, 0])
        let fields = "policies: lru, capacities: 4, modes: per_user, limits: [{policy: lru, floor: 0.01}]"
        try await fixture.accept(fixture.suite(fields))
        let traces = Self.unreadable.map(\.trace).joined(separator: ", ")
        let suite = try fixture.suite(fields, traces: "\(traces), small.csv")
        let report = try await fixture.check(suite, limitsOnly: limitsOnly)
        #expect(!report.isPassed && report.missed.isEmpty && report.moved.isEmpty)
        #expect(report.runs.map(\.trace) == ["small"] && report.errors.map(\.name) == Self.unreadable.map(\.name))
        for (error, expected) in zip(report.errors, Self.unreadable) {
            #expect(error.sentence.contains(expected.sentence), "\(error)")
            #expect(report.text().contains("\(error.name): Not run: \(error.sentence)\n"))
        }
        #expect(report.summary.hasSuffix("; 5 errors."))
        #expect(report.markdown.contains("- missing: Not run: ") && report.markdown.hasPrefix("## Hit-rate check\n\n❌"))
        #expect(report.junit.contains("tests=\"6\" failures=\"0\" errors=\"5\""))
        #expect(report.junit.contains("<testsuite name=\"not run\" tests=\"5\" failures=\"0\" errors=\"5\""))
        #expect(report.junit.components(separatedBy: "<error type=\"not run\" message=\"").count == 6)
        guard !limitsOnly else { return }
        let before = fixture.files
        let refusal = await #expect(throws: ReplayError.self) { try await fixture.accept(suite) }
        #expect(
            refusal?.description.hasPrefix("--accept stores the results of all runs, and not all were run: missing: ")
                == true)
        #expect(fixture.files == before)
    }

    @Test("If no trace can be read, the check has errors and no run")
    func noRun() async throws {
        let report = try await fixture.check(fixture.suite("policies: lru, capacities: 4", traces: "missing.csv"))
        #expect(report.runs.isEmpty && report.errors.count == 1 && !report.isPassed)
        #expect(report.summary == "0 runs on 0 traces: none missed, none moved; 1 error.")
    }

    @Test("A run that does not suit its trace is an error that names it")
    func unsuitedRun() async throws {
        let suite = try fixture.suite("policies: [lru, belady], capacities: 4, prefetch: popular, modes: per_user")
        let report = try await fixture.check(suite, limitsOnly: true)
        #expect(report.runs.map(\.policy) == ["lru"])
        #expect(
            report.errors == [
                CheckError(
                    name: "small, belady at 4, per user",
                    sentence: "belady knows the requests in advance, but not the prefetches: leave it out.")
            ])
    }

    @Test("A policy, parameter, tier or prefetch policy that is not known is an error with its place, and others run")
    func unknownPolicies() async throws {
        let experiments = [
            "policies: [lru, lruu, 's3-fifo(smal=1)', {policy: arc, grid: {no: 1}}], capacities: 40",
            "policies: lru, tiers: [{memory: 4, disk: 40}, {memory: 4, disk: 40, disk_policy: nosuch}]",
            "policies: lru, capacities: 20, prefetch: [none, planer]",
        ]
        #expect(throws: ReplayError.self) { try fixture.suite(experiments[0]) }
        let suite = try fixture.suite(
            experiments[0], experiments[1], experiments[2], keepsUnusable: true)
        let report = try await fixture.check(suite, limitsOnly: true)
        #expect(report.runs.map(\.capacity) == ["40", "memory=4,disk=40", "20"])
        #expect(
            report.errors.map(\.name) == [
                "e0, lruu", "e0, s3-fifo(smal=1)", "e0, arc", "e1, 'tiers' in line 6", "e2, planer",
            ])
        let places = report.errors.map { String($0.sentence.dropFirst(suite.path.count).prefix(3)) }
        #expect(places == [":5:", ":5:", ":5:", ":6:", ":7:"])
        #expect(report.errors[0].sentence.contains(":5:32: There is no policy 'lruu'"), "\(report.errors[0])")
        #expect(!report.isPassed && report.junit.contains("errors=\"5\""))
        #expect(report.junit.contains("name=\"e0, lruu\""))
    }

    @Test("Limits of a policy that is not known are left out, and a loss to it is not known")
    func limitsOfUnknownPolicies() async throws {
        let limits = "[{policy: lruu, floor: 0.5}, {policy: fifo, baseline: lruu, highest_loss: 0.1}]"
        let suite = try fixture.suite(
            "policies: [lruu, fifo], capacities: 40, limits: \(limits)", keepsUnusable: true)
        let report = try await fixture.check(suite, limitsOnly: true)
        #expect(report.errors.map(\.name) == ["e0, lruu"])
        #expect(report.runs.map(report.misses(of:)) == [["The loss to lruu is not known: lruu was not run."]])
    }
}
