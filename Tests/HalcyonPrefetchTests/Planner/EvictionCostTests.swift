import Testing

@testable import HalcyonPrefetch

@Suite("The eviction cost of a prefetch", .timeLimit(.minutes(20)))
struct EvictionCostTests {
    private func isNear(_ left: Float, _ right: Double) -> Bool { abs(Double(left) - right) < 1e-6 }

    @Test("In per-user caches the cost is the share of evicted entries that are requested again")
    func perUserCostIsTheShareOfReRequests() {
        var cost = EvictionCost()
        #expect(cost.requiredProbability == 0.05)
        for index in 0..<40_000 {
            cost.evicted(size: 1)
            if index % 4 == 0 { cost.returned() }
        }
        #expect(abs(cost.returnRate - 0.25) < 0.001 && cost.requiredProbability == cost.returnRate)
        #expect(cost.byteCount == 0)
    }

    @Test("The first evictions weigh as much as those of the prior: 20 without a return halve the cost")
    func firstEvictionsWeighAsMuchAsThePrior() {
        var cost = EvictionCost()
        for _ in 0..<20 { cost.evicted(size: 1) }
        #expect(isNear(cost.returnRate, 0.025))
        for _ in 0..<960 { cost.evicted(size: 1) }
        #expect(abs(cost.returnRate - 0.001) < 1e-6)
        for _ in 0..<20_000 {
            cost.evicted(size: 1)
            cost.returned()
        }
        #expect(cost.returnRate <= 1 && cost.returnRate > 0.999)
    }

    @Test("In a shared cache only returns within the mean stay of a prefetch count")
    func sharedCacheCountsReturnsWithinTheMeanStay() {
        var cost = EvictionCost()
        // Prefetches with stays of 30 and 50 requests, after the prior of one with 10.
        cost.proposed(1, probability: 0, now: 100)
        cost.requested(1, isHit: true, now: 130)
        cost.proposed(2, probability: 0, now: 100)
        cost.dropped(2, now: 150)
        #expect(cost.meanStay == 30)
        cost.evicted(7, size: 1, now: 200)
        cost.evicted(8, size: 1, now: 200)
        cost.evicted(9, size: 1, now: 200)
        // The prior is one return of 20 evictions; three more are 23.
        cost.requested(7, isHit: false, now: 229)
        #expect(isNear(cost.returnRate, 2 / 23.0))
        cost.requested(8, isHit: false, now: 230)
        // It was prefetched again, because another prefetch had evicted it.
        cost.requested(9, isHit: true, now: 201)
        #expect(isNear(cost.returnRate, 3 / 23.0))
        // A return counts once.
        cost.requested(7, isHit: false, now: 231)
        #expect(isNear(cost.returnRate, 3 / 23.0))
    }

    @Test("The cost is proportional to the size")
    func costIsProportionalToTheSize() {
        var cost = EvictionCost()
        #expect(
            cost.requiredProbability(forSize: 3) == 3 * cost.requiredProbability,
            "before the first eviction the mean size is 1")
        cost.evicted(size: 100)
        cost.evicted(size: 300)
        #expect(isNear(cost.requiredProbability(forSize: 400), 2 * Double(cost.requiredProbability)))
        #expect(isNear(cost.requiredProbability(forSize: 50), Double(cost.requiredProbability) / 4))
        var free = EvictionCost()
        free.evicted(size: 0)
        #expect(
            free.requiredProbability(forSize: 0) == free.requiredProbability
                && free.requiredProbability(forSize: 9) == free.requiredProbability)
    }

    @Test("Unused prefetches raise the cost, each once")
    func unusedPrefetchesRaiseTheCost() {
        var cost = EvictionCost()
        cost.proposed(1, probability: 0.5, now: 0)
        cost.dropped(1, now: 3)
        #expect(isNear(cost.requiredProbability, 0.05 * (0.999 + 0.5) / 0.999))
        cost.proposed(2, probability: 0.5, now: 3)
        cost.requested(2, isHit: true, now: 4)
        // The second was used: the actual uses match the predicted ones.
        let predicted = 1.499 * 0.999 + 0.5
        let used = (0.999 + 0.5 * 0.000_002) * 0.999 + 1
        #expect(predicted < used + 0.001 && isNear(cost.requiredProbability, 0.05 * max(1, predicted / used)))
        // Dropped twice, it counts once.
        cost.proposed(3, probability: 1, now: 5)
        cost.dropped(3, now: 6)
        let once = cost.requiredProbability
        cost.dropped(3, now: 7)
        #expect(once > 0.05 && cost.requiredProbability == once)
    }

    @Test("A proposal that was never fetched does not count")
    func proposalThatWasNeverFetchedDoesNotCount() {
        var cost = EvictionCost()
        cost.proposed(1, probability: 0.9, now: 0)
        cost.requested(1, isHit: false, now: 500)
        #expect(cost.meanStay == 10 && cost.requiredProbability == 0.05)
        cost.dropped(1, now: 501)
        #expect(cost.meanStay == 10 && cost.requiredProbability == 0.05)
    }

    @Test("Without any use the cost is at most a hundredfold, and it recovers")
    func costWithoutUseIsBoundedAndRecovers() {
        var cost = EvictionCost()
        for fetch in 0..<10_000 {
            cost.proposed(1, probability: 1, now: UInt32(fetch))
            cost.dropped(1, now: UInt32(fetch) + 1)
        }
        #expect(isNear(cost.requiredProbability, 5))
        // Half of the gap is closed after ln 2 times 500,000 requests.
        for request in 0..<346_574 { cost.requested(5, isHit: false, now: UInt32(request)) }
        #expect(abs(cost.requiredProbability - 0.1) < 0.001, "\(cost.requiredProbability)")
    }
}
