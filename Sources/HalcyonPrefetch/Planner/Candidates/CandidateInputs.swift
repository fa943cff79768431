import HalcyonEviction
import HalcyonLearning

/// The network's inputs for the candidates of a plan: a matrix with a row for each ``PlannerInput`` and a column for
/// each candidate. So one loop without branches computes each row.
///
/// All records are looked up first, so that the processor waits for many cache lines at once. O(candidates).
struct CandidateInputs: ~Copyable {
    /// The matrix, row by row.
    private(set) var matrix: UnsafeMutablePointer<Float>
    private var count = 0
    private var records = HeapArray(repeating: PlannerObjects.Record(), count: CandidateList.bound)
    private var visits = PairLookup(repeating: PlannerUsers.Visit(), count: CandidateList.bound)
    /// The pairs of the user's last object, and of the one before, with each candidate.
    private var afterRecent = PairLookup(repeating: SuccessorStatistics.Pair(), count: CandidateList.bound)
    private var afterEarlier = PairLookup(repeating: SuccessorStatistics.Pair(), count: CandidateList.bound)
    private var categoryInputs = CategoryInputs()
    private var scratch = HeapArray<Float>(repeating: 0, count: 4 * CandidateList.bound)
    private var whole = HeapArray<UInt32>(repeating: 0, count: 4 * CandidateList.bound)
    /// The indices of the candidates that the user has requested before.
    private var visited = HeapArray<Int>(repeating: 0, count: CandidateList.bound)

    /// Creates the buffers.
    ///
    /// - Parameter matrix: the destination of the inputs until a call states another.
    init(matrix: UnsafeMutablePointer<Float>) { self.matrix = matrix }

    var byteCount: Int {
        records.byteCount + visits.byteCount + afterRecent.byteCount + afterEarlier.byteCount + categoryInputs.byteCount
            + scratch.byteCount + whole.byteCount
            + visited.byteCount
    }

    /// Computes the inputs of the candidates.
    ///
    /// - Parameters:
    ///   - matrix: the destination of the inputs.
    ///   - pairBiases: the destination of the ``SuccessorStatistics/Pair/bias`` of each candidate.
    mutating func describe(
        _ candidates: borrowing CandidateList, _ context: PlannerContext, into matrix: UnsafeMutablePointer<Float>,
        pairBiases: UnsafeMutablePointer<Float>, objects: borrowing PlannerObjects,
        successors: borrowing SuccessorStatistics, users: inout PlannerUsers, habits: inout UserCategoryFeatures
    ) {
        self.matrix = matrix
        count = candidates.count
        for index in 0..<count { records[index] = objects[candidates[index]] }
        afterRecent.find(in: successors.pairs, context.user.recent, candidates.all, count: count)
        afterEarlier.find(in: successors.pairs, context.user.earlier, candidates.all, count: count)
        visits.find(in: users.visits, UInt32(context.slot), candidates.all, count: count)
        categoryInputs.begin(context.featureUserID, habits)
        for index in 0..<count { categoryInputs.add(records[index].categories, at: index, &habits) }
        addUserAndTime(categoryInputs.complete(&habits))
        row(PlannerInput.continuation).update(
            repeating: users.continuation.probability(after: context.user.pause) * 2 - 1, count: count)
        addLikelySuccessors(candidates, context)
        addVisits(context)
        addRates(context)
        addCategories()
        addSuccessorCounts(context, successors)
        for index in 0..<count {
            pairBiases[index] = afterRecent.isFound(index) ? afterRecent.values[index].bias : 0
        }
    }

    @inline(__always)
    private func row(_ input: Int) -> UnsafeMutablePointer<Float> { matrix + input * count }

    // MARK: - Groups of inputs

    /// Writes the length of the session, the activity of the user and the time of day.
    private mutating func addUserAndTime(_ features: UnsafePointer<Float>) {
        for (place, feature) in PlannerInput.activityFeatures.enumerated() {
            row(PlannerInput.activity + place).update(repeating: features[feature], count: count)
        }
        for (place, feature) in PlannerInput.timeFeatures.enumerated() {
            row(PlannerInput.time + place).update(repeating: PlannerInput.phase(features[feature]), count: count)
        }
        row(PlannerInput.one).update(repeating: 1, count: count)
    }

    /// Writes whether each candidate is a likely successor, for the user or over all users.
    private mutating func addLikelySuccessors(_ candidates: borrowing CandidateList, _ context: PlannerContext) {
        let (own, third) = (row(PlannerInput.ownSuccessor), row(PlannerInput.secondOrderSuccessor))
        let (first, second, after) = (
            context.ownSuccessors.first.object, context.ownSuccessors.second.object, context.secondOrderSuccessor.object
        )
        let ahead = (
            PlannerInput.count(FastMath.float(context.ownSuccessors.first.lead)),
            PlannerInput.count(FastMath.float(context.secondOrderSuccessor.lead))
        )
        for index in 0..<count {
            let candidate = candidates[index]
            own[index] = candidate == first ? 1 + ahead.0 : candidate == second ? 0.5 : 0
            third[index] = candidate == after ? 0.5 + ahead.1 : 0
        }
    }

