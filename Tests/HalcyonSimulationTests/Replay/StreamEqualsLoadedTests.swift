import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonSupport
import HalcyonTestSupport

import Testing

@testable import HalcyonSimulation
@testable import HalcyonTrace

/// Random traces as CSV files: a stream decides as the loaded trace does.
@Suite("A stream counts what the loaded trace counts", .timeLimit(.minutes(20)))
struct StreamEqualsLoadedTests {
    /// The sizes in the file.
    enum Sizes: String, CaseIterable, Sendable {
        /// There is no column.
        case none
        /// The column is empty in every row.
        case empty
        /// Every row has the size 4,096.
        case equal
        /// Every object has its own size.
        case varied
        /// All rows have the size 700, until the last twentieth of the file.
        case lateDifference
        /// A third of the rows have no size, the first of some objects among them.
        case missing
        /// As ``missing``, but all known sizes are 700.
        case equalOrMissing
        /// A request may find its object at another size (`--sizes per-request`).
        case changing
        /// The only size of the file is 1, in a row that is not the first of its object.
        case lateOne
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let sizes: Sizes
        let mode: ReplayMode
        let seed: UInt64

        var testDescription: String { "\(sizes.rawValue) sizes, \(mode.rawValue), seed \(seed)" }
    }

    static let cases = Sizes.allCases.flatMap { sizes in
        [ReplayMode.shared, .perUser].map { mode in
            Case(sizes: sizes, mode: mode, seed: UInt64(sizes.rawValue.utf8.count) * (mode == .shared ? 1 : 3))
        }
    }

    /// Returns the text of a file: Zipf-like requests of six users for some hundred objects in two overlapping categories; one
    /// request in 20 has no user.
    private func csv(_ sizes: Sizes, seed: UInt64) -> String {
        var random = SplitMix64(seed: seed)
        let count = 1_000
        var text = sizes == .none ? "time,key,category,user\n" : "time,key,category,user,size\n"
        var time = 1_000
        let objects = 60 + random.next(below: 200)
        for row in 0..<count {
            time += random.next(below: 4) * random.next(below: 60)
            let unit = random.nextUnit()
            let key = random.next(below: 5) == 0 ? 1_000 + row : Int(Double(objects) * unit * unit)
            let category = key % 7 == 0 ? "a|b" : key % 3 == 0 ? "a" : key % 3 == 1 ? "b" : ""
            let user = random.next(below: 20) == 0 ? "" : "u\(random.next(below: 6))"
            let own = 1 + Int(SplitMix64.mix(UInt64(key)) % 300)
            let isKnown = random.next(below: 3) > 0
            let other = random.next(below: 8) == 0 ? 7 : 0
            let size: String
            switch sizes {
            case .none: size = ""
            case .empty: size = ","
            case .equal: size = ",4096"
            case .varied: size = ",\(own)"
            case .lateDifference: size = row < count * 19 / 20 ? ",700" : ",\(own)"
            case .missing: size = isKnown ? ",\(own)" : ","
            case .equalOrMissing: size = isKnown ? ",700" : ","
            case .changing: size = ",\(own + other)"
            case .lateOne: size = row == count - 1 ? ",1" : ","
            }
            text += "\(time),\(row == count - 1 ? 0 : row == 0 ? 0 : key),\(category),\(user)\(size)\n"
        }
        return text
    }

    private func load(_ sizes: Sizes) -> TraceLoadOptions {
        TraceLoadOptions.with {
            $0.chunkBytes = 4_096
            if sizes == .changing { $0.sizes = .perRequest }
        }
    }

    /// Capacities for one object to some forty in the unit of the trace; four hold fewer than the ten objects of
    /// S3-FIFO's smallest queue.
    private func capacities(_ sizes: Sizes) -> [CapacityRequest] {
        let unit =
            switch sizes {
            case .none, .empty, .lateOne: 1
            case .equal: 4_096
            case .lateDifference, .equalOrMissing: 700
            case .varied, .missing, .changing: 150
            }
        return [1, 2, 5, 9, 40].map { .number($0 * unit + $0 % 2) }
    }

