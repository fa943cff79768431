import HalcyonEviction
import HalcyonLearning
import HalcyonSupport
import HalcyonTestSupport
import HalcyonTraceTestSupport
import Testing

@testable import HalcyonSimulation
@testable import HalcyonTrace

@Suite("Warm-up", .timeLimit(.minutes(20)))
struct WarmupTests {
    @Test(
        "A number with a point or a percent sign is a share, a whole number counts requests, and a time has a unit",
        arguments: [
            ("0.25", Warmup.share(0.25), "0.25"), ("25%", .share(0.25), "0.25"), ("0", .requests(0), "0"),
            ("0.0", .share(0), "0"), ("1", .requests(1), "1"), ("60000", .requests(60_000), "60000"),
            ("60k", .requests(60_000), "60000"), ("1.5k", .requests(1_500), "1500"), ("1e3", .requests(1_000), "1000"),
            ("5d", .time(432_000_000_000), "432000s"), ("12h", .time(43_200_000_000), "43200s"),
            ("30min", .time(1_800_000_000), "1800s"), ("1.5s", .time(1_500_000), "1500ms"),
            ("0.5%", .share(0.005), "0.005"),
        ])
    func notationsAreRead(text: String, expected: Warmup, stored: String) throws {
        let warmup = try Warmup(parsing: text)
        #expect(warmup == expected && warmup.description == stored)
        #expect(try Warmup(parsing: stored).description == stored)
    }

    @Test(
        "Any other text of a warm-up is refused",
        arguments: [
            "", "%", "1.0", "2.5", "100%", "150%", "-1", "-0.1", "-5%", "half", "nan", "inf", "5m", "1,000", "1.0005k",
        ])
    func otherTextIsRefused(text: String) {
        #expect(throws: ReplayError.self) { try Warmup(parsing: text) }
    }

    /// Requests of three objects a second, for up to three users, with repeated times.
    private func trace(users: UInt32 = 0) -> Trace {
        let plain = TinyTraces.scrambled(count: 3_000, objects: 200, users: users)
        var (random, time) = (SplitMix64(seed: 7), Int64(5_000_000_000))
        let times = (0..<plain.count).map { _ in
            time += Int64(random.next(below: 3)) * 1_500_000
            return time
        }
        return Trace(
            entries: plain.entries, times: TimeColumn(times), users: plain.users, objectSizes: plain.objectSizes,
            userCount: plain.userCount)
    }

    private static let warmups: [Warmup] = [
        .none, 0.25, .requests(1), .requests(777), .requests(2_999), .time(1), .time(1_500_000), .time(600_000_000),
        .time(4_000_000_000),
    ]

    @Test("Counted hits are those of a textbook LRU after the warm-up", arguments: warmups)
    func countedHitsAreThoseAfterTheWarmUp(warmup: Warmup) throws {
        let trace = trace()
        let first =
            switch warmup {
            case .share(let share): Int(share * 3_000)
            case .requests(let count): count
            case .time(let time): (0..<trace.count).count { trace.times[$0] - trace.times[0] < time }
            }
        #expect(warmup.requests(of: trace) == first && first < trace.count)
        let hits = bookLRUHits(trace.entries, capacity: 40)
        let job = ReplayJob(
            policy: ConfiguredPolicy(LRU.self), capacity: .number(40),
            options: ReplayOptions(warmup: warmup, windows: 9))
        let result = try job.run(over: ReplayInput(trace))
        #expect(result.hits == hits.dropFirst(first).count { $0 } && result.warmupRequests == first)
        #expect(result.requests == trace.count - first)
        let length = Recorder.windowLength(counted: trace.count - first, windows: 9)
        let windows = stride(from: first, to: trace.count, by: length).map { start in
            hits[start..<min(start + length, trace.count)].count { $0 }
        }
        #expect(result.windows.map(\.hits) == windows)
    }

    @Test("A warm-up that leaves nothing, or needs times that are not known, is refused")
    func warmUpThatLeavesNothingIsRefused() throws {
        let folder = try TemporaryFolder()
        let timeless = try Trace.load(try folder.file("t.csv", "key\na\nb\na\n"))
        for (trace, warmup) in [
            (trace(), Warmup.requests(3_000)), (trace(), .time(1 << 50)), (timeless, .time(1_000_000)),
        ] {
            let job = ReplayJob(
                policy: ConfiguredPolicy(LRU.self), capacity: .number(2), options: ReplayOptions(warmup: warmup))
            #expect(throws: ReplayError.self) { try job.run(over: ReplayInput(trace)) }
        }
    }

