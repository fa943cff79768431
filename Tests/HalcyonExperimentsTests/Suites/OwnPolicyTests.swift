import Foundation
import HalcyonEviction
import HalcyonSimulation
import HalcyonTestSupport
import Testing

@testable import HalcyonExperiments

/// A version of a policy of one's own.
protocol OwnVersion: Sendable, SendableMetatype {
    static var name: String { get }
    static var number: Int { get }
    /// Whether the newest entry is evicted instead of the oldest.
    static var evictsNewest: Bool { get }
}

/// The first version: FIFO.
enum FirstVersion: OwnVersion {
    static let (name, number, evictsNewest) = ("own", 1, false)
}

/// The second version evicts the newest entry.
enum SecondVersion: OwnVersion {
    static let (name, number, evictsNewest) = ("own", 2, true)
}

/// The second version without its number.
enum Unnumbered: OwnVersion {
    static let (name, number, evictsNewest) = ("own", 1, true)
}

/// A policy of one's own with the name of one of Halcyon's.
enum NamedLRU: OwnVersion {
    static let (name, number, evictsNewest) = ("lru", 1, false)
}

/// A policy as another package writes it: an array.
struct OwnPolicy<Version: OwnVersion>: CataloguedPolicy {
    static var info: PolicyInfo {
        PolicyInfo(name: Version.name, summary: "a queue", source: "a test", version: Version.number)
    }

    private var queue: [EntryID] = []

    init(_ parameters: NoParameters, context: PolicyContext) {}

    mutating func hit(_ access: Access) {}
    mutating func insert(_ access: Access) { queue.append(access.entry) }
    mutating func victim(for access: Access) -> EntryID {
        Version.evictsNewest ? queue.removeLast() : queue.removeFirst()
    }
    mutating func remove(_ entry: EntryID) { queue.removeAll { $0 == entry } }
}

@Suite("Stored results of a policy of one's own", .timeLimit(.minutes(20)))
struct OwnPolicyTests {
    let fixture: CheckFixture

    init() throws { fixture = try CheckFixture() }

    private func catalogue<Version: OwnVersion>(_ version: Version.Type) -> PolicyCatalogue {
        var catalogue = PolicyCatalogue.standard
        catalogue.add(PolicyEntry(OwnPolicy<Version>.self))
        return catalogue
    }

    private func sweep(_ catalogue: PolicyCatalogue) async throws -> SuiteRun.Outcome {
        let suite = try fixture.suite("policies: [own, fifo, lru], capacities: 40", catalogue: catalogue)
        let run = SuiteRun(suite, store: fixture.store)
        return try await run.run(run.schedule())
    }

    /// The stored hits of the cells that meet a condition.
    private func hits(_ condition: (StoredCell) -> Bool) throws -> [Int] {
        try fixture.store.cells().filter(condition).map(\.counts.hits)
    }

    @Test("A stored cell names the policy and its version; a new version is another cell, and the old one stays")
    func versions() async throws {
        #expect(try await sweep(catalogue(FirstVersion.self)).ran == 3)
        let again = try await sweep(catalogue(FirstVersion.self))
        #expect((again.ran, again.storedBefore) == (0, 3))
        #expect(try !ResultTable(fixture.store.rows()).text().contains("policy version"))
        let first = try #require(try fixture.store.cells().first { $0.identity.policy == "own" })
        #expect(first.identity.parameters == ["version": "1"] && first.label == "own")
        // The first version is FIFO, an implementation of its own.
        #expect(try [first.counts.hits] == hits { $0.identity.policy == "fifo" })

        let second = try await sweep(catalogue(SecondVersion.self))
        #expect((second.ran, second.storedBefore) == (1, 2))
        let versions = try fixture.store.cells().filter { $0.identity.policy == "own" }.map(\.identity.parameters)
        #expect(versions.compactMap { $0["version"] }.sorted() == ["1", "2"])
        let table = try ResultTable(fixture.store.rows()).text()
        #expect(table.contains("  policy version  "))
    }

