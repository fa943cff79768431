import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonSupport
import HalcyonTestSupport
import HalcyonTraceTestSupport
import Testing

@testable import HalcyonSimulation
@testable import HalcyonTrace

@Suite("Parts of the users", .timeLimit(.minutes(20)))
struct UserPartTests {
    @Test("i/n is parsed, and any other text is refused with an example")
    func userPartIsParsedAndOtherTextsRefused() throws {
        let part = try UserPart(parsing: "2/4")
        #expect(part.number == 2 && part.count == 4 && part.description == "2/4")
        #expect(try UserPart(parsing: "1/1").contains(7))
        for text in ["", "1", "0/4", "5/4", "1/0", "a/4", "1/4/2", "-1/4", "+1/4", "1/ 4", "1/4294967296", "/", "1/"] {
            let sentence = "'\(text)' is no part of the users: write i/n with i from 1 to n, such as 1/4."
            #expect(throws: ReplayError.usage(sentence)) { try UserPart(parsing: text) }
        }
    }

    @Test("The hash of a user equals that of another implementation of SplitMix64")
    func hashOfAUserIsFixed() throws {
        #expect(UserPart.hash(of: 0) == 16_294_208_416_658_607_535)
        #expect(UserPart.hash(of: 1) == 10_451_216_379_200_822_465)
        #expect(UserPart.hash(of: 1_000_000) == 7_497_680_628_364_559_847)
        let parts = try (1...4).map { try UserPart(parsing: "\($0)/4") }
        let owners = (0..<8 as Range<UInt32>).map { user in parts.filter { $0.contains(user) }.map(\.number) }
        #expect(owners == [[4], [2], [3], [2], [3], [3], [1], [4]])
    }

    /// Requests of 40 users in sessions, with sizes and categories; one request in 30 has no user.
    private func csv(seed: UInt64, hasSizes: Bool) -> String {
        var random = SplitMix64(seed: seed)
        var text = hasSizes ? "time,key,category,user,size\n" : "time,key,category,user\n"
        var users = (0..<5).map { _ in random.next(below: 40) }
        for row in 0..<3_000 {
            let place = random.next(below: users.count)
            if random.next(below: 12) == 0 { users[place] = random.next(below: 40) }
            let unit = random.nextUnit()
            let key = users[place] % 4 * 30 + Int(200 * unit * unit * unit)
            let user = random.next(below: 30) == 0 ? "" : "u\(users[place])"
            text += "\(row),\(key),\(key % 3 == 0 ? "a" : "b|c"),\(user)"
            text += hasSizes ? ",\(1 + SplitMix64.mix(UInt64(key)) % 300)\n" : "\n"
        }
        return text
    }

    /// Counts that add up, by name.
    private func sums(_ runs: [RunResult]) -> [String: Int] {
        var sums: [String: Int] = [:]
        for run in runs {
            sums["requests", default: 0] += run.requests
            sums["warm-up", default: 0] += run.warmupRequests
            sums["hits", default: 0] += run.hits
            sums["bytes", default: 0] += run.bytesFetched
            sums["evictions", default: 0] += run.evictions
            sums["refused", default: 0] += run.admissionsRefused
            sums["too large", default: 0] += run.refusedTooLarge
            sums["stale", default: 0] += run.stale
            sums["caches", default: 0] += run.caches
            for (index, window) in run.windows.enumerated() { add(window, "window \(index)", to: &sums) }
            for (name, tally) in run.users ?? [:] { add(tally, "user \(name)", to: &sums) }
            for (name, tally) in run.categories ?? [:] { add(tally, "category \(name)", to: &sums) }
            sums["memory", default: 0] += run.tiers?.memoryHits ?? 0
            sums["disk", default: 0] += run.tiers?.diskHits ?? 0
            sums["network", default: 0] += run.tiers?.networkFetches ?? 0
        }
        return sums
    }