    /// Pieces of a stream are some rows long, so that the warm-up ends inside of one, between two, and in a later one.
    @Test(
        "A stream has the warm-up of the loaded trace", arguments: warmups.dropFirst(2), [ReplayMode.shared, .perUser])
    func streamHasTheWarmUpOfTheLoadedTrace(warmup: Warmup, mode: ReplayMode) throws {
        let trace = trace(users: 5)
        let folder = try TemporaryFolder()
        var text = "time,key,user\n"
        for index in 0..<trace.count {
            text += "\(Double(trace.times[index]) / 1e6),k\(trace.entries[index]),u\(trace.users[index])\n"
        }
        let path = try folder.file("t.csv", text)
        let half = try UserPart(parsing: "1/2")
        let parts: [UserPart?] = mode == .shared ? [nil] : [nil, half]
        for part in parts {
            var job = ReplayJob(
                policy: try PolicyCatalogue.standard.policy("s3-fifo"), capacity: .number(20), mode: mode,
                options: ReplayOptions(warmup: warmup, byUser: true))
            job.users = part
            let loaded = try job.run(over: ReplayInput(try Trace.load(path)))
            for bytes in [1 << 20, 2_000] {
                var load = TraceLoadOptions()
                load.chunkBytes = bytes
                let streamed = try #require(
                    try StreamReplay(path: path, load: load, jobs: [job]).run().runs.first)
                #expect(streamed.hits == loaded.hits && streamed.requests == loaded.requests)
                #expect(streamed.warmupRequests == loaded.warmupRequests && streamed.evictions == loaded.evictions)
                #expect(streamed.windows.reduce(0) { $0 + $1.requests } == loaded.requests)
            }
        }
    }

    @Test("A stream whose warm-up leaves nothing is refused, and so is a share")
    func streamWithoutCountedRequestsIsRefused() throws {
        let folder = try TemporaryFolder()
        let path = try folder.file("t.csv", "time,key\n1,a\n2,b\n3,a\n")
        for warmup: Warmup in [.requests(3), .time(1 << 40), 0.5] {
            let job = ReplayJob(
                policy: ConfiguredPolicy(LRU.self), capacity: .number(2), options: ReplayOptions(warmup: warmup))
            #expect(throws: ReplayError.self) { try StreamReplay(path: path, load: .init(), jobs: [job]).run() }
        }
    }

    private func rows(_ count: Int, seed: UInt64, firstTime: Int) -> [String] {
        var random = SplitMix64(seed: seed)
        return (0..<count).map { row in
            let key = min(random.next(below: 150), random.next(below: 150)) + Int(seed) * 20
            let categories = key % 3 == 0 ? "c\(key % 5)|c\(key % 2)" : "c\(key % 5)"
            return "\(firstTime + row / 2),k\(key),\(categories),u\(random.next(below: 9)),\(key % 40 + 1)"
        }
    }

    @Test("A warm-up trace is the first part of one file with one numbering", arguments: [ReplayMode.shared, .perUser])
    func warmUpTraceIsTheFirstPartOfOneFile(mode: ReplayMode) throws {
        let folder = try TemporaryFolder()
        let header = "time,key,category,user,size"
        let (early, late) = (rows(900, seed: 1, firstTime: 100), rows(1_100, seed: 2, firstTime: 5_000))
        func write(_ name: String, _ rows: [String]) throws -> String {
            try folder.file(name, ([header] + rows).joined(separator: "\n") + "\n")
        }
        var options = TraceLoadOptions()
        options.names = .all
        let first = try Trace.load(try write("a.csv", early), options)
        let second = try Trace.load(try write("b.csv", late), options)
        let whole = try Trace.load(try write("c.csv", early + late), options)
        let joined = try second.warmed(by: first)
        #expect(joined.warmupCount == 900 && joined.count == 2_000)
        #expect(
            joined.entries == whole.entries && joined.users == whole.users && joined.objectSizes == whole.objectSizes)
        #expect(Array(joined.times) == Array(whole.times) && joined.categoryCount == whole.categoryCount)
        var unmarked = joined
        unmarked.warmupCount = 0
        #expect(unmarked.fingerprint == whole.fingerprint && joined.fingerprint != whole.fingerprint)
        for policy in ["lru", "gdsf", "learned"] {
            for own: Warmup in [.none, .requests(100), 0.5, .time(100_000_000)] {
                let count = own.requests(of: second)
                func run(_ trace: Trace, _ warmup: Warmup) throws -> RunResult {
                    let job = ReplayJob(
                        policy: try PolicyCatalogue.standard.policy(policy),
                        capacity: try CapacityRequest(parsing: "5%"),
                        mode: mode, options: ReplayOptions(warmup: warmup))
                    return try job.run(over: ReplayInput(trace))
                }
                let (given, expected) = (try run(joined, own), try run(whole, .requests(900 + count)))
                #expect(given.hits == expected.hits && given.windows == expected.windows)
                #expect(given.warmupRequests == 900 + count && given.requests == 1_100 - count)
            }
        }
    }

    @Test("A warm-up trace that ends too late is moved back, and one of another unit of sizes is refused")
    func warmUpTraceThatEndsTooLateIsMovedBack() throws {
        let folder = try TemporaryFolder()
        var options = TraceLoadOptions()
        options.names = .all
        func load(_ name: String, _ text: String) throws -> Trace {
            try Trace.load(try folder.file(name, text), options)
        }
        let first = try load("a.csv", "time,key\n1000,x\n1010,y\n")
        let second = try load("b.csv", "time,key\n500,y\n520,z\n")
        let joined = try second.warmed(by: first)
        #expect(joined.times.map { $0 / 1_000_000 } == [490, 500, 500, 520] && joined.entries == [0, 1, 1, 2])
        let timeless = try load("c.csv", "key\nx\ny\n")
        #expect(Array(try timeless.warmed(by: timeless).times) == [0, 1_000_000, 2_000_000, 3_000_000])
        let sized = try load("d.csv", "time,key,size\n1,x,5\n")
        #expect(throws: TraceError.self) { try sized.warmed(by: first) }
        #expect(throws: TraceError.self) { try first.warmed(by: sized) }
        #expect(throws: TraceError.self) { try first.warmed(by: Trace.load("\(folder.path)/b.csv")) }
        #expect(try second.warmed(by: second.selection(limit: 0).trace).fingerprint == second.fingerprint)
    }
}
