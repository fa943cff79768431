import HalcyonLearning

/// The first and the last pending plan of a user.
struct PlanChain: BitwiseCopyable {
    var first = UInt32.max
    var last = UInt32.max
}

/// The outcome of a candidate.
struct CandidateOutcome: BitwiseCopyable {
    /// The plan of the candidate, and the candidate's place in it.
    var plan: UInt32 = 0
    var place = 0
    /// Whether the user requested it, no sooner than its fetch would have completed; and whether with the first
    /// request after the plan.
    var isRequested = false
    var isNext = false
    /// Whether it was selected: among the best and above the threshold.
    var isChosen = false
    /// Whether it is a training sample.
    var isDrawn = false
}

/// The plans with candidates whose outcome is not known yet: neither has the user requested them, nor has the label
/// window passed.
///
/// The plans are a ring in order of time; those of a user are chained, oldest first. A plan that is overwritten in the
/// ring is so old that its user has left: its candidates count as not requested. Outcomes are valid until the next
/// plan is added. O(plans of the user × candidates) an access. Bytes: 56 a plan, and 12 and a column of inputs for
/// each of its candidates.
struct PendingPlans: ~Copyable {
    static let bound = 1_024

    struct Plan: BitwiseCopyable {
        var user: UInt32 = 0
        /// The user's request number after which the plan was made.
        var request: UInt32 = 0
        /// The user's last object.
        var previous = UInt32.max
        /// The user's next plan.
        var next = UInt32.max
        /// The number of candidates.
        var count: UInt32 = 0
        /// A bit for each candidate: whether it was selected, whether it is a sample if it is not requested, and
        /// whether its outcome is open.
        var chosen: UInt32 = 0
        var drawn: UInt32 = 0
        var open: UInt32 = 0
        /// The number of candidates for a fetch, which come first, and the time at which a fetch would complete.
        var newCount: UInt32 = 0
        var arrival = Int64.min
        /// Whether the plan is in its user's chain.
        var isChained = false
    }

    private var plans = HeapArray(repeating: Plan(), count: bound)
    private var objects = HeapArray(repeating: UInt32.max, count: bound * CandidateList.bound)
    private var logits = HeapArray<Float>(repeating: 0, count: bound * CandidateList.bound)
    private var pairBiases = HeapArray<Float>(repeating: 0, count: bound * CandidateList.bound)
    private var inputs = HeapArray<Float>(repeating: 0, count: bound * CandidateList.bound * PlannerInput.width)
    /// The number of the plan that is added next, modulo 2³¹, so that none equals the end of a chain.
    private(set) var nextNumber: UInt32
    private var outcomes = HeapArray(repeating: CandidateOutcome(), count: 64)
    /// The number of outcomes found by the last ``settle(_:object:request:labelWindow:time:)`` or ``close(_:)``.
    private(set) var outcomeCount = 0

    /// Creates an empty ring.
    ///
    /// - Parameter first: the number of the first plan, a multiple of ``bound``.
    init(first: UInt32 = 0) { nextNumber = first }

    var byteCount: Int {
        plans.byteCount + objects.byteCount + logits.byteCount + pairBiases.byteCount + inputs.byteCount
            + outcomes.byteCount
    }

    /// The outcomes that were found last.
    subscript(index: Int) -> CandidateOutcome {
        @inline(__always) get { outcomes[index] }
    }

    /// Returns the logits of a plan's candidates.
    @inline(__always)
    func logits(_ number: UInt32) -> UnsafeMutablePointer<Float> {
        logits.base + Self.place(number) * CandidateList.bound
    }

    /// Returns the pair biases that are part of the logits of a plan's candidates.
    @inline(__always)
    func pairBiases(_ number: UInt32) -> UnsafeMutablePointer<Float> {
        pairBiases.base + Self.place(number) * CandidateList.bound
    }

    /// Returns the network's inputs for a plan's candidates: a matrix with a column for each.
    @inline(__always)
    func inputs(_ number: UInt32) -> UnsafeMutablePointer<Float> {
        inputs.base + Self.place(number) * CandidateList.bound * PlannerInput.width
    }

    /// Returns the candidates of a plan.
    @inline(__always)
    func objects(_ number: UInt32) -> UnsafeMutablePointer<UInt32> {
        objects.base + Self.place(number) * CandidateList.bound
    }

    /// Returns the user's last object when a plan was made.
    @inline(__always)
    func previous(_ number: UInt32) -> UInt32 { plans[Self.place(number)].previous }

    /// Returns the number of candidates of a plan.
    @inline(__always)
    func count(_ number: UInt32) -> Int { Int(plans[Self.place(number)].count) }