    private func compare(_ jobs: [ReplayJob], _ test: Case) throws -> [RunResult] {
        let folder = try TemporaryFolder()
        let path = try folder.file("trace.csv", csv(test.sizes, seed: test.seed))
        let options = load(test.sizes)
        let whole = try Trace.load(path, options)
        let trace = test.mode == .perUser ? whole.selection(withUserOnly: true).trace : whole
        let streamed = try StreamReplay(path: path, load: options, jobs: jobs).run()
        let input = ReplayInput(trace, for: jobs)
        #expect(streamed.trace.requests == trace.count && streamed.trace.objects == trace.objectCount)
        #expect(streamed.trace.sizeUnit == trace.sizeUnit)
        // If sizes change, an object of the loaded trace has the size of its first request in the file, with or
        // without a user.
        if test.sizes != .changing || test.mode == .shared {
            #expect(streamed.trace.distinctSize == Int(trace.distinctSize))
        }
        for (job, run) in zip(jobs, streamed.runs) {
            let loaded = try job.run(over: input)
            let name = "\(loaded.label) at \(loaded.capacityAsked)"
            #expect(counts(run) == counts(loaded), "\(name)")
            #expect(run.metrics == loaded.metrics, "\(name)")
            #expect(run.userDistribution == loaded.userDistribution, "\(name)")
            #expect(total(run.windows) == total(loaded.windows), "\(name)")
            #expect(run.capacityUnit == loaded.capacityUnit && run.caches == loaded.caches, "\(name)")
            #expect(run.prefetch.map(counts) == loaded.prefetch.map(counts), "\(name)")
        }
        return streamed.runs
    }

    private func counts(_ run: RunResult) -> [Int] {
        [run.requests, run.hits, run.evictions, run.admissionsRefused, run.stale, run.bytesFetched]
    }

    private func counts(_ prefetch: PrefetchResult) -> [Int] {
        [prefetch.fetched, prefetch.used, prefetch.late, prefetch.hitsOwed, prefetch.fetchedSize, prefetch.wastedSize]
    }

    private func total(_ windows: [Tally]) -> Tally { windows.reduce(into: Tally()) { $0.add($1) } }

    @Test("Every online policy streams as it runs loaded, at capacities from one object", arguments: cases)
    func everyOnlinePolicyStreamsAsLoaded(_ test: Case) throws {
        let policies = PolicyCatalogue.standard.entries.filter { !$0.info.traits.contains(.needsFuture) }
        let jobs = ReplayJob.grid(
            policies: try policies.map { try $0.configured() }, capacities: capacities(test.sizes), mode: test.mode,
            knowledge: .server)
        let runs = try compare(jobs, test)
        #expect(runs.count == policies.count * 5 && runs.count { $0.hits > 0 } > runs.count / 2)
        #expect(runs.contains { $0.policy == "learned" && $0.evictions > 0 })
        // S3-FIFO admits something at every capacity if objects count alike.
        if [.none, .empty, .equal].contains(test.sizes) {
            #expect(runs.filter { $0.policy == "s3-fifo" }.allSatisfy { $0.admissionsRefused < $0.requests })
        }
    }

    @Test("A model for each user's cache streams as loaded", arguments: cases.filter { $0.mode == .perUser })
    func ownModelsStreamAsLoaded(_ test: Case) throws {
        let jobs = ReplayJob.grid(
            policies: [try PolicyCatalogue.standard.policy("learned")],
            capacities: Array(capacities(test.sizes).suffix(2)), mode: .perUser, knowledge: .device)
        _ = try compare(jobs, test)
    }

    @Test("Prefetching, at once and with a latency, and two tiers stream as loaded", arguments: cases)
    func prefetchingAndTiersStreamAsLoaded(_ test: Case) throws {
        var jobs: [ReplayJob] = []
        for policy in ["planner", "markov", "markov-user", "popular", "category-popular", "mithril"] {
            for latency: Int64 in [0, 30_000_000] {
                let prefetch = try PrefetchOptions(
                    policy: policy, budget: PrefetchBudget(parsing: "2/request"), latency: .fixed(latency))
                jobs.append(
                    ReplayJob(
                        policy: try PolicyCatalogue.standard.policy("lru"), capacity: capacities(test.sizes)[4],
                        mode: test.mode, knowledge: .server, options: ReplayOptions(prefetch: prefetch)))
            }
        }
        let tiers = TierOptions(memory: capacities(test.sizes)[2], disk: capacities(test.sizes)[4])
        jobs.append(
            ReplayJob(
                policy: try PolicyCatalogue.standard.policy("s3-fifo"), capacity: tiers.disk, mode: test.mode,
                tiers: tiers))
        let runs = try compare(jobs, test)
        #expect(runs.contains { $0.prefetch?.fetched ?? 0 > 0 })
    }
}
