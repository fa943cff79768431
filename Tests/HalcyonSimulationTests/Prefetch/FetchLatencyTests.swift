import Foundation
import HalcyonEviction
import HalcyonExperiments
import HalcyonPrefetch
import HalcyonSupport
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

@Suite("Latency of fetches", .timeLimit(.minutes(20)))
struct FetchLatencyTests {
    private func trace(_ entries: [UInt32], at seconds: [Double], sizes: [UInt64]? = nil) -> Trace {
        var names = TraceNames()
        for object in 0..<(sizes?.count ?? Int(entries.reduce(0, max)) + 1) {
            names.keys.append(utf8: Array("\(object)".utf8))
        }
        return Trace(
            entries: entries, times: TimeColumn(seconds.map { Int64($0 * 1e6) }), users: [],
            objectSizes: sizes ?? Array(repeating: 1, count: names.keys.count), userCount: 0,
            sizeUnit: sizes == nil ? .objects : .bytes, names: names)
    }

    private func run(
        _ trace: Trace, _ latency: FetchLatency?, capacity: Int = 1_000_000_000, tiers: TierOptions? = nil
    ) throws -> RunResult {
        var options = ReplayOptions()
        options.prefetch = try PrefetchOptions(
            policy: "next-key", budget: PrefetchBudget(parsing: "1/request"), latency: latency)
        return try ReplayJob(
            policy: PolicyCatalogue.standard.policy("lru"), capacity: .number(capacity), tiers: tiers, options: options
        ).run(over: ReplayInput(trace))
    }

    @Test("By default a fetch takes 150 ms and the size over 5 MB a second")
    func defaultLatencyIs150MillisecondsPlusTransfer() throws {
        // After 0, 1 is fetched: 5 MB take 1.15 s.
        for (second, isHit) in [(1.15, false), (1.15001, true)] {
            let result = try run(trace([0, 1], at: [0, second], sizes: [1_000, 5_000_000, 1]), nil)
            #expect(result.hits == (isHit ? 1 : 0))
            #expect(result.prefetch?.late == (isHit ? 0 : 1))
            #expect(result.prefetch?.fetchLatency == 150_000 && result.prefetch?.bandwidth == 5_000_000)
            #expect(result.prefetch?.latency == "150 ms + size / (5.0 MB/s)")
        }
        // Objects that count 1 have no size.
        for (second, isHit) in [(0.15, false), (0.15001, true)] {
            #expect(try run(trace([0, 1], at: [0, second]), nil).hits == (isHit ? 1 : 0))
        }
    }

