import Testing

@testable import HalcyonPrefetch

@Suite("What an entry is worth that must leave for a fetch")
struct DisplacedWorthTests {
    private func isNear(_ left: Float, _ right: Double) -> Bool { abs(Double(left) - right) < 1e-6 }

    @Test("With a cache for each user: the share of those that left which the user asked for again")
    func cachesOfUsers() {
        var worth = DisplacedWorth()
        #expect(worth.chance == 0.05)
        for index in 0..<40_000 {
            worth.evicted(cost: 1)
            if index % 4 == 0 { worth.returned() }
        }
        #expect(abs(worth.regret - 0.25) < 0.001 && worth.chance == worth.regret)
        #expect(worth.byteCount == 0)
    }

    @Test("In one cache for all only who comes back within the stay of a fetch counts")
    func window() {
        var worth = DisplacedWorth()
        // Fetches that stay for 30 and 50 requests, beside one of 10 that is taken for known.
        worth.proposed(1, probability: 0, now: 100)
        worth.asked(for: 1, isHit: true, now: 130)
        worth.proposed(2, probability: 0, now: 100)
        worth.dropped(2, now: 150)
        #expect(worth.stay == 30)
        worth.evicted(7, cost: 1, now: 200)
        worth.evicted(8, cost: 1, now: 200)
        worth.evicted(9, cost: 1, now: 200)
        let left = 0.05 * 0.999 * 0.999 * 0.999
        worth.asked(for: 7, isHit: false, now: 229)
        #expect(isNear(worth.regret, left + 0.001))
        worth.asked(for: 8, isHit: false, now: 230)
        // It had been brought back ahead of need, which another fetch had made necessary.
        worth.asked(for: 9, isHit: true, now: 201)
        #expect(isNear(worth.regret, left + 0.002))
        // Nobody comes back twice.
        worth.asked(for: 7, isHit: false, now: 231)
        #expect(isNear(worth.regret, left + 0.002))
    }

    @Test("As many must leave as cost what the fetch does")
    func costs() {
        var worth = DisplacedWorth()
        #expect(worth.chance(ofCost: 3) == 3 * worth.chance, "before any has left they are taken to cost 1")
        worth.evicted(cost: 100)
        worth.evicted(cost: 300)
        #expect(isNear(worth.chance(ofCost: 400), 2 * Double(worth.chance)))
        #expect(isNear(worth.chance(ofCost: 50), Double(worth.chance) / 4))
        var free = DisplacedWorth()
        free.evicted(cost: 0)
        #expect(free.chance(ofCost: 0) == free.chance && free.chance(ofCost: 9) == free.chance)
    }

    @Test("Promises that are not kept make an entry worth more")
    func promises() {
        var worth = DisplacedWorth()
        worth.proposed(1, probability: 0.5, now: 0)
        worth.dropped(1, now: 3)
        #expect(isNear(worth.chance, 0.05 * (0.999 + 0.5) / 0.999))
        worth.proposed(2, probability: 0.5, now: 3)
        worth.asked(for: 2, isHit: true, now: 4)
        // The second was kept: nothing is missing of what was promised.
        let promised = 1.499 * 0.999 + 0.5
        let kept = (0.999 + 0.5 * 0.000_002) * 0.999 + 1
        #expect(promised < kept + 0.001 && isNear(worth.chance, 0.05 * max(1, promised / kept)))
        // Dropped twice, it counts once.
        worth.proposed(3, probability: 1, now: 5)
        worth.dropped(3, now: 6)
        let once = worth.chance
        worth.dropped(3, now: 7)
        #expect(once > 0.05 && worth.chance == once)
    }

    @Test("What was proposed and never came is no promise that was broken")
    func neverFetched() {
        var worth = DisplacedWorth()
        worth.proposed(1, probability: 0.9, now: 0)
        worth.asked(for: 1, isHit: false, now: 500)
        #expect(worth.stay == 10 && worth.chance == 0.05)
        worth.dropped(1, now: 501)
        #expect(worth.stay == 10 && worth.chance == 0.05)
    }

    @Test("Where nothing is kept it is worth a hundred times as much at most, and trust comes back")
    func trust() {
        var worth = DisplacedWorth()
        for fetch in 0..<10_000 {
            worth.proposed(1, probability: 1, now: UInt32(fetch))
            worth.dropped(1, now: UInt32(fetch) + 1)
        }
        #expect(isNear(worth.chance, 5))
        // Half of the trust that was lost is back after ln 2 times 500,000 requests.
        for request in 0..<346_574 { worth.asked(for: 5, isHit: false, now: UInt32(request)) }
        #expect(abs(worth.chance - 0.1) < 0.001, "\(worth.chance)")
    }
}