    /// Returns the names of the counts that do not add up.
    private func differences(_ parts: [RunResult], _ whole: RunResult) -> [String] {
        let (sums, all) = (sums(parts), sums([whole]))
        return Set(sums.keys).union(all.keys).filter { sums[$0] != all[$0] }.sorted()
    }

    private func add(_ tally: Tally, _ name: String, to sums: inout [String: Int]) {
        sums["\(name) requests", default: 0] += tally.requests
        sums["\(name) hits", default: 0] += tally.hits
        sums["\(name) size", default: 0] += tally.size
        sums["\(name) hit size", default: 0] += tally.hitSize
    }

    private func jobs(hasSizes: Bool, isStream: Bool) throws -> [ReplayJob] {
        let options = ReplayOptions(
            warmup: isStream ? .requests(20) : 0.3, seed: 3, windows: 7, byCategory: true, byUser: true)
        let capacity = CapacityRequest.number(hasSizes ? 900 : 6)
        let policies = try ["lru", "s3-fifo", "gdsf", "random", "w-tinylfu", "learned"].map {
            try PolicyCatalogue.standard.policy($0)
        }
        var jobs = ReplayJob.grid(
            policies: policies, capacities: [capacity], options: options, mode: .perUser, knowledge: .device)
        jobs += ReplayJob.grid(
            policies: [policies[0], policies[1]], capacities: [], options: options, mode: .perUser,
            tiers: TierOptions(memory: .number(hasSizes ? 400 : 2), disk: capacity))
        jobs.append(.kingfisher(capacity: capacity, mode: .perUser, options: options))
        if !isStream {
            jobs.append(
                ReplayJob(
                    policy: try PolicyCatalogue.standard.policy("belady"), capacity: capacity, mode: .perUser,
                    options: options))
        }
        return jobs
    }

    private func of(_ part: UserPart, _ jobs: [ReplayJob]) -> [ReplayJob] {
        jobs.map {
            var job = $0
            job.users = part
            return job
        }
    }

    @Test("The counts of all parts of a loaded trace add up to those of the whole", arguments: [true, false])
    func partsOfALoadedTraceAddUp(hasSizes: Bool) throws {
        let folder = try TemporaryFolder()
        let path = try folder.file("t.csv", csv(seed: hasSizes ? 1 : 2, hasSizes: hasSizes))
        let trace = try Trace.load(path, .with { $0.names = [.users, .categories] }).selection(withUserOnly: true).trace
        for job in try jobs(hasSizes: hasSizes, isStream: false) {
            let input = ReplayInput(trace, for: [job])
            let whole = try job.run(over: input)
            #expect(whole.requests > 1_000 && whole.hits > 0 && whole.caches == 40 && whole.userPart == nil)
            for count in [1, 2, 3, 7] {
                let parts = try (1...count).map { number in
                    try of(UserPart(parsing: "\(number)/\(count)"), [job])[0].run(over: input)
                }
                #expect(differences(parts, whole) == [], "\(job.label), \(count) parts")
                #expect(parts.map(\.userPart) == (1...count).map { "\($0)/\(count)" })
                #expect(count == 1 || parts.allSatisfy { $0.requests < whole.requests })
            }
        }
    }

    @Test("The counts of all parts of a stream add up to those of the whole", arguments: [true, false])
    func partsOfAStreamAddUp(hasSizes: Bool) throws {
        let folder = try TemporaryFolder()
        let path = try folder.file("t.csv", csv(seed: hasSizes ? 5 : 6, hasSizes: hasSizes))
        let load = TraceLoadOptions.with {
            $0.names = [.users, .categories]
            $0.chunkBytes = 4_096
        }
        let jobs = try jobs(hasSizes: hasSizes, isStream: true)
        let whole = try StreamReplay(path: path, load: load, jobs: jobs).run()
        for count in [1, 2, 3, 7] {
            let parts = try (1...count).map { number in
                try StreamReplay(path: path, load: load, jobs: of(UserPart(parsing: "\(number)/\(count)"), jobs)).run()
            }
            #expect(parts.allSatisfy { $0.trace.fingerprint == whole.trace.fingerprint })
            #expect(parts.allSatisfy { $0.trace.requests == whole.trace.requests })
            for index in jobs.indices {
                let counted = differences(parts.map { $0.runs[index] }, whole.runs[index])
                #expect(counted == [], "\(jobs[index].label), \(count) parts")
            }
        }
    }

