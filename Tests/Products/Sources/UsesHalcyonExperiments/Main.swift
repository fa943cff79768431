import Foundation
import HalcyonEviction
import HalcyonExperiments
import HalcyonTrace

/// The documented ways of library use: load a trace, sweep, run a file of experiments and compare, and a policy of one's
/// own.
@main
struct Main {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("uses-experiments-\(getpid())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try TraceWriter.write(try LoopModel(requests: 2_000, objects: 50).generate(seed: 1), to: "\(folder)/loop.csv")

        let trace = try Trace.load("\(folder)/loop.csv")
        let results = await (try Sweep(trace: trace, policies: ["lru", "fifo"], capacities: ["10", "50%"])).run()
        precondition(results.map(\.requests) == [2_000, 2_000, 2_000, 2_000])

        let suite = """
            schema: halcyon.suite/1
            traces: [{path: loop.csv}]
            experiments: [{name: shared, policies: [lru, mru], capacities: [10]}]
            """
        try suite.write(toFile: "\(folder)/suite.yml", atomically: true, encoding: .utf8)
        let store = ResultStore(folder: "\(folder)/results")
        let run = SuiteRun(try Suite(path: "\(folder)/suite.yml"), store: store)
        let outcome = try await run.run(try run.schedule())
        precondition(outcome.ran == 2 && outcome.failures.isEmpty)
        // On a loop that does not fit, what was used last is used again first.
        let comparison = try Comparison(.policy("mru"), .policy("lru"), rows: try store.rows())
        precondition(comparison.cells.map { $0.a.label } == ["mru"] && comparison.cells[0].difference > 0)

        let own = try Sweep(trace: trace, policies: [ConfiguredPolicy(NewestFirst.self)], capacities: [.number(10)])
        let newestFirst = await own.run()[0]
        precondition(newestFirst.objectHitRatio == comparison.cells[0].a.hitRatio)
    }
}

/// A policy of the program's own: it evicts the entry that was used last, as MRU does.
struct NewestFirst: CataloguedPolicy {
    static let info = PolicyInfo(
        name: "newest-first", summary: "the entry that was used last is the victim", source: "an example", version: 1)
    private var entries: [EntryID] = []

    init(_ parameters: NoParameters, context: PolicyContext) {}

    mutating func hit(_ access: Access) {
        remove(access.entry)
        entries.append(access.entry)
    }

    mutating func insert(_ access: Access) { entries.append(access.entry) }

    mutating func victim(for access: Access) -> EntryID { entries.removeLast() }

    mutating func remove(_ entry: EntryID) { entries.removeAll { $0 == entry } }
}
