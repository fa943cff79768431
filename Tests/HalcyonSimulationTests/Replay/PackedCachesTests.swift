import HalcyonEviction
import HalcyonLearning
import HalcyonSupport
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

/// The per-user caches of a stream that were not used lately are packed. That changes nothing but memory.
@Suite("Packed caches of a stream", .timeLimit(.minutes(20)))
struct PackedCachesTests {
    /// A small shop of 60 users, three at a time, as a file.
    private func file(
        _ folder: TemporaryFolder, users: Int = 60, requests: Int = 6_000, sizes: Double = 0, sessions: Int = 3
    ) throws -> String {
        var model = BrowsingModel.millionUsers
        model.users = users
        model.requests = requests
        model.concurrentSessions = sessions
        model.medianSize = sizes
        model.objectsPerCategory = 60
        let path = folder.path + "/shop.csv"
        _ = try model.writeCSV(seed: 4, to: path)
        return path
    }

    private func figures(_ run: RunResult) -> [Int] {
        [
            run.requests, run.hits, run.evictions, run.admissionsRefused, run.bytesFetched, run.caches,
            run.metadataBytes, run.metadataFixedBytes,
        ]
    }

    @Test("Every online policy decides alike, whether two caches are open at a time or all", arguments: [0.0, 500])
    func decisions(medianSize: Double) throws {
        let folder = try TemporaryFolder()
        let path = try file(folder, sizes: medianSize)
        let capacity = CapacityRequest.number(medianSize == 0 ? 12 : 6_000)
        let policies = PolicyCatalogue.standard.entries.filter { !$0.info.traits.contains(.needsFuture) }
        var jobs = ReplayJob.grid(
            policies: try policies.map { try $0.configured() }, capacities: [capacity],
            options: ReplayOptions(byUser: true), mode: .perUser)
        for models in [ModelSharing.own, .adapted] {
            jobs.append(
                ReplayJob(
                    policy: try PolicyCatalogue.standard.policy("learned"), capacity: capacity, mode: .perUser,
                    models: models))
        }
        let tiers = TierOptions(memory: .number(medianSize == 0 ? 4 : 2_000), disk: capacity)
        jobs += ReplayJob.grid(
            policies: try ["lru", "learned", "kingfisher-disk"].map { try PolicyCatalogue.standard.policy($0) },
            capacities: [], mode: .perUser, tiers: tiers)
        let load = TraceLoadOptions()
        let open = try StreamReplay(path: path, load: load, jobs: jobs, openBound: .max).run()
        let packed = try StreamReplay(path: path, load: load, jobs: jobs, openBound: 2).run()
        let input = ReplayInput(try Trace.load(path), for: jobs)
        for (index, job) in jobs.enumerated() {
            #expect(figures(packed.runs[index]) == figures(open.runs[index]), "\(job.label)")
            #expect(packed.runs[index].metrics == open.runs[index].metrics, "\(job.label)")
            #expect(packed.runs[index].users == open.runs[index].users, "\(job.label)")
            // A loaded trace gives each object of a user a number of its own.
            let loaded = try job.run(over: input)
            #expect(figures(loaded).prefix(6) == figures(open.runs[index]).prefix(6), "\(job.label)")
            #expect(loaded.metrics == open.runs[index].metrics, "\(job.label)")
        }
        let learned = try #require(open.runs.first { $0.policy == "learned" })
        #expect(learned.metrics["evictions_by_network"] ?? 0 > 0.2, "The network must decide in this test.")
    }

    /// Serves a file and returns the caches.
    private func serve(_ path: String, _ policy: String, openBound: Int) throws -> CacheSet {
        let job = ReplayJob(
            policy: try PolicyCatalogue.standard.policy(policy), capacity: .number(20), mode: .perUser)
        let unit = CacheUnit(uniformSize: 1)
        var caches = CacheSet(
            try job.resolvedForStream(), facts: SourceFacts(streamOf: unit), timer: nil, model: nil, prefetch: nil,
            openBound: openBound)
        var source = try StreamRequests(path, TraceLoadOptions(), mode: .perUser)
        while try source.next() {
            source.withBlock(unit: unit) { block in
                withUnsafeTemporaryAllocation(of: AccessOutcome.self, capacity: block.count) { outcomes in
                    if let first = outcomes.baseAddress { caches.serve(block, first) }
                }
            }
        }
        return caches
    }

    /// 10,000 users of a young cache, and 1,000 of a young model, of which up to 2.5 samples a request wait for their label.
    @Test("A packed cache of 20 objects takes some hundred bytes under lru, and below two thousand under learned")
    func bytes() throws {
        let folder = try TemporaryFolder()
        let lru = try serve(
            try file(folder, users: 10_000, requests: 400_000, sessions: 50), "lru", openBound: 100
        ).packed
        #expect(lru.caches > 9_500)
        #expect(lru.bytes / lru.caches < 140, "\(lru.bytes / lru.caches) bytes a user")
        let learned = try serve(
            try file(folder, users: 1_000, requests: 100_000, sessions: 20), "learned", openBound: 50
        ).packed
        #expect(learned.caches > 900)
        #expect(learned.bytes / learned.caches < 1_960, "\(learned.bytes / learned.caches) bytes a user")
    }

    @Test("A policy that cannot be packed keeps its caches open")
    func notPackable() throws {
        let folder = try TemporaryFolder()
        let caches = try serve(try file(folder, requests: 2_000), "s3-fifo", openBound: 2)
        #expect(caches.packed == (0, 0))
    }

    @Test("Entry numbers agree with a dictionary, and those of forgotten objects are used again", arguments: [20, 200])
    func entryNumbers(live: Int) {
        var numbers = EntryNumbers(recycles: true)
        var packer = StatePacker()
        var random = SplitMix64(seed: 9)
        // The objects that are held, latest last, and their numbers.
        var held: [(object: UInt32, number: EntryID)] = []
        for step in 0..<8_000 {
            let object = UInt32(random.next(below: live * 3))
            let number = numbers.number(of: object) { number in !held.contains { $0.number == number } }
            if let known = held.firstIndex(where: { $0.object == object }) {
                #expect(held[known].number == number)
                held.remove(at: known)
            }
            #expect(!held.contains { $0.number == number }, "number \(number) was given to two objects")
            held.append((object, number))
            if held.count > live { held.removeFirst() }
            if step % 100 == 0 {
                numbers.pack(into: &packer)
                var unpacker = StateUnpacker(packer.finish())
                numbers = EntryNumbers(recycles: true)
                numbers.unpack(from: &unpacker)
            }
        }
        #expect(numbers.count <= live + live / 8 + 5)
        var all = EntryNumbers(recycles: false)
        #expect((0..<500).map { all.number(of: UInt32($0 * 7)) { _ in true } } == Array(0..<500))
    }
}
