import HalcyonEviction
import Testing

@testable import HalcyonLearning
@testable import HalcyonPrefetch

/// Plans beside a plain list of what waits in them.
private struct WaitingList: ~Copyable {
    /// A candidate that waits, as a list would keep it.
    private struct Waiting: Equatable {
        var plan: UInt32
        var place: Int
        var user: Int
        var object: UInt32
        var request: UInt32
        var isChosen: Bool
        var isDrawn: Bool
    }

    private static let horizon: UInt32 = 11

    var plans = PendingPlans()
    private var chains = HeapArray(repeating: PlanChain(), count: 3)
    private var waiting: [Waiting] = []
    private(set) var wrong = 0

    /// Compares the outcomes that were found last with those of the list: what was asked for, then what was given up.
    private mutating func compare(_ wanted: [Waiting], _ given: [Waiting]) {
        let due = wanted.map { ($0, true) } + given.filter { $0.isChosen || $0.isDrawn }.map { ($0, false) }
        let found = (0..<plans.outcomeCount).map { plans[$0] }
        let isRight =
            found.count == due.count
            && zip(found, due).allSatisfy { outcome, expected in
                let (waiting, isRequested) = expected
                return outcome.plan == waiting.plan && outcome.place == waiting.place
                    && outcome.isRequested == isRequested
                    && outcome.isChosen == waiting.isChosen && outcome.isDrawn == (isRequested || waiting.isDrawn)
                    && plans.objects(outcome.plan)[outcome.place] == waiting.object
                    && plans.previous(outcome.plan) == waiting.request + 7
                    && plans.inputs(outcome.plan)[outcome.place] == Float(waiting.object)
                    && plans.logits(outcome.plan)[outcome.place] == -Float(waiting.object)
            }
        if !isRight { wrong += 1 }
        waiting.removeAll { wanted.contains($0) || given.contains($0) }
    }

    mutating func settle(_ user: Int, object: UInt32, request: UInt32) {
        plans.settle(chains.base + user, object: object, request: request, horizon: Self.horizon)
        let mine = waiting.filter { $0.user == user }
        let wanted = mine.filter { $0.object == object }
        compare(wanted, mine.filter { $0.object != object && request - $0.request + 1 >= Self.horizon })
    }

    mutating func add(_ candidates: borrowing CandidateList, user: Int, request: UInt32, bits: UInt64) {
        if let owner = plans.expiring {
            let expiring = plans.nextNumber &- UInt32(PendingPlans.bound)
            plans.close(chains.base + Int(owner))
            compare([], waiting.filter { $0.plan == expiring })
        }
        let (number, chosen, drawn) = (plans.nextNumber, UInt32(truncatingIfNeeded: bits), UInt32(bits >> 32))
        for place in 0..<candidates.count {
            plans.inputs(number)[place] = Float(candidates[place])
            plans.logits(number)[place] = -Float(candidates[place])
            waiting.append(
                Waiting(
                    plan: number, place: place, user: user, object: candidates[place], request: request,
                    isChosen: chosen >> UInt32(place) & 1 == 1, isDrawn: drawn >> UInt32(place) & 1 == 1))
        }
        plans.add(
            candidates, user: UInt32(user), request: request, previous: request + 7, chosen: chosen, drawn: drawn,
            to: chains.base + user)
    }
}

@Suite("Plans that wait for their labels")
struct PendingPlansTests {
    @Test("Every candidate is labelled once: by its object's next request, by the horizon, or by leaving the ring")
    func labels() {
        var generator = SplitMix64(seed: 11)
        var requests = [UInt32](repeating: 0, count: 3)
        var candidates = CandidateList()
        var list = WaitingList()
        var expired = 0
        for _ in 0..<8_000 {
            // The third user comes so rarely that the ring overtakes it.
            let user = generator.next(below: 1_500) == 0 ? 2 : Int(generator.next(below: 2))
            list.settle(user, object: UInt32(generator.next(below: 50)), request: requests[user])
            requests[user] += 1
            candidates.begin(unused: 0)
            for _ in 0..<generator.next(below: 6) + 1 {
                candidates.add(UInt32(generator.next(below: 50)), unless: { _ in false })
            }
            if list.plans.expiring != nil { expired += 1 }
            list.add(candidates, user: user, request: requests[user], bits: generator.next())
        }
        let wrong = list.wrong
        #expect(wrong == 0)
        #expect(expired > 0)
    }
}