    /// The user whose first plan must be closed before the next plan is added, because it occupies that place.
    var expiring: UInt32? {
        let plan = plans[Self.place(nextNumber)]
        return plan.isChained ? plan.user : nil
    }

    /// Adds a plan at the end of its user's chain. The caller has written its ``inputs(_:)``, ``logits(_:)`` and
    /// ``pairBiases(_:)`` with the number ``nextNumber``. No plan may be ``expiring``.
    ///
    /// - Parameters:
    ///   - request: the user's request number after which it was made.
    ///   - previous: the user's last object.
    ///   - chosen: a bit for each selected candidate.
    ///   - drawn: a bit for each candidate that is a sample even if it is not requested.
    ///   - arrival: the time at which its fetches would complete; `Int64.min` for fetches that take no time. They
    ///     serve later requests.
    mutating func add(
        _ candidates: borrowing CandidateList, user: UInt32, request: UInt32, previous: UInt32, chosen: UInt32,
        drawn: UInt32, arrival: Int64 = .min, to chain: UnsafeMutablePointer<PlanChain>
    ) {
        let (place, count) = (Self.place(nextNumber), candidates.count)
        plans[place] = Plan(
            user: user, request: request, previous: previous, count: UInt32(count), chosen: chosen, drawn: drawn,
            open: UInt32.max >> UInt32(32 - count), newCount: UInt32(candidates.newCount), arrival: arrival,
            isChained: true)
        let all = objects(nextNumber)
        all.update(from: candidates.all, count: count)
        (all + count).update(repeating: .max, count: CandidateList.bound - count)
        if chain.pointee.last == .max {
            chain.pointee.first = nextNumber
        } else {
            plans[Self.place(chain.pointee.last)].next = nextNumber
        }
        chain.pointee.last = nextNumber
        nextNumber = (nextNumber &+ 1) & (1 << 31 - 1)
    }

    /// Finds the outcomes of a user's plans at the user's request number `request`, for `object`. Ends plans that are
    /// then `labelWindow` requests old.
    mutating func settle(
        _ chain: UnsafeMutablePointer<PlanChain>, object: UInt32, request: UInt32, labelWindow: UInt32, time: Int64 = 0
    ) {
        outcomeCount = 0
        var number = chain.pointee.first
        while number != .max {
            if let place = find(object, in: number) {
                let plan = plans[Self.place(number)]
                let isInTime = time > plan.arrival || place >= plan.newCount
                note(place, of: number, isRequested: isInTime, isNext: isInTime && plan.request == request)
            }
            number = plans[Self.place(number)].next
        }
        // A plan and the request after it have the same number.
        while chain.pointee.first != .max, request &- plans[Self.place(chain.pointee.first)].request &+ 1 >= labelWindow
        {
            end(chain)
        }
    }

    /// Ends the first plan of a user: its open candidates were not requested.
    mutating func close(_ chain: UnsafeMutablePointer<PlanChain>) {
        outcomeCount = 0
        end(chain)
    }

    private mutating func end(_ chain: UnsafeMutablePointer<PlanChain>) {
        let number = chain.pointee.first
        let plan = plans[Self.place(number)]
        var left = plan.open & (plan.drawn | plan.chosen)
        while left != 0 {
            note(left.trailingZeroBitCount, of: number, isRequested: false)
            left &= left &- 1
        }
        plans[Self.place(number)].isChained = false
        chain.pointee.first = plan.next
        if plan.next == .max { chain.pointee.last = .max }
    }

    private mutating func note(_ place: Int, of number: UInt32, isRequested: Bool, isNext: Bool = false) {
        let (slot, bit) = (Self.place(number), UInt32(1) << UInt32(place))
        guard plans[slot].open & bit != 0 else { return }
        plans[slot].open &= ~bit
        if !isRequested && (plans[slot].drawn | plans[slot].chosen) & bit == 0 { return }
        if outcomeCount == outcomes.count { outcomes.grow(to: outcomeCount * 2, filling: CandidateOutcome()) }
        outcomes[outcomeCount] = CandidateOutcome(
            plan: number, place: place, isRequested: isRequested, isNext: isNext,
            isChosen: plans[slot].chosen & bit != 0,
            isDrawn: isRequested || plans[slot].drawn & bit != 0)
        outcomeCount += 1
    }

    @inline(__always)
    private func find(_ object: UInt32, in number: UInt32) -> Int? {
        let all = objects(number)
        // Usually it is none of them, which this loop finds out without a branch for each.
        var isThere: UInt32 = 0
        for index in 0..<CandidateList.bound { isThere |= all[index] == object ? 1 : 0 }
        if isThere == 0 { return nil }
        return (0..<CandidateList.bound).first { all[$0] == object }
    }

    @inline(__always)
    private static func place(_ number: UInt32) -> Int { Int(number) % bound }
}