    @Test("A policy of Halcyon has no version, and its cells keep their names")
    func halcyonPolicies() async throws {
        _ = try await sweep(catalogue(FirstVersion.self))
        let lru = try #require(try fixture.store.cells().first { $0.identity.policy == "lru" })
        #expect(lru.identity.parameters.isEmpty)
        #expect(PolicyCatalogue.laboratory.entries.allSatisfy { $0.info.version == nil })
        #expect(!String(decoding: lru.identity.canonicalJSON, as: UTF8.self).contains("version\":\"1"))
    }

    @Test("A policy of one's own in the place of one of Halcyon's has other cells, also behind an admission rule")
    func replacedPolicy() throws {
        for name in ["lru", "lru(admit=bloom)"] {
            let own = RunResult.parameters([try catalogue(NamedLRU.self).policy(name)])
            let halcyons = RunResult.parameters([try PolicyCatalogue.standard.policy(name)])
            #expect(own["version"] == "1" && halcyons["version"] == nil)
            #expect(own.filter { $0.key != "version" } == halcyons)
        }
    }

    @Test("Two versions, and the policy and others, are compared by stored hits, with the catalogue and without it")
    func comparisons() async throws {
        _ = try await sweep(catalogue(FirstVersion.self))
        _ = try await sweep(catalogue(SecondVersion.self))
        let rows = try fixture.store.rows()
        let one = try #require(try hits { $0.identity.parameters["version"] == "1" }.first)
        let two = try #require(try hits { $0.identity.parameters["version"] == "2" }.first)
        let lru = fixture.lruHits(40)
        func difference(_ a: String, _ b: String, _ rows: [ResultRow], _ catalogue: PolicyCatalogue) throws -> Double {
            try Comparison(
                ComparisonSelector(parsing: a), ComparisonSelector(parsing: b), rows: rows, catalogue: catalogue
            ).pooled.difference
        }
        let requests = Double(CheckFixture.requests)
        let versions = try difference("version=1", "version=2", rows, .named)
        #expect(abs(versions - Double(one - two) / requests) < 1e-12)
        let current = try difference("own", "lru", rows, catalogue(SecondVersion.self))
        #expect(abs(current - Double(two - lru) / requests) < 1e-12)
        // Another program knows the policy by the label of its cells.
        let first = try ResultCondition.filter(rows, by: [ResultCondition(parsing: "policy=own")])
            .filter { $0.cell.identity.parameters["version"] == "1" }
        let known = try difference("own", "lru", first + rows.filter { $0.cell.label == "lru" }, .named)
        #expect(abs(known - Double(one - lru) / requests) < 1e-12)
        #expect(throws: ReplayError.self) { try difference("nosuch", "lru", rows, .named) }
    }

    @Test("A check names counts that moved without a new version of the policy, and the version to raise")
    func unversionedChange() async throws {
        func suite(_ catalogue: PolicyCatalogue) throws -> Suite {
            try fixture.suite("policies: own, capacities: 40", catalogue: catalogue)
        }
        try await fixture.accept(suite(catalogue(FirstVersion.self)))
        let before = fixture.files
        let moved = try await fixture.check(suite(catalogue(Unnumbered.self)))
        let misses = try #require(moved.runs.map(moved.misses(of:)).first?.first)
        #expect(misses.hasPrefix("It moved within version 1 of the policy: hits "))
        #expect(
            misses.hasSuffix(
                " If that is meant, raise the policy's version (PolicyInfo.version) and store the results with --accept "
                    + "--reason \"…\"."))
        await #expect(throws: ReplayError.self) { try await fixture.accept(suite(catalogue(Unnumbered.self))) }
        #expect(fixture.files == before)
        // With its number, the same change is accepted.
        #expect(try await fixture.accept(suite(catalogue(SecondVersion.self))) == .init(stored: 1, removed: 1))
    }
}
