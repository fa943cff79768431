import Foundation
import Halcyon
import HalcyonAccessLog
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonCache

@Suite("Image cache: disk faults", .timeLimit(.minutes(20)))
struct CacheFaultTests {
    /// Returns a log without bounds that buffers 50 accesses.
    func log(in folder: String) -> AccessLog {
        var configuration = AccessLog.Configuration()
        configuration.bounds = .none
        configuration.waitingLimit = 50
        return AccessLog(path: folder + "/access.sqlite", configuration)
    }

    @Test("With a full disk memory works, failures are counted and reported, and writing resumes by itself")
    func fullDiskLeavesMemoryWorking() async throws {
        guard let small = try SmallDisk(kilobytes: 1_000) else { return }
        let log = log(in: small.path)
        let fixture = try CacheFixture(memory: .lasting(cost: 100_000), log: log, on: small)
        let cache = fixture.cache
        try await log.flush()
        // The first listing and its index write to the disk, and give room back.
        let disk = try #require(cache.diskStorage)
        disk.waitUntilListed()
        disk.flush()
        #expect(small.fill())
        let events = cache.events(bufferingNewest: .max)
        var failures = 0
        for number in 0..<100 {
            let result = await cache.store(Blob("\(number)", cost: 900), forKey: "k\(number)")
            if case .failure(let error) = result.diskCacheResult {
                failures += 1
                #expect("\(error)".contains("No space left on device"))
            }
            #expect(try await cache.image(forKey: "k\(number)").image == Blob("\(number)", cost: 900))
        }
        try #require(cache.diskStorage).flush()
        #expect(failures == 100)
        #expect(cache.statistics.diskFailures == 100)
        await #expect(throws: AccessLogError.self) { try await log.flush() }
        #expect(log.statistics.lostCount > 0 && log.statistics.waiting == 50)
        cache.clearMemoryCache()
        #expect(try await cache.image(forKey: "k1").image == nil)

        try small.empty()
        let result = await cache.store(Blob("after", cost: 5_000), forKey: "after")
        #expect(throws: Never.self) { try result.diskCacheResult.get() }
        cache.clearMemoryCache()
        #expect(try await cache.image(forKey: "after").cacheType == .disk)
        try await log.close()
        let statistics = log.statistics
        #expect(statistics.written + statistics.lostCount == fixture.recorder.all.count)
        #expect(try Trace.load(log.path).count == statistics.written)
        var told = 0
        for await event in events {
            if case .failure = event { told += 1 }
            if case .store("after", _) = event { break }
        }
        #expect(told == 100)
    }

    @Test("With a full disk the newest value is kept on disk, and each time that makes room is reported")
    func fullDiskEvictsAndReports() async throws {
        guard let small = try SmallDisk(kilobytes: 1_000) else { return }
        let fixture = try CacheFixture(memory: .lasting(cost: 1), on: small)
        let cache = fixture.cache
        let events = cache.events(bufferingNewest: .max)
        for number in 0..<60 {
            let result = await cache.store(Blob("\(number)", cost: 40_000), forKey: "k\(number)")
            #expect(throws: Never.self) { try result.diskCacheResult.get() }
            #expect(try await cache.image(forKey: "k\(number)").cacheType == .disk)
        }
        let evicted = cache.statistics.disk.removals[.evicted] ?? 0
        #expect(evicted > 30 && cache.statistics.disk.count == 60 - evicted)
        await cache.clear()
        var (failures, removals) = (0, 0)
        for await event in events {
            switch event {
            case .failure(let text):
                failures += 1
                #expect(text.contains("No space left on device"))
            case .removal(.disk, let removal) where removal.reason == .evicted: removals += 1
            case .removal(.disk, let removal) where removal.reason == .cleared:
                #expect(removals == evicted && failures > 0 && failures == cache.statistics.diskFailures)
                return
            default: break
            }
        }
    }

    @Test("With a vanished or replaced folder memory works, and the disk resumes when possible")
    func vanishedFolderLeavesMemoryWorking() async throws {
        let fixture = try CacheFixture(memory: .lasting(cost: 100))
        let cache = fixture.cache
        let folder = fixture.folder.path + "/halcyon.cache.test"
        await cache.store(Blob("a", cost: 10), forKey: "a")
        try FileManager.default.removeItem(atPath: folder)
        #expect(try await cache.image(forKey: "a").cacheType == .memory)
        cache.clearMemoryCache()
        #expect(try await cache.image(forKey: "a").cacheType == .none)
        try await cache.store(Blob("a", cost: 20), forKey: "a").diskCacheResult.get()
        cache.clearMemoryCache()
        #expect(try await cache.image(forKey: "a").image == Blob("a", cost: 20))

        try FileManager.default.removeItem(atPath: folder)
        try Data().write(to: URL(fileURLWithPath: folder))
        let result = await cache.store(Blob("b", cost: 10), forKey: "b")
        #expect(throws: CacheError.self) { try result.diskCacheResult.get() }
        #expect(try await cache.image(forKey: "b").cacheType == .memory)
        cache.clearMemoryCache()
        #expect(((try? await cache.image(forKey: "b")) ?? .none).cacheType == .none)
        try FileManager.default.removeItem(atPath: folder)
        try await cache.store(Blob("b", cost: 30), forKey: "b").diskCacheResult.get()
        cache.clearMemoryCache()
        #expect(try await cache.image(forKey: "b").image == Blob("b", cost: 30))
    }

    @Test("A look-up opens a disk that was unavailable before")
    func lookUpOpensUnavailableDisk() async throws {
        let before = try CacheFixture()
        await before.cache.store(Blob("a", cost: 5), forKey: "a")
        // The folder is moved: copies of files would have the times of the system's clock.
        await before.cache.close()
        let folder = before.folder.path + "/halcyon.cache.test"
        let clock = ManualClock()
        let other = try TemporaryFolder()
        let file = try other.file("halcyon.cache.test", "in the way")
        let cache = ImageCache(
            memory: .lasting(cost: 100),
            disk: DiskStorageConfig(name: "test", directory: URL(fileURLWithPath: other.path)),
            serializer: BlobSerializer(), clock: clock, triggers: [])
        #expect(try await cache.image(forKey: "a").cacheType == .none)
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.moveItem(atPath: folder, toPath: file)
        #expect(try await cache.image(forKey: "a").cacheType == .none)
        clock.advance(by: 10)
        #expect(try await cache.image(forKey: "a").image == Blob("a", cost: 5))
    }
}
