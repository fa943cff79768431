import HalcyonLearning

/// Where the plans of a user that wait for their labels begin and end.
struct PlanChain: BitwiseCopyable {
    var first = UInt32.max
    var last = UInt32.max
}

/// What became of a candidate.
struct CandidateOutcome: BitwiseCopyable {
    /// The plan it is of, and its place there.
    var plan: UInt32 = 0
    var place = 0
    /// Whether the user asked for it, no sooner than it would have arrived, and whether with the first request after the plan.
    var isRequested = false
    var isNext = false
    /// Whether it was among the best and worth its price.
    var isChosen = false
    /// Whether it is learnt from.
    var isDrawn = false
}

/// Plans of whose candidates it is not known yet what becomes of them: the user asks for the object, or the horizon passes.
///
/// A ring in order of time; the plans of a user are chained, oldest first. One that is pushed out of the ring has waited so
/// long that the user has left: nobody asked. What became of a candidate is told until the next plan is added.
/// O(plans of the user × candidates) an access. Bytes: 56 a plan, and 12 and a column of inputs for each of its candidates.
struct PendingPlans: ~Copyable {
    static let bound = 1_024

    struct Plan: BitwiseCopyable {
        var user: UInt32 = 0
        /// The user's request after which it was made.
        var request: UInt32 = 0
        /// The user's last object.
        var previous = UInt32.max
        /// The user's next plan.
        var next = UInt32.max
        /// How many candidates it has.
        var count: UInt32 = 0
        /// A bit for each candidate: whether it was among the best and worth its price, whether it is learnt from if
        /// nobody asks for it, and whether it is not known yet what becomes of it.
        var chosen: UInt32 = 0
        var drawn: UInt32 = 0
        var open: UInt32 = 0
        /// How many candidates may be fetched, the first ones, and when they would arrive.
        var newCount: UInt32 = 0
        var arrival = Int64.min
        /// Whether it is on its user's chain.
        var isChained = false
    }

    private var plans = HeapArray(repeating: Plan(), count: bound)
    private var objects = HeapArray(repeating: UInt32.max, count: bound * CandidateList.bound)
    private var logits = HeapArray<Float>(repeating: 0, count: bound * CandidateList.bound)
    private var pairBiases = HeapArray<Float>(repeating: 0, count: bound * CandidateList.bound)
    private var inputs = HeapArray<Float>(repeating: 0, count: bound * CandidateList.bound * PlannerInput.width)
    /// The number of the plan that is added next.
    private(set) var nextNumber: UInt32 = 0
    private var outcomes = HeapArray(repeating: CandidateOutcome(), count: 64)
    /// How many outcomes the last ``settle(_:object:request:horizon:)`` or ``close(_:)`` found.
    private(set) var outcomeCount = 0

    var byteCount: Int {
        plans.byteCount + objects.byteCount + logits.byteCount + pairBiases.byteCount + inputs.byteCount
            + outcomes.byteCount
    }

    /// The outcomes that were found last.
    subscript(index: Int) -> CandidateOutcome {
        @inline(__always) get { outcomes[index] }
    }

    /// The logits of a plan's candidates.
    @inline(__always)
    func logits(_ number: UInt32) -> UnsafeMutablePointer<Float> {
        logits.base + Self.place(number) * CandidateList.bound
    }

    /// What the logits of a plan's candidates are greater than the network said.
    @inline(__always)
    func pairBiases(_ number: UInt32) -> UnsafeMutablePointer<Float> {
        pairBiases.base + Self.place(number) * CandidateList.bound
    }

    /// What the network was told of a plan's candidates: a matrix with a column for each.
    @inline(__always)
    func inputs(_ number: UInt32) -> UnsafeMutablePointer<Float> {
        inputs.base + Self.place(number) * CandidateList.bound * PlannerInput.width
    }

    /// The candidates of a plan.
    @inline(__always)
    func objects(_ number: UInt32) -> UnsafeMutablePointer<UInt32> {
        objects.base + Self.place(number) * CandidateList.bound
    }

    /// The user's last object when a plan was made.
    @inline(__always)
    func previous(_ number: UInt32) -> UInt32 { plans[Self.place(number)].previous }

    /// How many candidates a plan has.
    @inline(__always)
    func count(_ number: UInt32) -> Int { Int(plans[Self.place(number)].count) }

    /// The user whose first plan has to be closed before the next can be added, because it stands where that belongs.
    var expiring: UInt32? {
        let plan = plans[Self.place(nextNumber)]
        return plan.isChained ? plan.user : nil
    }

    /// Adds a plan at the end of its user's chain. Its ``inputs(_:)``, ``logits(_:)`` and ``pairBiases(_:)`` are written before, with the number
    /// ``nextNumber``. Nothing may be ``expiring``.
    ///
    /// - Parameters:
    ///   - request: the user's request after which it was made.
    ///   - previous: the user's last object.
    ///   - chosen: a bit for each candidate that was among the best and worth its price.
    ///   - drawn: a bit for each candidate that is learnt from even if nobody asks for it.
    ///   - arrival: when what is fetched with it arrives.
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
        nextNumber &+= 1
    }

    /// Finds out what is known of a user's plans at the user's request `request` for `object`, which is the last for plans that
    /// are `horizon` requests old by then.
    mutating func settle(
        _ chain: UnsafeMutablePointer<PlanChain>, object: UInt32, request: UInt32, horizon: UInt32, time: Int64 = 0
    ) {
        outcomeCount = 0
        var number = chain.pointee.first
        while number != .max {
            if let place = find(object, in: number) {
                let plan = plans[Self.place(number)]
                let isInTime = time >= plan.arrival || place >= plan.newCount
                note(place, of: number, isRequested: isInTime, isNext: isInTime && plan.request == request)
            }
            number = plans[Self.place(number)].next
        }
        // Plan and request have the same number where the one comes next after the other.
        while chain.pointee.first != .max, request &- plans[Self.place(chain.pointee.first)].request &+ 1 >= horizon {
            end(chain)
        }
    }

    /// Closes the first plan of a user: nobody asked for what is left of it.
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
        // Mostly it is none of them: seen without a branch for each.
        var isThere: UInt32 = 0
        for index in 0..<CandidateList.bound { isThere |= all[index] == object ? 1 : 0 }
        if isThere == 0 { return nil }
        return (0..<CandidateList.bound).first { all[$0] == object }
    }

    @inline(__always)
    private static func place(_ number: UInt32) -> Int { Int(number) % bound }
}
