import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTestSupport
import HalcyonTraceTestSupport
import Testing

@testable import HalcyonExperiments
@testable import HalcyonSimulation
@testable import HalcyonTrace

/// One sequence of requests in three forms: without sizes, and with all sizes equal to 1 and to 4,096 bytes.
private struct EqualSizes {
    static let page = 4_096
    /// Capacities in objects.
    static let memory = 6, capacity = 40

    let folder: TemporaryFolder
    /// The path of each form, with the bytes that an object has there.
    let forms: [(path: String, size: Int)]

    init(requests: Int = 2_500) throws {
        let trace = TinyTraces.scrambled(count: requests, objects: 300, users: 5)
        func csv(_ size: String?) -> String {
            (0..<trace.count).reduce(into: "key,user,category" + (size == nil ? "\n" : ",size\n")) { text, index in
                let key = trace.entries[index]
                text += "\(key),u\(trace.users[index]),c\(key % 7)" + (size.map { ",\($0)\n" } ?? "\n")
            }
        }
        folder = try TemporaryFolder()
        forms = [
            (try folder.file("none.csv", csv(nil)), 1), (try folder.file("one.csv", csv("1")), 1),
            (try folder.file("page.csv", csv("\(Self.page)")), Self.page),
        ]
    }

    func traces() throws -> [(trace: Trace, size: Int)] {
        try forms.map { (try Trace.load($0.path, TraceLoadOptions.with { $0.names = .all }), $0.size) }
    }