    /// Writes the user's own history with each object. Most objects have none; that is written as if it were long ago.
    private mutating func addVisits(_ context: PlannerContext) {
        row(PlannerInput.visited).update(repeating: 0, count: 2 * count)
        row(PlannerInput.visit + 1).update(repeating: 1.5, count: count)
        row(PlannerInput.visit + 2).update(repeating: 0, count: 2 * count)
        var found = 0
        for index in 0..<count where visits.isFound(index) {
            visited[found] = index
            found &+= 1
        }
        if found == 0 { return }
        // Computed side by side, then scattered to their columns.
        let numbers = scratch.base
        let (ages, weights, minutes) = (numbers + found, numbers + 2 * found, numbers + 3 * found)
        let requests = context.user.requests
        for place in 0..<found {
            let visit = visits.values[visited[place]]
            whole[place] = visit.count
            whole[place &+ found] = requests &- visit.last
            whole[place &+ 2 &* found] = context.seconds &- visit.seconds
            weights[place] = visit.weight
        }
        for place in 0..<2 * found { numbers[place] = FastMath.float(whole[place]) }
        for place in 0..<found { minutes[place] = FastMath.float(whole[place &+ 2 &* found]) / 60 }
        for place in 0..<found {
            weights[place] = weights[place] * FastMath.exp2(-ages[place] / PlannerUsers.objectHalfLife) * 4
        }
        for place in 0..<4 * found { numbers[place] = PlannerInput.count(numbers[place]) }
        for place in 0..<found {
            let column = row(PlannerInput.visited) + visited[place]
            column.pointee = 1
            for input in 0..<4 { column[(input &+ 1) &* count] = numbers[input &* found &+ place] }
        }
    }

    /// Writes the current popularity of each object over all users.
    private mutating func addRates(_ context: PlannerContext) {
        let (rates, counts) = (row(PlannerInput.rates), row(PlannerInput.counts))
        let ages = scratch.base
        for index in 0..<count {
            let record = records[index]
            rates[index] = record.fast
            rates[index &+ count] = record.middle
            rates[index &+ 2 &* count] = record.slow
            rates[index &+ 3 &* count] = record.middleInside
            whole[index] = context.now &- record.first
            whole[index &+ count] = record.users
            whole[index &+ 2 &* count] = context.seconds &- record.since
            whole[index &+ 3 &* count] = context.now &- record.last
        }
        for index in 0..<3 * count { counts[index] = FastMath.float(whole[index]) }
        for index in 0..<count { ages[index] = FastMath.float(whole[index &+ 3 &* count]) }
        let (fast, middle, slow) = PlannerObjects.halfLives
        decay(rates, ages, fast)
        decay(rates + 2 * count, ages, slow)
        let byMiddle = ages + count
        for index in 0..<count { byMiddle[index] = FastMath.exp2(-ages[index] / middle) / middle }
        for index in 0..<count { rates[index &+ count] *= byMiddle[index] }
        for index in 0..<count { rates[index &+ 3 &* count] *= byMiddle[index] }
        let minutes = counts + 2 * count
        for index in 0..<count { minutes[index] /= 60 }
        // The share in the categories needs the rate itself.
        row(PlannerInput.share).update(from: rates + 2 * count, count: count)
        for index in 0..<4 * count { rates[index] = PlannerInput.rate(rates[index]) }
        for index in 0..<3 * count { counts[index] = PlannerInput.count(counts[index]) }
    }

    /// Scales decayed counts of `ages` requests ago to current rates.
    @inline(__always)
    private mutating func decay(
        _ counts: UnsafeMutablePointer<Float>, _ ages: UnsafeMutablePointer<Float>, _ halfLife: Float
    ) {
        for index in 0..<count {
            counts[index] = counts[index] * FastMath.exp2(-ages[index] / halfLife) / halfLife
        }
    }

    /// Writes the categories of each object, and its share in them.
    private mutating func addCategories() {
        let (habits, share, outlook) = (
            row(PlannerInput.habits), row(PlannerInput.share), row(PlannerInput.shareOfOutlook)
        )
        categoryInputs.writeHabits(candidates: count, to: habits)
        let slow = scratch.base
        categoryInputs.copyOutlook(candidates: count, to: outlook)
        categoryInputs.copySlow(candidates: count, to: slow)
        let halfLife = PlannerObjects.halfLives.2
        for index in 0..<count { share[index] *= halfLife / (slow[index] + 0.01) }
        for index in 0..<count { outlook[index] = PlannerInput.rate(outlook[index] * share[index]) }
        for index in 0..<count { share[index] = PlannerInput.rate(share[index]) }
    }

