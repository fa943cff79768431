import Foundation
import Halcyon
import HalcyonAccessLog
import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation
import HalcyonEvictionTestSupport
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonCache

@Suite("Simulated equals live: image cache", .timeLimit(.minutes(20)))
struct SimulatedEqualsLiveCacheTests {
    @Test(
        "Both live tiers have the replay's hits and victims, and the recorded log replays to them",
        arguments: ["lru", "s3-fifo", "gdsf", "kingfisher", "learned(model=none)"])
    func liveTiersDecideAsReplay(name: String) async throws {
        let folder = try TemporaryFolder()
        let trace = try SizedTrace.load(folder, limit: SoakLength.isLong ? 100_000 : 6_000, unit: 4_096)
        let memoryCapacity = Int(trace.distinctSize / 40)
        let diskCapacity = Int(trace.distinctSize / 8)
        let policies = name == "kingfisher" ? ["kingfisher-memory", "kingfisher-disk"] : [name, name]
        let (expected, memoryVictims, diskVictims) = try replay(trace, policies, memoryCapacity, diskCapacity)
        var logging = AccessLog.Configuration()
        logging.bounds = .none
        let log = AccessLog(path: "\(folder.path)/access.sqlite", logging)
        let fixture = try CacheFixture(
            memory: .lasting(cost: memoryCapacity), policy: policies[0], diskPolicy: policies[1], log: log
        ) {
            $0.sizeLimit = diskCapacity
            $0.expiration = .never
        }
        let events = fixture.cache.events(bufferingNewest: .max)
        var firstDifference: Int?
        for request in 0..<trace.count {
            fixture.clock.set(trace.times[request])
            let set = trace.categorySet(ofRequest: request)
            let user = trace.user(ofRequest: request)
            let options = CacheOptions(
                categories: trace.categorySets[set].map { "c\($0)" }, user: user == Trace.noUser ? nil : "u\(user)")
            let key = "\(trace.entries[request])"
            let found = try await fixture.cache.image(forKey: key, options: options).cacheType
            if found == .none {
                let blob = Blob(key, cost: Int(trace.size(ofRequest: request)))
                try await fixture.cache.store(blob, forKey: key, options: options).diskCacheResult.get()
            }
            if found != expected[request] && firstDifference == nil { firstDifference = request }
        }
        #expect(firstDifference == nil)
        #expect(expected.contains(.disk) && expected.contains(.memory))

        await fixture.cache.store(Blob(cost: 1), forKey: "the end")
        var (memory, disk): ([String], [String]) = ([], [])
        for await event in events {
            if case .store("the end", _) = event { break }
            if case .removal(.memory, let one) = event, one.reason == .evicted { memory.append(one.key) }
            if case .removal(.disk, let one) = event, one.reason == .evicted { disk.append(one.key) }
        }
        #expect(memory == memoryVictims.map { "\($0)" })
        let naming = DiskStorageConfig(name: "any").naming
        #expect(disk == diskVictims.map { naming.name(of: "\($0)") })
        #expect(!memory.isEmpty && !disk.isEmpty)

        let recorded = Array(fixture.recorder.all.dropLast())
        #expect(recorded.map(\.outcome) == expected.map { $0 == .none ? .network : $0 == .disk ? .disk : .memory })
        try await log.close()
        var loading = TraceLoadOptions()
        loading.limit = trace.count
        let again = try Trace.load(log.path, loading)
        var report = LoadReport()
        report.format = .accessLog
        #expect(again.report == report)
        #expect(try replay(again, policies, memoryCapacity, diskCapacity).tiers == expected)
    }

    /// Returns the hits and victims of the replay's two tiers.
    private func replay(_ trace: Trace, _ policies: [String], _ memoryCapacity: Int, _ diskCapacity: Int) throws -> (
        tiers: [CacheType], memoryVictims: [EntryID], diskVictims: [EntryID]
    ) {
        let records = [PolicyRecord(), PolicyRecord()]
        let capacities = [memoryCapacity, diskCapacity]
        let caches = try (0..<2).map { tier in
            try PolicyCatalogue.standard.policy(policies[tier]).makeCache(
                PolicyContext(capacity: capacities[tier], usesUniformSizes: false, seed: 1),
                decorator: PolicyChecker(records[tier]))
        }
        for set in 1..<UInt32(trace.categorySets.count) {
            for cache in caches { cache.define(categorySet: set, members: Array(trace.categorySets[set])) }
        }
        let tiers = (0..<trace.count).map { request -> CacheType in
            let access = Access(
                entry: trace.entries[request], requestNumber: request, time: trace.times[request],
                size: Int(trace.size(ofRequest: request)), categories: trace.categorySet(ofRequest: request),
                user: trace.user(ofRequest: request))
            if caches[0].access(access) == .hit { return .memory }
            return caches[1].access(access) == .hit ? .disk : .none
        }
        return (tiers, records[0].victims, records[1].victims)
    }
}
