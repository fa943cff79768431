import HalcyonEviction
import Testing

@testable import HalcyonPrefetch

@Suite("Successor statistics", .timeLimit(.minutes(20)))
struct SuccessorStatisticsTests {
    @Test(
        "Pairs count whole at distance one and half at two, ever and with a half-life"
    )
    func pairsCountFullyAtOnceAndHalfAtDistanceTwo() throws {
        var successors = SuccessorStatistics()
        successors.note(5, after: 3, distance: 1, now: 10)
        successors.note(5, after: 3, distance: 2, now: 2_010)
        successors.note(4, after: 3, distance: 1, now: 4_010)
        successors.note(3, after: 3, distance: 1, now: 4_020)
        let pair = try #require(successors.pairs.value(3, 5)?.pointee)
        #expect(pair.count == 1.5 && pair.last == 2_010)
        #expect(abs(pair.late - 1) < 0.001)
        #expect(successors[3].followed == 2 && successors[3].last == 4_010)
        #expect(abs(successors[3].late - 1.25) < 0.001)
        #expect(successors.ever[3].prefix(3).map(\.item) == [5, 4, .max])
        #expect(successors.late[3].prefix(3).map(\.item) == [4, 5, .max])
        #expect(successors.pairs.value(3, 3) == nil, "an object is not its own successor")
        #expect(successors.pairs.value(5, 3) == nil)
        #expect(successors[5].followed == 0 && successors[.max].followed == 0)
    }

    @Test("The bias is labels minus probabilities, over information plus 4; only for counted pairs")
    func biasIsTheResidualOverTheInformation() throws {
        var successors = SuccessorStatistics()
        successors.note(5, after: 3, probability: 0.5, isPositive: true)
        #expect(successors.pairs.value(3, 5) == nil)
        successors.note(5, after: 3, distance: 1, now: 10)
        #expect(try #require(successors.pairs.value(3, 5)?.pointee).bias == 0)
        successors.note(5, after: 3, probability: 0.5, isPositive: true)
        #expect(try #require(successors.pairs.value(3, 5)?.pointee).bias == 0.5 / 4.25)
        successors.note(5, after: 3, probability: 0.5, isPositive: false)
        let bias = try #require(successors.pairs.value(3, 5)?.pointee).bias
        #expect(abs(bias - (0.5 * 0.99 - 0.5) / (0.25 * 0.99 + 0.25 + 4)) < 1e-6)
    }

    @Test(
        "At 40 % observed and 20 % predicted the bias approaches the difference of the logits")
    func biasApproachesTheDifferenceOfLogits() throws {
        var successors = SuccessorStatistics()
        successors.note(5, after: 3, distance: 1, now: 10)
        var sum: Float = 0
        for round in 0..<6_000 {
            successors.note(5, after: 3, probability: 0.2, isPositive: round % 5 < 2)
            if round >= 1_000 { sum += try #require(successors.pairs.value(3, 5)?.pointee).bias / 5_000 }
        }
        // ln(0.4 / 0.6) − ln(0.2 / 0.8) = 0.981; one step of Newton's method from so far goes to 0.2 / (0.16 + 0.04).
        #expect(abs(sum - 1) < 0.01)
    }

    @Test("A candidate's logit is the network's plus the bias of the pair with the user's last object")
    func logitIsTheNetworksPlusTheBias() {
        var state = WithinVisit(PlannerParameters(), PrefetchContext())
        var generator = SplitMix64(seed: 5)
        var object: UInt32 = 0
        var (biased, wrong) = (0, 0)
        for index in 0..<12_000 {
            // One of the next three, or any object.
            let step = UInt32(generator.next(below: 4))
            object = step == 3 ? UInt32(generator.next(below: 40)) : (object + 1 + step) % 40
            let access = Access(entry: object, requestNumber: index, time: Int64(index) * 1_000_000, user: 1)
            state.note(access, isHit: false)
            var plan = PrefetchPlan()
            state.plan(after: access, outlook: PrefetchOutlook(limit: 2, room: .max) { $0 == object }, into: &plan)
            if index % 100 < 99 { continue }
            let count = state.candidates.count
            var predicted = [Float](repeating: 0, count: CandidateList.bound)
            state.trainer.predict(state.inputs.matrix, count: count, logits: &predicted)
            let logits = state.plans.logits(state.plans.nextNumber - 1)
            for place in 0..<count {
                let bias = state.successors.pairs.value(object, state.candidates[place])?.pointee.bias ?? 0
                if abs(bias) > 0.01 { biased += 1 }
                if abs(logits[place] - predicted[place] - bias) > 1e-4 { wrong += 1 }
            }
        }
        #expect(wrong == 0)
        #expect(biased > 100, "\(biased) biases")
    }

    @Test("Counts are halved before a Float no longer counts single successors, and keep their ratios")
    func halvedCountsKeepTheirRatios() throws {
        var small = SuccessorStatistics()
        var large = SuccessorStatistics()
        small.mostFollowed = 64
        for request in UInt32(0)..<3_000 {
            // 2 follows 1 three times out of four, 3 once.
            let next: UInt32 = request % 4 == 0 ? 3 : 2
            small.note(next, after: 1, distance: 1, now: request)
            large.note(next, after: 1, distance: 1, now: request)
        }
        let followed = small[1].followed
        #expect((32...64).contains(followed))
        for (next, share) in [(UInt32(2), Float(0.75)), (3, 0.25)] {
            let halved = try #require(small.pairs.value(1, next)?.pointee.count)
            #expect(abs(halved / followed - share) < 0.02)
            let whole = try #require(large.pairs.value(1, next)?.pointee.count)
            #expect(whole / large[1].followed == share)
        }
        let order = small.ever[1].prefix(2).map(\.item)
        #expect(order == [2, 3] && Float(0x1p24) + 1 == 0x1p24)
    }
}