    /// Runs each form, and returns the first result with the others' that are to equal it, each with its size.
    func runs(
        _ policy: String, options: ReplayOptions = ReplayOptions(), mode: ReplayMode = .shared,
        knowledge: Knowledge = .device, tiers: Bool = false
    ) async throws -> [(run: RunResult, size: Int)] {
        var results: [(RunResult, Int)] = []
        for (trace, size) in try traces() {
            let sweep = try Sweep(
                trace: trace, policies: [try PolicyCatalogue.standard.policy(policy)],
                // A part of an object does not make room for one.
                capacities: tiers ? [] : [.number(Self.capacity * size + size - 1)], options: options, mode: mode,
                knowledge: knowledge,
                tiers: tiers
                    ? TierOptions(memory: .number(Self.memory * size), disk: .number(Self.capacity * size)) : nil)
            results.append((try #require(await sweep.run(workers: 1).first), size))
        }
        return results
    }
}

@Suite("Equal sizes are uniform", .timeLimit(.minutes(20)))
struct UniformSizesTests {
    static let names = PolicyCatalogue.standard.entries.map(\.info.name)

    /// The figures that do not depend on the uniform size.
    private func decisions(_ run: RunResult) -> [Int] {
        [run.requests, run.hits, run.evictions, run.admissionsRefused]
    }

    private func needsFuture(_ name: String) throws -> Bool {
        try PolicyCatalogue.standard.policy(name).info.traits.contains(.needsFuture)
    }

    @Test(
        "A policy decides the same without sizes, with sizes of 1 and of 4,096, loaded and streamed", arguments: names)
    func policyDecidesTheSameAtAnyUniformSize(name: String) async throws {
        let forms = try EqualSizes()
        let runs = try await forms.runs(name)
        #expect(runs[0].run.hits > 0 && runs[0].run.evictions > 0)
        for (run, size) in runs {
            #expect(decisions(run) == decisions(runs[0].run), "\(size)")
            #expect(run.capacity == EqualSizes.capacity * size + size - 1)
        }
        if try needsFuture(name) { return }
        for (path, size) in forms.forms {
            let streamed = try StreamReplay(
                path: path, load: TraceLoadOptions.with { $0.chunkBytes = 5_000 },
                jobs: [
                    ReplayJob(
                        policy: PolicyCatalogue.standard.policy(name), capacity: .number(EqualSizes.capacity * size))
                ]
            ).run().runs[0]
            #expect(decisions(streamed) == decisions(runs[0].run), "streamed, \(size)")
            #expect(streamed.capacity == EqualSizes.capacity * size)
            #expect(streamed.bytesFetched == runs[0].run.bytesFetched * size)
        }
    }

    @Test("The network of learned decides the same evictions of equal sizes in bytes")
    func networkOfLearnedDecidesTheSameInBytes() async throws {
        let runs = try await EqualSizes(requests: 6_000).runs("learned")
        #expect(try #require(runs[0].run.metrics["evictions_by_network"]) > 0.1)
        for (run, _) in runs {
            #expect(decisions(run) == decisions(runs[0].run))
            #expect(run.metrics == runs[0].run.metrics)
        }
    }

    @Test(
        "Bytes, windows and tables count each request with its size; ratios are unchanged", arguments: ReplayMode.both)
    func bytesWindowsAndTablesScaleWithTheSize(mode: ReplayMode) async throws {
        let options = ReplayOptions(warmup: 0.1, windows: 3, byCategory: true, byUser: true)
        let runs = try await EqualSizes().runs("s3-fifo", options: options, mode: mode)
        let unit = runs[0].run
        #expect(unit.capacityUnit == .objects && unit.bytesFetched == unit.requests - unit.hits)
        func multiplied(_ tally: Tally, _ size: Int) -> Tally {
            var tally = tally
            tally.size *= size
            tally.hitSize *= size
            return tally
        }
        for (run, size) in runs[1...] {
            #expect(run.capacityUnit == .bytes)
            #expect(run.byteHitRatio == unit.objectHitRatio && run.objectHitRatio == unit.objectHitRatio)
            #expect(run.bytesFetched == unit.bytesFetched * size)
            #expect(run.windows == unit.windows.map { multiplied($0, size) })
            #expect(run.categories == unit.categories?.mapValues { multiplied($0, size) })
            #expect(run.users == unit.users?.mapValues { multiplied($0, size) })
            #expect(run.userDistribution == unit.userDistribution)
        }
    }

    @Test(
        "Per-user caches decide the same at any uniform size",
        arguments: [
            ("lru", Knowledge.server), ("belady", .server), ("w-tinylfu", .server), ("learned", .server),
            ("learned", .device),
        ])
    func perUserCachesDecideTheSame(name: String, knowledge: Knowledge) async throws {
        let runs = try await EqualSizes().runs(name, mode: .perUser, knowledge: knowledge)
        #expect(runs[0].run.hits > 0 && runs[0].run.evictions > 0)
        for (run, size) in runs {
            #expect(decisions(run) == decisions(runs[0].run))
            #expect(run.bytesFetched == runs[0].run.bytesFetched * size)
        }
    }

    @Test(
        "Two tiers decide the same, and a fetch takes the time of its bytes",
        arguments: ["lru", "s3-fifo", "learned"])
    func tiersDecideTheSameAndTransfersTakeTheirTime(name: String) async throws {
        let runs = try await EqualSizes().runs(name, tiers: true)
        let unit = try #require(runs[0].run.tiers)
        #expect(unit.memoryHits > 0 && unit.diskHits > 0 && unit.networkFetches > 0)
        for (run, size) in runs {
            let tiers = try #require(run.tiers)
            #expect(decisions(run) == decisions(runs[0].run))
            #expect(
                tiers.memoryCapacity == EqualSizes.memory * size && tiers.diskCapacity == EqualSizes.capacity * size)
            #expect(tiers.memoryHits == unit.memoryHits && tiers.diskHits == unit.diskHits)
            let transfer = run.capacityUnit == .bytes ? Double(size) / tiers.costs.bandwidth * 1_000 : 0
            let expected = unit.meanLatency + transfer * Double(unit.networkFetches) / Double(run.requests)
            #expect(abs(tiers.meanLatency - expected) < 1e-9)
            #expect(abs(tiers.p99Latency - unit.p99Latency - transfer) < 1e-4)
        }
    }

    @Test(
        "Prefetching decides the same, and fetched and wasted sizes are in bytes",
        arguments: [("planner", "lru"), ("markov", "learned")], ReplayMode.both)
    func prefetchingDecidesTheSameInBytes(names: (prefetch: String, policy: String), mode: ReplayMode) async throws {
        var options = ReplayOptions(warmup: 0.1)
        options.prefetch = try PrefetchOptions(
            policy: names.prefetch, budget: PrefetchBudget(parsing: "2/request"), latency: .fixed(1_500_000))
        let runs = try await EqualSizes().runs(names.policy, options: options, mode: mode)
        let unit = try #require(runs[0].run.prefetch)
        #expect(unit.fetched > 0 && unit.wastedSize > 0)
        for (run, size) in runs {
            let prefetch = try #require(run.prefetch)
            #expect(decisions(run) == decisions(runs[0].run))
            #expect(prefetch.fetched == unit.fetched && prefetch.used == unit.used && prefetch.late == unit.late)
            #expect(prefetch.fetchedSize == unit.fetchedSize * size && prefetch.fetchedSize == prefetch.fetched * size)
            #expect(prefetch.wastedSize == unit.wastedSize * size && prefetch.wastedShare == unit.wastedShare)
            #expect(prefetch.byteHitRatioWithout == unit.objectHitRatioWithout)
        }
    }

    @Test("A prefetch budget in bytes is spent by the size of the objects")
    func byteBudgetIsSpentByTheSizeOfObjects() async throws {
        let results = try await EqualSizes().traces()[1...].asyncMap { trace, size in
            var options = ReplayOptions()
            // Two objects of one byte, or two pages and a part of a third.
            options.prefetch = try PrefetchOptions(
                policy: "markov", budget: PrefetchBudget(parsing: "\(2 * size + size / 2)B/request"))
            let sweep = try Sweep(
                trace: trace, policies: [PolicyCatalogue.standard.policy("lru")],
                capacities: [.number(EqualSizes.capacity * size)], options: options)
            return try #require(await sweep.run().first)
        }
        let (bytes, pages) = (try #require(results[0].prefetch), try #require(results[1].prefetch))
        #expect(bytes.fetched > 0 && pages.fetched == bytes.fetched)
        #expect(pages.fetchedSize == bytes.fetchedSize * EqualSizes.page)
        #expect(decisions(results[0]) == decisions(results[1]))
    }

    @Test("A cache smaller than an object refuses every request", arguments: names)
    func cacheSmallerThanAnObjectRefusesEveryRequest(name: String) async throws {
        let forms = try EqualSizes(requests: 300)
        let trace = try forms.traces()[2].trace
        for mode in ReplayMode.both {
            let sweep = try Sweep(
                trace: trace, policies: [PolicyCatalogue.standard.policy(name)],
                capacities: [.number(EqualSizes.page - 1)], mode: mode)
            let run = try #require(await sweep.run().first)
            #expect(run.hits == 0 && run.admissionsRefused == run.requests && run.capacity == EqualSizes.page - 1)
        }
        if try needsFuture(name) { return }
        let streamed = try StreamReplay(
            path: forms.forms[2].path, load: TraceLoadOptions(),
            jobs: [
                ReplayJob(policy: PolicyCatalogue.standard.policy(name), capacity: .number(EqualSizes.page - 1))
            ]
        ).run().runs[0]
        #expect(streamed.hits == 0 && streamed.admissionsRefused == 300)
    }

    @Test("A selection with equal sizes is uniform even if the whole trace is not")
    func selectionWithEqualSizesIsUniform() async throws {
        // The first 400 requests go to objects of 100 bytes, the others to larger ones.
        let requests: [UInt32] = (0..<800).map { $0 < 400 ? $0 * 7 % 50 : 50 + $0 % 50 }
        let sizes: [UInt64] = (0..<100).map { $0 < 50 ? 100 : 101 + $0 }
        let whole = Trace(entries: requests, times: TimeColumn(count: 800), objectSizes: sizes, sizeUnit: .bytes)
        let part = whole.selection(limit: 400).trace
        #expect(
            whole.uniformSize == nil && part.uniformSize == 100 && whole.selection(skip: 400).trace.uniformSize == nil)
        let unit = TinyTraces.unit(part.entries)
        for policy in ["s3-fifo", "arc", "gdsf"] {
            let bytes = try Sweep(trace: part, policies: [policy], capacities: ["2KB"])
            let objects = try Sweep(trace: unit, policies: [policy], capacities: ["20"])
            let (inBytes, inObjects) = (await bytes.run()[0], await objects.run()[0])
            #expect(decisions(inBytes) == decisions(inObjects) && inBytes.bytesFetched == inObjects.bytesFetched * 100)
        }
    }

    @Test("A training replay and a test of the hypothesis use uniform sizes, too")
    func trainingAndHypothesesUseUniformSizes() throws {
        let trained = try EqualSizes(requests: 4_000).traces().map { trace, size in
            try LearnerReplay(trace: trace, capacity: .number(EqualSizes.capacity * size)).train()
        }
        for training in trained { #expect(decisions(training.run) == decisions(trained[0].run)) }
        let bench = try EqualSizes().traces().map { trace, size in
            try FieldRunner(
                try HypothesisField(mode: .perUser, trace: trace, capacities: [.number(20 * size)]),
                learner: try HypothesisLearner(), options: HypothesisOptions())
        }
        let hits = try bench.map {
            try $0.run(HypothesisJob(field: 0, capacity: 0, arm: .withCategories(seed: 0)), progress: nil)
        }
        #expect(hits[0].hits > 0 && hits.allSatisfy { $0.hits == hits[0].hits })
    }
}

@Suite("Streams of equal sizes", .timeLimit(.minutes(20)))
struct UniformStreamTests {
    /// Requests for objects of one size, the last of another, in pieces of some hundred requests.
    private func changing(_ folder: TemporaryFolder, lastSize: Int) throws -> (path: String, load: TraceLoadOptions) {
        let trace = TinyTraces.scrambled(count: 3_000, objects: 400)
        let rows = trace.entries.enumerated().map { index, key in
            "\(index < 2_500 ? key : key + 1_000),\(index < 2_500 ? 700 : lastSize)\n"
        }
        return (
            try folder.file("changing.csv", "key,size\n" + rows.joined()),
            TraceLoadOptions.with { $0.chunkBytes = 4_096 }
        )
    }

    private func streamed(_ path: String, _ load: TraceLoadOptions, _ policies: [String], _ capacity: CapacityRequest)
        throws
        -> ReplayReport
    {
        try StreamReplay(
            path: path, load: load,
            jobs: ReplayJob.grid(
                policies: policies.map { try PolicyCatalogue.standard.policy($0) }, capacities: [capacity])
        ).run()
    }

    @Test("A stream whose size changes after its first chunk counts as the loaded trace")
    func streamWithALateSizeChangeCountsAsLoaded() async throws {
        let folder = try TemporaryFolder()
        let (path, load) = try changing(folder, lastSize: 900)
        let policies = ["lru", "s3-fifo", "gdsf", "2q", "learned"]
        let report = try streamed(path, load, policies, .number(40_000))
        let trace = try Trace.load(path, load)
        #expect(trace.uniformSize == nil)
        let loaded = try await Sweep(trace: trace, policies: policies, capacities: ["40000"]).run()
        #expect(report.runs.map(\.hits) == loaded.map(\.hits))
        #expect(report.runs.map(\.evictions) == loaded.map(\.evictions))
        #expect(report.runs.map(\.bytesFetched) == loaded.map(\.bytesFetched))
        #expect(report.runs.map(\.requests) == loaded.map { _ in 3_000 })
        #expect(report.trace.distinctSize == Int(trace.distinctSize))
    }

    @Test("A pipe whose size changes after its first chunk is refused with the request's number")
    func pipeWithALateSizeChangeIsRefused() throws {
        let folder = try TemporaryFolder()
        let (path, load) = try changing(folder, lastSize: 900)
        let pipe = "\(folder.path)/pipe.csv"
        #expect(mkfifo(pipe, 0o600) == 0)
        // Opened for both, which does not wait for another process; all of it fits into the pipe.
        let descriptor = open(pipe, O_RDWR)
        defer { close(descriptor) }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(bytes.count < 1 << 16)
        #expect(bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } == bytes.count)
        let error = #expect(throws: ReplayError.self) { try streamed(pipe, load, ["lru"], .number(40_000)) }
        #expect(
            error
                == .data(
                    "\(pipe): request 2501 has the size 900 and all before it have the size 700; the replay has to "
                        + "start again with variable sizes, but this source can be read only once: save it as a file."))
        #expect(TraceStream.canReadAgain(path) && !TraceStream.canReadAgain(pipe))
    }

    @Test("S3-FIFO in a cache for 8 objects has the same hits in a stream without sizes")
    func s3fifoForEightObjectsStreamsAsLoaded() async throws {
        let path = BundledTrace.path("shop.csv")
        let load = TraceLoadOptions.with { $0.limit = 10_000 }
        let loaded = try await Sweep(trace: Trace.load(path, load), policies: ["s3-fifo"], capacities: ["8"]).run()[0]
        let stream = try streamed(path, load, ["s3-fifo"], .number(8)).runs[0]
        #expect(loaded.hits > 0 && stream.hits == loaded.hits && stream.evictions == loaded.evictions)
        #expect(stream.capacityUnit == .objects)
    }
}

extension Sequence {
    /// The results of `transform`, one after the other.
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}

extension ReplayMode {
    fileprivate static let both: [ReplayMode] = [.shared, .perUser]
}

extension TraceLoadOptions {
    static func with(_ change: (inout TraceLoadOptions) -> Void) -> TraceLoadOptions {
        var options = TraceLoadOptions()
        change(&options)
        return options
    }
}
