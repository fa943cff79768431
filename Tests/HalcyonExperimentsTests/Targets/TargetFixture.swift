import HalcyonEviction
import HalcyonLearning
import HalcyonTestSupport
import HalcyonTraceTestSupport
import HalcyonTrace

@testable import HalcyonExperiments

/// A folder with a small trace of known LRU hits, and files of targets beside it.
struct TargetFixture {
    static let requests = 4_000
    let folder: TemporaryFolder
    let trace = TinyTraces.scrambled(count: requests, objects: 300, users: 7)

    init() throws {
        folder = try TemporaryFolder()
        var text = "key,user\n"
        for (entry, user) in zip(trace.entries, trace.users) { text += "o\(entry),u\(user)\n" }
        _ = try folder.file("small.csv", text)
    }

    /// The counted hits of LRU over the first `limit` requests, by the book.
    func lruHits(_ capacity: Int, limit: Int = requests, warmup: Int = 0) -> Int {
        bookLRUHits(trace.entries.prefix(limit), capacity: capacity).dropFirst(warmup).count { $0 }
    }

    /// The hit ratio of LRU over the first `limit` requests, by the book.
    func lru(_ capacity: Int, limit: Int = requests, warmup: Int = 0) -> Double {
        Double(lruHits(capacity, limit: limit, warmup: warmup)) / Double(limit - warmup)
    }

    /// The hit ratio of LRU with a cache for each user, by the book.
    func lruPerUser(_ capacity: Int) -> Double {
        let users = Set(trace.users)
        let hits = users.reduce(0) { sum, user in
            let own = zip(trace.entries, trace.users).filter { $0.1 == user }.map(\.0)
            return sum + bookLRUHits(own, capacity: capacity).count { $0 }
        }
        return Double(hits) / Double(Self.requests)
    }

    /// The text of a file with these targets in one group.
    ///
    /// - Parameter version: the result version of the file; `nil` for none.
    func text(_ targets: String..., group: String = "mode: shared", version: Int? = 1) -> String {
        """
        schema: halcyon.targets/2
        \(version.map { "result_version: \($0)\n" } ?? "")groups:
          - trace: small.csv
            \(group)
            targets:

        """ + targets.map { "      - {\($0)}\n" }.joined()
    }

    /// The report of a check of `text` by a build with result version `version`.
    func check(
        _ text: String, catalogue: PolicyCatalogue = .standard, version: Int = 1
    ) async throws -> TargetReport {
        let path = try folder.file("targets.yml", text)
        var check = TargetCheck(try TargetFile(path: path), path: path, catalogue: catalogue)
        check.resultVersion = version
        return try await check.run()
    }

    /// The text after `--update` by a build with result version `version`.
    func update(_ text: String, version: Int = 1) async throws -> String {
        let report = try await check(text, version: version)
        return try TargetFile(parsing: text, file: "targets.yml")
            .recording(report, reason: "a reason", date: "2026-11-21", path: "targets.yml").text
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
