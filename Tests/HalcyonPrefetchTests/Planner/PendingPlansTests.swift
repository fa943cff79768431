import HalcyonEviction
import Testing

@testable import HalcyonLearning
@testable import HalcyonPrefetch

/// Pending plans beside a plain list of their open candidates.
private struct OpenCandidates: ~Copyable {
    /// An open candidate of the list.
    private struct OpenCandidate: Equatable {
        var plan: UInt32
        var place: Int
        var user: Int
        var object: UInt32
        var request: UInt32
        var isChosen: Bool
        var isDrawn: Bool
    }

    private static let labelWindow: UInt32 = 11

    var plans = PendingPlans()
    private var chains = HeapArray(repeating: PlanChain(), count: 3)
    private var open: [OpenCandidate] = []
    private(set) var wrong = 0

    /// Compares the outcomes that were found last with those of the list: requested candidates, then those of ended
    /// plans.
    private mutating func compare(_ requested: [OpenCandidate], _ ended: [OpenCandidate]) {
        let due = requested.map { ($0, true) } + ended.filter { $0.isChosen || $0.isDrawn }.map { ($0, false) }
        let found = (0..<plans.outcomeCount).map { plans[$0] }
        let isRight =
            found.count == due.count
            && zip(found, due).allSatisfy { outcome, expected in
                let (open, isRequested) = expected
                return outcome.plan == open.plan && outcome.place == open.place
                    && outcome.isRequested == isRequested
                    && outcome.isChosen == open.isChosen && outcome.isDrawn == (isRequested || open.isDrawn)
                    && plans.objects(outcome.plan)[outcome.place] == open.object
                    && plans.previous(outcome.plan) == open.request + 7
                    && plans.inputs(outcome.plan)[outcome.place] == Float(open.object)
                    && plans.logits(outcome.plan)[outcome.place] == -Float(open.object)
            }
        if !isRight { wrong += 1 }
        open.removeAll { requested.contains($0) || ended.contains($0) }
    }

    mutating func settle(_ user: Int, object: UInt32, request: UInt32) {
        plans.settle(chains.base + user, object: object, request: request, labelWindow: Self.labelWindow)
        let mine = open.filter { $0.user == user }
        let requested = mine.filter { $0.object == object }
        compare(requested, mine.filter { $0.object != object && request - $0.request + 1 >= Self.labelWindow })
    }

    mutating func add(_ candidates: borrowing CandidateList, user: Int, request: UInt32, bits: UInt64) {
        if let owner = plans.expiring {
            let expiring = plans.nextNumber &- UInt32(PendingPlans.bound)
            plans.close(chains.base + Int(owner))
            compare([], open.filter { $0.plan == expiring })
        }
        let (number, chosen, drawn) = (plans.nextNumber, UInt32(truncatingIfNeeded: bits), UInt32(bits >> 32))
        for place in 0..<candidates.count {
            plans.inputs(number)[place] = Float(candidates[place])
            plans.logits(number)[place] = -Float(candidates[place])
            open.append(
                OpenCandidate(
                    plan: number, place: place, user: user, object: candidates[place], request: request,
                    isChosen: chosen >> UInt32(place) & 1 == 1, isDrawn: drawn >> UInt32(place) & 1 == 1))
        }
        plans.add(
            candidates, user: UInt32(user), request: request, previous: request + 7, chosen: chosen, drawn: drawn,
            to: chains.base + user)
    }
}

@Suite("Pending plans", .timeLimit(.minutes(20)))
struct PendingPlansTests {
    @Test("Every candidate is labelled once: by a request, the label window or the end of the ring")
    func everyCandidateIsLabelledOnce() {
        var generator = SplitMix64(seed: 11)
        var requests = [UInt32](repeating: 0, count: 3)
        var candidates = CandidateList()
        var list = OpenCandidates()
        var expired = 0
        for _ in 0..<8_000 {
            // The third user has so few requests that the ring overwrites its plans.
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
