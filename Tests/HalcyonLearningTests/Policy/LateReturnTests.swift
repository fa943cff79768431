import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("Objects that return late, predictable by their category alone", .timeLimit(.minutes(20)))
struct LateReturnTests {
    /// Objects of category 1 are requested four times, 600 to 1,399 requests apart, objects of category 2 once.
    private struct Requests {
        private(set) var accesses: [Access] = []
        /// The repeated requests for objects of category 1.
        private(set) var returns: Set<Int> = []
        /// The most objects that are still to be requested at any time.
        private(set) var mostWaiting = 0

        init(_ count: Int, seed: UInt64) {
            var random = SplitMix64(seed: seed)
            var due: [Int: [(object: Int, times: Int)]] = [:]
            var ready: [(object: Int, times: Int)] = []
            var (objects, waiting) = (0, 0)
            for now in 0..<count {
                ready += due.removeValue(forKey: now) ?? []
                var next = (object: objects, times: 0)
                var comesBack = true
                if ready.isEmpty {
                    objects += 1
                    comesBack = random.next(below: 5) == 0
                    if comesBack { (next.times, waiting) = (3, waiting + 1) }
                } else {
                    next = ready.removeFirst()
                    returns.insert(now)
                    if next.times == 0 { waiting -= 1 }
                }
                if next.times > 0 {
                    due[now + 600 + random.next(below: 800), default: []].append((next.object, next.times - 1))
                }
                mostWaiting = max(mostWaiting, waiting)
                accesses.append(
                    Access(
                        entry: EntryID(next.object), requestNumber: now, time: Int64(now) * 1_000_000,
                        categories: comesBack ? 1 : 2, user: UInt32(next.object % 50)))
            }
        }
    }

    @Test("More than nine in ten late returns are hits after the label window has grown")
    func lateReturnsAreHitsAfterTheWindowHasGrown() throws {
        let requests = Requests(30_000, seed: 5)
        let capacity = 480
        #expect(requests.mostWaiting < capacity, "the optimum hits every repeated request")
        let learned = try PolicyCatalogue.standard.policy("learned")
        let lru = try PolicyCatalogue.standard.policy("lru")
        for seed in UInt64(1)...2 {
            let context = PolicyContext(capacity: capacity, seed: seed)
            let (cache, plain) = (learned.makeCache(context), lru.makeCache(context))
            var (hits, returns, hitsOfLRU) = (0, 0, 0)
            for number in [CategorySetID(1), 2] { cache.define(categorySet: number, members: [UInt32(number)]) }
            for access in requests.accesses {
                let isHit = cache.access(access) == .hit
                if plain.access(access) == .hit { hitsOfLRU += 1 }
                if access.requestNumber < 15_000 || !requests.returns.contains(access.requestNumber) { continue }
                returns += 1
                if isHit { hits += 1 }
            }
            #expect(hitsOfLRU == 0)
            #expect(hits * 10 > returns * 9, "seed \(seed): \(hits) of \(returns)")
            #expect((cache.state.metrics.first { $0.name == "window_multiplier" }?.value ?? 0) > 1)
        }
    }
}