    @Test("A part without any user of the trace has no requests")
    func partWithoutUsersHasNoRequests() throws {
        let trace = TinyTraces.unit([0, 1, 0], users: [0, 0, 0])
        // User 0 belongs to part 4 of 4.
        var job = ReplayJob(policy: try PolicyCatalogue.standard.policy("lru"), capacity: .number(1), mode: .perUser)
        job.users = try UserPart(parsing: "1/4")
        let result = try job.run(over: ReplayInput(trace))
        #expect(result.requests == 0 && result.hits == 0 && result.caches == 0 && result.userDistribution == nil)
        #expect(result.windows.count == 3 && result.windows.allSatisfy { $0.requests == 0 })
    }

    @Test("Parts of shared caches, and of server knowledge, are refused in one sentence")
    func partsOfSharedCachesAndModelsAreRefused() throws {
        let input = ReplayInput(TinyTraces.scrambled(count: 200, objects: 20, users: 4))
        let (lru, learned) = (
            try PolicyCatalogue.standard.policy("lru"), try PolicyCatalogue.standard.policy("learned")
        )
        let part = try UserPart(parsing: "1/2")
        func sentence(_ job: ReplayJob) throws -> String {
            var job = job
            job.users = part
            let loaded = #expect(throws: ReplayError.self) { try job.run(over: input) }
            let streamed = #expect(throws: ReplayError.self) {
                try StreamReplay(path: "t.csv", load: TraceLoadOptions(), jobs: [job])
            }
            #expect(loaded == streamed)
            guard case .usage(let sentence) = loaded else { return "" }
            return sentence
        }
        let capacity = CapacityRequest.number(5)
        #expect(try sentence(ReplayJob(policy: lru, capacity: capacity)).contains("add --per user"))
        let shared = ReplayJob(policy: learned, capacity: capacity, mode: .perUser, knowledge: .server)
        #expect(try sentence(shared).contains("--knowledge device"))
        var tiers = TierOptions(memory: .number(2), disk: capacity)
        tiers.diskPolicy = learned
        #expect(
            try sentence(ReplayJob(policy: lru, capacity: capacity, mode: .perUser, knowledge: .server, tiers: tiers))
                .hasPrefix("learned"))
        let prefetch = try PrefetchOptions(
            policy: "planner", budget: PrefetchBudget(parsing: "1/request"), latency: .ideal)
        let planned = ReplayJob(
            policy: lru, capacity: capacity, mode: .perUser, knowledge: .server,
            options: ReplayOptions(prefetch: prefetch))
        #expect(try sentence(planned).hasPrefix("planner prefetches by what it learns from all users"))
        var byKey = of(part, [planned])[0]
        byKey.knowledge = .device
        byKey.options.prefetch = try PrefetchOptions(
            policy: "next-key", budget: PrefetchBudget(parsing: "1/request"), latency: .ideal)
        let expected = ReplayError.usage(
            "next-key serves all users in the order of time, and not part 1/2 of them: leave prefetching or --users out."
        )
        #expect(throws: expected) { try byKey.run(over: input) }
        let lruJob = ReplayJob(policy: lru, capacity: capacity, mode: .perUser)
        #expect(throws: ReplayError.usage("One pass over a stream serves the same part of the users in all runs.")) {
            try StreamReplay(path: "t.csv", load: TraceLoadOptions(), jobs: of(part, [lruJob]) + [lruJob])
        }
    }
}