    @Test("A hit waits 0, a miss a whole fetch, a joining request the rest of one")
    func waitsAreZeroForHitsAndTheRestForJoiningRequests() throws {
        // 0 misses and fetches 1, which a request joins after 0.3 of 1 s and hits later; 5 fetches 6, which arrives in time.
        let result = try run(trace([0, 1, 1, 5, 6], at: [0, 0.3, 4, 8, 12]), .fixed(1_000_000))
        let prefetch = try #require(result.prefetch)
        #expect(result.hits == 2 && prefetch.used == 1 && prefetch.late == 1)
        #expect(abs(prefetch.meanLatency - (1_000 + 700 + 0 + 1_000 + 0) / 5) < 1e-9)
        #expect(prefetch.p99Latency == 1_000)
        // Without prefetching, only the second request for 1 is a hit.
        #expect(abs(prefetch.meanLatencyWithout - 4_000 / 5) < 1e-9 && prefetch.p99LatencyWithout == 1_000)

        // 5 MB take 1.15 s, 1 kB 150.2 ms.
        let sized = try #require(
            try run(trace([0, 2], at: [0, 9], sizes: [5_000_000, 1, 1_000, 1]), nil).prefetch)
        #expect(abs(sized.meanLatency - (1_150 + 150.2) / 2) < 1e-9)
        #expect((1_150...1_150.6).contains(sized.p99Latency))
        #expect(sized.meanLatency == sized.meanLatencyWithout)
    }

    @Test("The 99th percentile of waits is at most 0.05 % above that of a sorted list")
    func percentileIsAtMost005PercentTooHigh() {
        var generator = SeededGenerator(seed: 5)
        for count in [1, 2, 99, 100, 101, 5_000] {
            var (counts, waits) = (WaitCounts(), [Int64]())
            for _ in 0..<count {
                waits.append(Int64(generator.below(1 << generator.below(40))))
                counts.count(waits[waits.count - 1])
            }
            waits.sort()
            let exact = Double(waits[Int((0.99 * Double(count)).rounded(.up)) - 1]) / 1_000
            #expect((exact...exact * 1.0005).contains(counts.p99))
            let sum = Double(waits.reduce(0, +)) / 1_000
            #expect(abs(counts.mean * Double(count) - sum) <= 1e-9 * sum)
        }
        #expect(WaitCounts().mean == 0 && WaitCounts().p99 == 0)
    }

    @Test("A small object that was fetched later arrives before a large one")
    func smallLaterFetchArrivesBeforeALargeOne() throws {
        // The fetch of 1, of 50 MB, starts at 0 and takes 10.15 s; that of 3, of 1 kB, starts at 1 second.
        let sizes: [UInt64] = [1_000, 50_000_000, 1_000, 1_000, 1_000]
        let result = try run(trace([0, 2, 3, 1], at: [0, 1, 2, 9], sizes: sizes), nil)
        #expect(result.hits == 1 && result.prefetch?.used == 1 && result.prefetch?.late == 1)
    }

    @Test("With times in whole seconds, half a second is labelled and a second is a second")
    func latencyBelowTheResolutionIsLabelled() throws {
        let ordered = trace([0, 1, 2, 3, 4, 5, 6, 7], at: [0, 0, 0, 1, 1, 2, 3, 5])
        let half = try run(ordered, .fixed(500_000))
        // 3 after 2, 5 after 4, 6 after 5 and 7 after 6; never one of the same second.
        #expect(half.hits == 4 && half.prefetch?.late == 3)
        #expect(half.prefetch?.timeResolution == 1_000_000 && half.prefetch?.isBelowResolution == true)
        // A request that is stamped one second later may have come at once: only 7 is surely in time.
        for latency in [1_000_000, 1_001_000] as [Int64] {
            let second = try run(ordered, .fixed(latency))
            #expect(second.hits == 1 && second.prefetch?.late == 6 && second.prefetch?.isBelowResolution == false)
        }
        let ideal = try run(ordered, .ideal)
        #expect(ideal.hits == 7 && ideal.prefetch?.isBelowResolution == false && ideal.prefetch?.latency == "ideal (zero latency)")
    }

    @Test("Tiers and prefetching share one latency model, unless a latency is set")
    func tiersAndPrefetchingShareOneLatencyModel() throws {
        var tiers = TierOptions(memory: .number(1_000_000), disk: .number(100_000_000))
        tiers.latency = try LatencyModel(parsing: "network=2000,bandwidth=1MB")
        let requests = trace([0, 1], at: [0, 1], sizes: [1_000, 1_000, 1])
        let shared = try run(requests, nil, tiers: tiers)
        #expect(shared.hits == 0 && shared.prefetch?.latency == "2 s + size / (1.0 MB/s)")
        #expect(try run(requests, .fixed(999_999), tiers: tiers).hits == 1)
        #expect(shared.tiers?.costs == tiers.latency)
    }

    @Test("A latency is described with its unit and never overflows")
    func latencyIsDescribedAndNeverOverflows() throws {
        #expect(FetchLatency.fixed(1_500).description == "1.5 ms")
        #expect(FetchLatency.fixed(2_500_000).description == "2.5 s")
        let slow = FetchLatency.modelled(try LatencyModel(parsing: "network=1e9,bandwidth=1B"))
        #expect(
            slow.latency(ofObject: 0, bytes: .max) > Int64.max / 4
                && slow.latency(ofObject: 0, bytes: -5) == 1_000_000_000_000)
    }
}
