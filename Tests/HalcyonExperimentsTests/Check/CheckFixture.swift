import Foundation
import HalcyonEviction
import HalcyonTestSupport
import HalcyonTrace
import HalcyonTraceTestSupport

@testable import HalcyonExperiments

/// A folder with a small trace of known LRU hits, and a suite beside it.
struct CheckFixture {
    static let requests = 4_000
    let folder: TemporaryFolder
    let trace = TinyTraces.scrambled(count: requests, objects: 300, users: 7)

    init() throws {
        folder = try TemporaryFolder()
        var text = "key,user\n"
        for (entry, user) in zip(trace.entries, trace.users) { text += "o\(entry),u\(user)\n" }
        _ = try folder.file("small.csv", text)
    }

    /// The text of the trace.
    var csv: String { get throws { try String(contentsOfFile: "\(folder.path)/small.csv", encoding: .utf8) } }

    /// The counted hits of LRU by the book.
    func lruHits(_ capacity: Int) -> Int { bookLRUHits(trace.entries, capacity: capacity).count { $0 } }

    /// The hit ratio of LRU by the book.
    func lru(_ capacity: Int) -> Double { Double(lruHits(capacity)) / Double(Self.requests) }

    /// The folder of the stored results.
    var store: ResultStore { ResultStore(folder: "\(folder.path)/results") }

    /// The content of the file that keeps the reasons.
    var reasons: String {
        get throws { try String(contentsOfFile: "\(store.folder)/\(CheckReport.acceptedFile)", encoding: .utf8) }
    }

    /// A suite of experiments with these fields.
    func suite(
        _ experiments: String..., traces: String = "small.csv", catalogue: PolicyCatalogue = .standard,
        keepsUnusable: Bool = false
    ) throws -> Suite {
        var text = "schema: halcyon.suite/1\nresults: results\ntraces: [\(traces)]\nexperiments:\n"
        for (number, fields) in experiments.enumerated() { text += "  - {name: e\(number), \(fields)}\n" }
        return try Suite(
            path: folder.file("suite.yml", text), catalogue: catalogue, keepsUnusable: keepsUnusable)
    }

    /// The report of a check.
    func check(_ suite: Suite, limitsOnly: Bool = false) async throws -> CheckReport {
        let check = SuiteCheck(suite, store: limitsOnly ? nil : store)
        return try await check.run(check.schedule())
    }

    /// The advice on a run that moved within a result version.
    var advice: String {
        "Builds with the same result version give the same results. If you changed Halcyon's sources, raise "
            + "Halcyon.resultVersion; if not, the stored cells were edited or come from changed sources: remove "
            + "\(store.folder). Then store the results with --accept --reason \"…\"."
    }

    /// Checks a suite and stores its results.
    @discardableResult
    func accept(_ suite: Suite, reason: String = "a reason") async throws -> CheckReport.Acceptance? {
        try await check(suite).accept(into: store, reason: reason, date: "2026-11-21")
    }

    /// Stores changed cells in place of the stored ones, in a folder without accepted results.
    func edit(_ change: (inout StoredCell) -> Void) throws { try replace(change: change) }

    /// Removes the stored cells that meet a condition, in a folder without accepted results.
    func removeCells(where isRemoved: (StoredCell) -> Bool) throws {
        try replace(change: { _ in }, removing: isRemoved)
    }

    private func replace(
        change: (inout StoredCell) -> Void, removing isRemoved: (StoredCell) -> Bool = { _ in false }
    ) throws {
        let cells = try store.cells()
        try FileManager.default.removeItem(atPath: store.folder)
        try store.prepare()
        for var cell in cells where !isRemoved(cell) {
            change(&cell)
            try store.add(cell, nil)
        }
    }

    /// The files in the folder of the results, with their content.
    var files: [String: Data] {
        let names = FileManager.default.enumerator(atPath: store.folder)?.compactMap { $0 as? String } ?? []
        return Dictionary(
            uniqueKeysWithValues: names.compactMap { name in
                FileManager.default.contents(atPath: "\(store.folder)/\(name)").map { (name, $0) }
            })
    }
}

/// LRU gone wrong: once full, it throws half of the cache away.
///
/// What it holds is always the most recent part of what LRU would hold, so that it never hits where LRU misses.
struct WastefulLRU: ~Copyable, CataloguedPolicy {
    static let info = PolicyInfo(name: "lru", summary: "made worse on purpose", source: "none")
    private var recent: [EntryID] = []

    init(_ parameters: NoParameters, context: PolicyContext) {}

    var behaviour: CacheBehaviour { CacheBehaviour(lowWaterMark: 0.5) }

    mutating func hit(_ access: Access) {
        remove(access.entry)
        recent.append(access.entry)
    }
    mutating func victim(for access: Access) -> EntryID { recent.removeFirst() }
    mutating func insert(_ access: Access) { recent.append(access.entry) }
    mutating func remove(_ entry: EntryID) { recent.removeAll { $0 == entry } }
}