    /// Writes how often and how recently each candidate succeeded the user's last objects.
    private mutating func addSuccessorCounts(_ context: PlannerContext, _ successors: borrowing SuccessorStatistics) {
        let (ever, late) = (row(PlannerInput.succession), row(PlannerInput.recentSuccession))
        let recent = successors[context.user.recent]
        row(PlannerInput.followed).update(repeating: PlannerInput.count(recent.followed), count: count)
        put(afterRecent, of: recent, now: context.now, ever: ever, late: late)
        put(
            afterEarlier, of: successors[context.user.earlier], now: context.now, ever: ever + count,
            late: late + count)
        for index in 0..<count { ever[index &+ count] += ever[index] }
        for index in 0..<count { late[index &+ count] += late[index] }
        for index in 0..<2 * count { ever[index] = PlannerInput.rate(ever[index]) }
        for index in 0..<2 * count { late[index] = PlannerInput.rate(late[index]) }
    }

    /// Writes the number of times that candidates succeeded an object, relative to all its successors: of all time,
    /// and recent.
    @inline(__always)
    private func put(
        _ pairs: borrowing PairLookup<SuccessorStatistics.Pair>, of record: SuccessorStatistics.Record, now: UInt32,
        ever: UnsafeMutablePointer<Float>, late: UnsafeMutablePointer<Float>
    ) {
        for index in 0..<count {
            let pair = pairs.isFound(index) ? pairs.values[index] : SuccessorStatistics.Pair()
            ever[index] = pair.count
            late[index] = pair.late
            whole[index] = now &- pair.last
        }
        let rest = SuccessorStatistics.rest(since: record.last, now: now)
        let (scale, lateScale) = (1 / (record.followed + 3), 1 / (record.late * rest + 2))
        for index in 0..<count { ever[index] *= scale }
        for index in 0..<count {
            late[index] *= FastMath.exp2(-FastMath.float(whole[index]) / SuccessorStatistics.halfLife) * lateScale
        }
    }
}

/// The inputs of the planner's network by number.
enum PlannerInput {
    static let width = 40

    /// The length of the session and the requests of the user, as in the eviction model.
    static let activity = 0
    static let activityFeatures = Feature.sessionLength...Feature.userAccesses
    /// The time of day as in the eviction model, but centred on 0 and with a smaller weight.
    static let time = 2
    static let timeFeatures = Feature.dayPhase...Feature.dayQuadrature
    static let one = 4
    /// Whether the user has requested the object before. Then: count, requests since, decayed count, minutes since.
    static let visited = 5
    static let visit = 6
    /// The object's rates at three time scales, and at one without the first requests of users.
    static let rates = 10
    /// The requests since the first access, the number of users, the minutes since the object exists.
    static let counts = 14
    /// The categories as in the eviction model: their use by all users and by this user, whether they are active, and
    /// whether they usually follow.
    static let habits = 17
    static let habitFeatures = Array(Feature.userCategory) + Array(Feature.session)
    /// The object's share in its categories, and that of the user's expected requests for them.
    static let share = 30
    static let shareOfOutlook = 31
    /// How often the object succeeds the user's last object, and the last two.
    static let succession = 32
    /// The same for recent requests.
    static let recentSuccession = 34
    /// How often the user's last object had a successor: the reliability of the last four inputs.
    static let followed = 36
    /// How often users continue after a pause like the user's last: −1 never, 1 always.
    static let continuation = 37
    /// Whether the object is the user's own likely successor of the last object (``MajoritySuccessor``), plus a term
    /// for its lead; ½ for the likely successor of that.
    static let ownSuccessor = 38
    /// Whether the object is the likely successor of the user's last two objects over all users, plus a term for its
    /// lead.
    static let secondOrderSuccessor = 39

    // MARK: - Scales of the planner's own inputs: most are logarithms scaled to about ±1.

    /// Returns an input of ``time`` from the feature of the eviction model.
    @inline(__always)
    static func phase(_ feature: Float) -> Float { (feature - 1) * 0.15 }

    /// Returns the input for a count or a distance.
    @inline(__always)
    static func count(_ value: Float) -> Float { FastMath.log2(1 + value) * 0.15 }

    /// Returns the input for a rate or a share, which may be very small.
    @inline(__always)
    static func rate(_ value: Float) -> Float { (FastMath.log2(value + 1e-6) + 10) * 0.1 }
}

/// The values of many pairs with the same first number, looked up together.
struct PairLookup<Value: BitwiseCopyable>: ~Copyable {
    /// The values found by the last lookup, in the order of the pairs; undefined for pairs without a value.
    private(set) var values: HeapArray<Value>
    private var found: HeapArray<Bool>

    /// Creates buffers for `count` pairs.
    init(repeating fill: Value, count: Int) {
        values = HeapArray(repeating: fill, count: count)
        found = HeapArray(repeating: false, count: count)
    }

    var byteCount: Int { values.byteCount + found.byteCount }

    /// Looks up the pairs of `first` with each of `seconds`, at most as many as the buffers hold.
    @inline(__always)
    mutating func find(
        in rows: borrowing PairRows<Value>, _ first: UInt32, _ seconds: UnsafePointer<UInt32>, count: Int
    ) {
        let row = rows[first]
        for index in 0..<count {
            let value = rows.value(seconds[index], in: row)
            found[index] = value != nil
            if let value { values[index] = value.pointee }
        }
    }

    /// Returns whether the `index`-th pair has a value.
    @inline(__always)
    func isFound(_ index: Int) -> Bool { found[index] }
}
