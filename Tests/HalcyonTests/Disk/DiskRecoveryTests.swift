import Foundation
import Halcyon
import HalcyonEviction
import HalcyonTestSupport
import Testing

@testable import HalcyonCache

@Suite("Disk storage: recovery", .timeLimit(.minutes(20)))
struct DiskRecoveryTests {
    let fixture: DiskFixture

    init() throws { fixture = try DiskFixture() }

    static let kills = SoakLength.kills(short: 16)

    @Test("A killed process leaves whole values, and sizes are right at the next start")
    func killedProcessLeavesWholeValues() async throws {
        let executable = try #require(TestProcess.executable)
        var random = SplitMix64(seed: 5)
        var survivors = 0
        for round in 0..<Self.kills {
            let step = round < 8 ? DiskStep.allCases[round].rawValue : "any"
            let life = step == "any" ? 1 + random.next(below: 900) : 1 + random.next(below: 30)
            let process = try ChildProcess(
                executable.path, ["kill", fixture.folder.path, "\(round)", "\(life)", step])
            #expect(await process.ended() == .killed(by: SIGKILL), "round \(round), \(step), \(life)")
            let disk = try DiskStorage(
                config: .init(
                    name: "killed", directory: URL(fileURLWithPath: fixture.folder.path), sizeLimit: 400_000))
            survivors += try expectWholeValues(in: disk, keys: 60)
            #expect(disk.totalSize <= 400_000)
        }
        #expect(survivors > 0)
    }

    @Test("A lost or damaged index is rebuilt from the files in the order of their accesses", arguments: Loss.allCases)
    func lostIndexIsRebuiltFromFiles(loss: Loss) throws {
        var disk: DiskStorage? = try fixture.open()
        for key in ["a", "b", "c"] {
            try disk?.store(value: bytes(4_096), forKey: key, context: AccessContext(categories: ["k"]))
            fixture.clock.advance(by: 1)
        }
        _ = try disk?.value(forKey: "a")
        let index = try #require(disk?.directoryURL.appendingPathComponent(".halcyon/index.sqlite").path)
        try fixture.close(&disk)
        try loss.afflict(index)
        disk = try fixture.open { $0.sizeLimit = 3 * 4_096 }
        let reopened = try #require(disk)
        try fixture.expectAgreement(reopened)
        #expect(reopened.use(category: "k").count == (loss == .none ? 3 : 0))
        fixture.clock.advance(by: 1)
        try reopened.store(value: bytes(4_096), forKey: "d")
        #expect(["a", "b", "c", "d"].filter { reopened.isCached(forKey: $0) } == ["a", "c", "d"])
        reopened.flush()
    }

    @Test("A file without a row has no categories until a load states them")
    func fileWithoutRowHasNoCategories() throws {
        var disk: DiskStorage? = try fixture.open()
        let context = AccessContext(categories: ["k"])
        for key in ["a", "b"] { try disk?.store(value: bytes(10), forKey: key, context: context) }
        let index = try #require(disk?.directoryURL.appendingPathComponent(".halcyon/index.sqlite").path)
        try fixture.close(&disk)
        try FileManager.default.removeItem(atPath: index)
        let reopened = try fixture.open()
        reopened.waitUntilListed()
        #expect(try reopened.value(forKey: "a", context: context) != nil)
        reopened.remove(category: "k")
        #expect(!reopened.isCached(forKey: "a") && reopened.isCached(forKey: "b"))
    }

    enum Loss: String, CaseIterable, Sendable {
        case none, removed, truncated, garbage, otherVersion

        func afflict(_ path: String) throws {
            switch self {
            case .none: break
            case .removed: try FileManager.default.removeItem(atPath: path)
            case .truncated: truncate(path, 5_000)
            case .garbage: try Data(repeating: 0x5a, count: 9_000).write(to: URL(fileURLWithPath: path))
            case .otherVersion:
                let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
                try handle.seek(toOffset: 60)
                try handle.write(contentsOf: Data([0, 0, 0, 99]))
                try handle.close()
            }
        }
    }

    @Test("Values that expired while no process had the folder open are removed at the start")
    func expiredValuesAreRemovedAtStart() throws {
        let fixture = try DiskFixture()
        var disk: DiskStorage? = try fixture.open()
        try disk?.store(value: bytes(10), forKey: "old", expiration: .seconds(10))
        try disk?.store(value: bytes(10), forKey: "new", expiration: .seconds(30))
        try fixture.close(&disk)
        fixture.clock.advance(by: 11)
        let reopened = try fixture.open()
        reopened.waitUntilListed()
        #expect(reopened.count == 1 && reopened.isCached(forKey: "new"))
        #expect(try fixture.files().count == 1)
        try fixture.expectAgreement(reopened)
    }

    @Test("Merging files and rows keeps the files and drops rows without one")
    func filesOverrideRows() {
        func row(_ name: String, length: Int, accessed: Int64, expires: Int64) -> IndexDatabase.Row {
            IndexDatabase.Row(
                name: name, size: 512, length: length, accessed: accessed, expires: expires, renewal: 5, fingerprint: 9,
                categories: ["k"])
        }
        func status(_ length: Int, accessed: Int64, expires: Int64) -> CacheFolder.Status {
            CacheFolder.Status(size: 512, length: length, accessed: accessed, expires: expires)
        }
        let result = DiskRecovery.merge(
            files: [
                ("same", status(10, accessed: 1, expires: 100)), ("unknown", status(10, accessed: 5, expires: 65)),
                ("rewritten", status(20, accessed: 7, expires: 200)), ("short", status(3, accessed: 2, expires: 100)),
                ("lasting", status(10, accessed: 6, expires: .max)),
            ],
            rows: [
                row("same", length: 10, accessed: 3, expires: 100), row("gone", length: 10, accessed: 3, expires: 100),
                row("rewritten", length: 10, accessed: 4, expires: 100),
                row("short", length: 10, accessed: 2, expires: 100),
            ])
        #expect(result.residents.map(\.name) == ["same", "unknown", "lasting", "rewritten"])
        #expect(result.residents.map(\.accessed) == [3, 5, 6, 7])
        #expect(result.residents.map(\.renewal) == [5, 60, .max, 5])
        #expect(result.residents[3].length == 20 && result.residents[3].expires == 200)
        #expect(result.damaged == ["short"])
        #expect(result.vanished == ["gone"])
        #expect(result.corrected == ["unknown", "rewritten", "lasting"])
    }

    @Test("A file truncated outside the cache is removed at the next start")
    func truncatedFileIsRemovedAtStart() throws {
        var disk: DiskStorage? = try fixture.open()
        try disk?.store(value: bytes(9_000), forKey: "a")
        let path = try #require(disk?.cacheFileURL(forKey: "a").path)
        try fixture.close(&disk)
        var status = stat()
        stat(path, &status)
        truncate(path, 100)
        var times = [status.lastAccess, status.modified]
        utimensat(AT_FDCWD, path, &times, 0)
        disk = try fixture.open()
        disk?.waitUntilListed()
        #expect(try disk?.value(forKey: "a") == nil)
        try fixture.expectAgreement(try #require(disk))
    }
}
