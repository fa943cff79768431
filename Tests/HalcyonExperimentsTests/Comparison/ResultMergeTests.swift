import Foundation
import HalcyonSimulation
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonExperiments

@Suite("Merging results", .timeLimit(.minutes(20))) struct ResultMergeTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func store(_ name: String) -> ResultStore { ResultStore(folder: "\(folder.path)/\(name)") }

    /// Stores cells in a folder.
    private func fill(
        _ name: String, _ cells: [StoredCell], build: String? = "abc1", finishedAt: String = "2026-01-01T00:00:00Z"
    ) throws {
        let store = store(name)
        try store.prepare()
        for cell in cells {
            try store.add(
                cell,
                try build.map { try CellFixture.provenance(of: cell.identity.hash, build: $0, finishedAt: finishedAt) })
        }
    }

    private func merge(_ into: String, _ from: [String], acceptsBuilds: Bool = false) throws -> ResultMerge.Outcome {
        try ResultMerge(into: store(into), from: from.map { store($0) }, acceptsBuilds: acceptsBuilds).run()
    }

    /// All files of a folder with their bytes, as they are before cells are packed.
    private func files(_ name: String) throws -> [String: Data] {
        let store = store(name)
        let root = "\(folder.path)/\(name)"
        var files: [String: Data] = [:]
        for path in (try? FileManager.default.subpathsOfDirectory(atPath: root)) ?? [] where path.hasSuffix("json") {
            files[path] = try Data(contentsOf: URL(fileURLWithPath: "\(root)/\(path)"))
        }
        for hash in store.exists ? try store.hashes() : [] {
            files["cells/\(hash).json"] = try store.data(ofCell: hash)
        }
        return files
    }

    private func cells(_ capacities: [String]) throws -> [StoredCell] {
        try capacities.map { try CellFixture(capacity: $0).cell(requests: [10, 20], hits: [3, 4]) }
    }

    private func refusal(_ body: () throws -> ResultMerge.Outcome) throws -> String? {
        do { _ = try body() } catch let error as ReplayError { return error.description }
        return nil
    }

    @Test func mergesInAnyOrderGiveTheSameBytes() throws {
        try fill("a", cells(["1%", "2%"]), finishedAt: "2026-01-02T00:00:00Z")
        try fill("b", cells(["2%", "3%"]), finishedAt: "2026-01-01T00:00:00Z")
        try fill("c", cells(["4%"]), build: nil)
        var results: [[String: Data]] = []
        for (number, order) in [["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"]].enumerated() {
            let outcome = try merge("into-\(number)", order)
            #expect(outcome == ResultMerge.Outcome(added: 4, withoutProvenance: 1))
            results.append(try files("into-\(number)"))
        }
        #expect(results[0] == results[1] && results[0] == results[2] && results[0].count == 7)
        let packs = try (0..<3).map { try Data(contentsOf: URL(fileURLWithPath: store("into-\($0)").packPath)) }
        #expect(packs[0] == packs[1] && packs[0] == packs[2])
        // A second merge changes nothing, and neither do two merges in a row.
        #expect(try merge("into-0", ["b"]).added == 0)
        #expect(try files("into-0") == results[0])
        for name in ["c", "a", "b"] { _ = try merge("into-3", [name]) }
        let cells = { (files: [String: Data]) in files.filter { $0.key.hasPrefix("cells/") } }
        #expect(try cells(files("into-3")) == cells(results[0]))
    }

    @Test func twoNamesOfATraceMergeInAnyOrder() throws {
        let named = try cells(["1%", "2%"])
        let renamed = named.map { cell in
            var other = cell
            other.trace.name = "another"
            other.label += "()"
            return other
        }
        try fill("a", named)
        try fill("b", renamed)
        for (number, order) in [["a", "b"], ["b", "a"]].enumerated() { _ = try merge("into-\(number)", order) }
        #expect(try files("into-0") == files("into-1"))
        #expect(try files("into-0").count == 4)
    }

    @Test func mixedBuildsAreRefusedUnlessAccepted() throws {
        try fill("a", cells(["1%", "2%"]), build: "abc1")
        try fill("b", cells(["3%"]), build: "def2")
        #expect(
            try refusal { try merge("into", ["a", "b"]) }
                == "The folders have results of 2 builds, abc1 (2 cells) and def2 (1 cell): run all cells with one build, or "
                + "accept builds of one result version with --accept-builds.")
        #expect(try files("into").isEmpty && !FileManager.default.fileExists(atPath: "\(folder.path)/into"))
        #expect(try merge("into", ["a"]).added == 2)
        // Builds of the receiving folder count, too.
        #expect(try refusal { try merge("into", ["b"]) }?.contains("2 builds") == true)
        #expect(try merge("into", ["b"], acceptsBuilds: true) == ResultMerge.Outcome(added: 1, storedBefore: 2))
    }

    @Test func differentResultVersionsAreAlwaysRefused() throws {
        try fill("a", cells(["1%"]))
        try fill("b", [try CellFixture(version: 3).cell(requests: [10, 20], hits: [3, 4])])
        #expect(
            try refusal { try merge("into", ["a", "b"], acceptsBuilds: true) }
                == "The folders have results of different result versions, 2 (1 cell) and 3 (1 cell): merge one version at a "
                + "time.")
        #expect(try files("into").isEmpty)
    }

    @Test func differentBytesOfOneCellAreRefusedWithBothFiles() throws {
        try fill("a", cells(["1%", "2%"]))
        try fill("b", [try CellFixture(capacity: "2%").cell(requests: [10, 20], hits: [3, 5])])
        let text = try #require(try refusal { try merge("into", ["a", "b"]) })
        let hash = try CellFixture(capacity: "2%").cell(requests: [10, 20], hits: [3, 4]).identity.hash
        #expect(text.contains("\(folder.path)/a/cells/\(hash).json and \(folder.path)/b/cells/\(hash).json"))
        #expect(try files("into").isEmpty)
    }

    @Test(arguments: ["truncated", "renamed", "edited identity", "edited hits", "other sidecar"])
    func brokenFilesAreRefused(fault: String) throws {
        try fill("a", cells(["1%"]))
        try fill("b", cells(["2%"]))
        let hash = try #require(try store("b").hashes().first)
        let path = store("b").path(ofCell: hash)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        switch fault {
        case "truncated": try String(text.prefix(100)).write(toFile: path, atomically: true, encoding: .utf8)
        case "renamed": try FileManager.default.moveItem(atPath: path, toPath: store("b").path(ofCell: "0123"))
        case "edited identity":
            try text.replacingOccurrences(of: "\"2%\"", with: "\"5%\"").write(
                toFile: path, atomically: true, encoding: .utf8)
        case "edited hits":
            try text.replacingOccurrences(of: "\"hits\":7", with: "\"hits\":8").write(
                toFile: path, atomically: true, encoding: .utf8)
        default:
            try FileManager.default.copyItem(
                atPath: store("a").path(ofProvenance: try store("a").hashes()[0]), toPath: "\(folder.path)/other.json")
            try FileManager.default.removeItem(atPath: store("b").path(ofProvenance: hash))
            try FileManager.default.moveItem(
                atPath: "\(folder.path)/other.json", toPath: store("b").path(ofProvenance: hash))
        }
        #expect(try refusal { try merge("into", ["a", "b"]) }?.contains("\(folder.path)/b/") == true)
        #expect(try files("into").isEmpty)
    }

    @Test func mergingAFolderIntoItselfIsRefused() throws {
        try fill("a", cells(["1%"]))
        #expect(try refusal { try merge("a", ["./a"]) }?.contains("is the folder that receives the results") == true)
        #expect(try refusal { try merge("a", ["none"]) }?.contains("is no folder of results") == true)
    }

    /// Divides a cell by units: unit u and window w belong to part (u mod n) + 1.
    private func parts(of whole: StoredCell, _ count: Int) -> [StoredCell] {
        (1...count).map { number in
            func share(_ values: [Int]) -> [Int] {
                values.enumerated().map { $0.offset % count == number - 1 ? $0.element : 0 }
            }
            func part(_ value: Int) -> Int { value / count + (number == 1 ? value % count : 0) }
            var cell = whole
            cell.identity.users = "\(number)/\(count)"
            cell.units.requests = share(whole.units.requests)
            cell.units.hits = share(whole.units.hits)
            cell.units.sizes = whole.units.sizes.map(share)
            cell.units.hitSizes = whole.units.hitSizes.map(share)
            let hits = cell.units.hits.reduce(0, +)
            cell.series.hits = number < count ? [hits, 0] : whole.series.hits
            cell.counts.requests = cell.units.requests.reduce(0, +)
            cell.counts.hits = hits
            cell.counts.size = part(whole.counts.size)
            cell.counts.hitSize = part(whole.counts.hitSize)
            cell.counts.evictions = part(whole.counts.evictions)
            cell.counts.refused = part(whole.counts.refused)
            cell.counts.warmupRequests = part(whole.counts.warmupRequests)
            cell.counts.prefetched = whole.counts.prefetched.map(part)
            return cell
        }
    }

    private func whole() throws -> StoredCell {
        var cell = try CellFixture(mode: "per_user").cell(
            requests: [10, 20, 30, 40, 50], hits: [1, 12, 3, 14, 5], sizes: [9, 8, 7, 6, 5], hitSizes: [1, 2, 3, 4, 5])
        cell.counts.prefetched = 17
        return cell
    }

    /// Parts of the series, so that they add up to those of the whole.
    private func summing(_ parts: [StoredCell], to whole: StoredCell) -> [StoredCell] {
        var parts = parts
        for window in whole.series.hits.indices {
            let others = parts.dropLast().reduce(0) { $0 + $1.series.hits[window] }
            parts[parts.count - 1].series.hits[window] = whole.series.hits[window] - others
        }
        return parts
    }

    @Test(arguments: [1, 2, 3, 5])
    func partsOfTheUsersAddUpToTheWholeByteByByte(count: Int) throws {
        let whole = try whole()
        let parts = summing(parts(of: whole, count), to: whole)
        for (number, part) in parts.enumerated() {
            try fill("part-\(number)", [part], finishedAt: "2026-01-0\(number + 1)T00:00:00Z")
        }
        let outcome = try merge("into", (0..<count).map { "part-\($0)" })
        #expect(outcome == ResultMerge.Outcome(added: 1, summed: 1))
        let bytes = try files("into")
        let expected = try whole.json()
        #expect(bytes.count == 2 && bytes["cells/\(whole.identity.hash).json"] == expected)
        let run = try #require(try store("into").provenance(whole.identity.hash))
        #expect(run.seconds == 2 * Double(count) && run.requestsPerSecond == 100 && run.metadataBytes == 1_000 * count)
        #expect(run.finishedAt == "2026-01-0\(count)T00:00:00Z")
        // Backwards, and one after another, in which parts that wait for others are replaced.
        _ = try merge("backwards", (0..<count).reversed().map { "part-\($0)" })
        #expect(try files("backwards") == bytes)
        for number in 0..<count {
            let outcome = try merge("singly", ["part-\(number)"])
            #expect(outcome.incomplete.isEmpty == (number == count - 1))
        }
        #expect(try files("singly") == bytes)
        // Again, when the whole is there.
        #expect(try merge("into", ["part-0"]).added == 0)
        #expect(try files("into") == bytes)
    }

    @Test func incompletePartsStayAndAreNamed() throws {
        let whole = try whole()
        let parts = parts(of: whole, 3)
        try fill("a", [parts[0], try CellFixture(policy: "fifo").cell(requests: [1, 1], hits: [0, 1])])
        try fill(
            "b",
            [parts[2]].map { part in
                var part = part
                part.series.hits = [part.counts.hits, 0]
                return part
            })
        let outcome = try merge("into", ["a", "b"])
        #expect(outcome.added == 3 && outcome.summed == 0)
        #expect(outcome.incomplete == ["shop, per user: lru at 1%: 1 part of 3 is missing: 2/3."])
        #expect(try store("into").hashes().count == 3)
    }

    @Test func aSumThatDiffersFromTheStoredWholeIsRefused() throws {
        let whole = try whole()
        try fill("parts", summing(parts(of: whole, 2), to: whole))
        var other = whole
        other.counts.evictions += 1
        try fill("into", [other])
        #expect(try refusal { try merge("into", ["parts"]) }?.contains("differs from the sum of its parts") == true)
        #expect(try store("into").hashes().count == 1)
    }

    @Test func partsThatDoNotFitTogetherAreRefused() throws {
        let whole = try whole()
        var parts = summing(parts(of: whole, 2), to: whole)
        parts[1].series.window = 31
        try fill("parts", parts)
        #expect(try refusal { try merge("into", ["parts"]) }?.contains("do not fit together") == true)
        parts[0].identity.users = "3/2"
        try fill("odd", [parts[0]])
        #expect(try refusal { try merge("into", ["odd"]) }?.contains("'3/2' is not a part") == true)
        #expect(try files("into").isEmpty)
    }

    @Test func partsOfTwoTiersStayBecausePercentilesDoNotAddUp() throws {
        let whole = try whole()
        let parts = summing(parts(of: whole, 2), to: whole).map { part in
            var part = part
            part.latency = StoredCell.Latency(meanMs: "1.5", p99Ms: "9.0")
            return part
        }
        try fill("parts", parts)
        let outcome = try merge("into", ["parts"])
        #expect(outcome.added == 2 && outcome.incomplete.count == 1)
        #expect(outcome.incomplete.first?.contains("percentiles") == true)
    }
}
