import HalcyonEviction
import HalcyonLearning

/// What the network is told of the candidates of a plan: a matrix with a row for each ``PlannerInput`` and a column for each
/// candidate, so that a row is worked out in one loop without branches.
///
/// What has to be looked up is looked up for all candidates first, so that the processor waits for many places at once.
/// O(candidates).
struct CandidateInputs: ~Copyable {
    /// The matrix, row by row.
    private(set) var matrix: UnsafeMutablePointer<Float>
    private var count = 0
    private var records = HeapArray(repeating: PlannerObjects.Record(), count: CandidateList.bound)
    private var visits = PairFindings(repeating: PlannerUsers.Visit(), count: CandidateList.bound)
    /// How often the candidates came after the user's last object, and after the one before.
    private var afterRecent = PairFindings(repeating: Successions.Pair(), count: CandidateList.bound)
    private var afterEarlier = PairFindings(repeating: Successions.Pair(), count: CandidateList.bound)
    private var columns = CategoryColumns()
    private var scratch = HeapArray<Float>(repeating: 0, count: 4 * CandidateList.bound)
    private var whole = HeapArray<UInt32>(repeating: 0, count: 4 * CandidateList.bound)
    /// The candidates that the user has asked for before.
    private var visited = HeapArray<Int>(repeating: 0, count: CandidateList.bound)

    /// - Parameter matrix: where the inputs are written until they are wanted elsewhere.
    init(matrix: UnsafeMutablePointer<Float>) { self.matrix = matrix }

    var byteCount: Int {
        records.byteCount + visits.byteCount + afterRecent.byteCount + afterEarlier.byteCount + columns.byteCount
            + scratch.byteCount + whole.byteCount
            + visited.byteCount
    }

    /// Works out what the network is told of the candidates.
    ///
    /// - Parameters:
    ///   - matrix: where they are written.
    ///   - leanings: where the ``Successions/Pair/leaning`` of each is written.
    mutating func describe(
        _ candidates: borrowing CandidateList, _ context: PlannerContext, into matrix: UnsafeMutablePointer<Float>,
        leanings: UnsafeMutablePointer<Float>, objects: borrowing PlannerObjects,
        successions: borrowing Successions, users: inout PlannerUsers, habits: inout UserCategoryFeatures
    ) {
        self.matrix = matrix
        count = candidates.count
        for index in 0..<count { records[index] = objects[candidates[index]] }
        afterRecent.look(in: successions.pairs, context.user.recent, candidates.all, count: count)
        afterEarlier.look(in: successions.pairs, context.user.earlier, candidates.all, count: count)
        visits.look(in: users.visits, UInt32(context.slot), candidates.all, count: count)
        columns.begin(context.inhabitant, habits)
        for index in 0..<count { columns.add(records[index].categories, at: index, &habits) }
        addSituation(columns.complete(&habits))
        row(PlannerInput.onward).update(repeating: users.onward.share(after: context.user.pause) * 2 - 1, count: count)
        addFollowers(candidates, context)
        addVisits(context)
        addRates(context)
        addCategories()
        addSuccession(context, successions)
        for index in 0..<count {
            leanings[index] = afterRecent.isFound(index) ? afterRecent.values[index].leaning : 0
        }
    }

    @inline(__always)
    private func row(_ input: Int) -> UnsafeMutablePointer<Float> { matrix + input * count }

    // MARK: - Groups of inputs

    /// Session, how much the user is doing, time of day.
    private mutating func addSituation(_ told: UnsafePointer<Float>) {
        for (place, feature) in PlannerInput.activityFeatures.enumerated() {
            row(PlannerInput.activity + place).update(repeating: told[feature], count: count)
        }
        for (place, feature) in PlannerInput.timeFeatures.enumerated() {
            row(PlannerInput.time + place).update(repeating: PlannerInput.phase(told[feature]), count: count)
        }
        row(PlannerInput.one).update(repeating: 1, count: count)
    }

    /// Whether it is what the user went on to from the last object in the past, or what came after the last two over all users.
    private mutating func addFollowers(_ candidates: borrowing CandidateList, _ context: PlannerContext) {
        let (own, third) = (row(PlannerInput.own), row(PlannerInput.third))
        let (first, second, after) = (context.own.first.object, context.own.second.object, context.third.object)
        let ahead = (
            PlannerInput.count(FastMath.float(context.own.first.lead)),
            PlannerInput.count(FastMath.float(context.third.lead))
        )
        for index in 0..<count {
            let candidate = candidates[index]
            own[index] = candidate == first ? 1 + ahead.0 : candidate == second ? 0.5 : 0
            third[index] = candidate == after ? 0.5 + ahead.1 : 0
        }
    }

    /// The user's own history with the object; as if it had been long ago where there is none, as with most.
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
        // Worked out side by side, then put where they belong.
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

    /// How popular the object is now, over all users.
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

    /// Turns counts of so many requests ago into rates of now.
    @inline(__always)
    private mutating func decay(
        _ counts: UnsafeMutablePointer<Float>, _ ages: UnsafeMutablePointer<Float>, _ halfLife: Float
    ) {
        for index in 0..<count {
            counts[index] = counts[index] * FastMath.exp2(-ages[index] / halfLife) / halfLife
        }
    }

    /// Its categories, and its share in them.
    private mutating func addCategories() {
        let (habits, share, outlook) = (
            row(PlannerInput.habits), row(PlannerInput.share), row(PlannerInput.shareOfOutlook)
        )
        columns.writeHabits(candidates: count, to: habits)
        let slow = scratch.base
        columns.copyOutlook(candidates: count, to: outlook)
        columns.copySlow(candidates: count, to: slow)
        let halfLife = PlannerObjects.halfLives.2
        for index in 0..<count { share[index] *= halfLife / (slow[index] + 0.01) }
        for index in 0..<count { outlook[index] = PlannerInput.rate(outlook[index] * share[index]) }
        for index in 0..<count { share[index] = PlannerInput.rate(share[index]) }
    }

    /// Whether it uses to come after the user's last objects, and has lately.
    private mutating func addSuccession(_ context: PlannerContext, _ successions: borrowing Successions) {
        let (ever, late) = (row(PlannerInput.succession), row(PlannerInput.recentSuccession))
        let recent = successions[context.user.recent]
        row(PlannerInput.followed).update(repeating: PlannerInput.count(recent.followed), count: count)
        put(afterRecent, of: recent, now: context.now, ever: ever, late: late)
        put(
            afterEarlier, of: successions[context.user.earlier], now: context.now, ever: ever + count,
            late: late + count)
        for index in 0..<count { ever[index &+ count] += ever[index] }
        for index in 0..<count { late[index &+ count] += late[index] }
        for index in 0..<2 * count { ever[index] = PlannerInput.rate(ever[index]) }
        for index in 0..<2 * count { late[index] = PlannerInput.rate(late[index]) }
    }

    /// Writes how often candidates came after an object, by how often anything did; ever, and as of late.
    @inline(__always)
    private func put(
        _ pairs: borrowing PairFindings<Successions.Pair>, of record: Successions.Record, now: UInt32,
        ever: UnsafeMutablePointer<Float>, late: UnsafeMutablePointer<Float>
    ) {
        for index in 0..<count {
            let pair = pairs.isFound(index) ? pairs.values[index] : Successions.Pair()
            ever[index] = pair.count
            late[index] = pair.late
            whole[index] = now &- pair.last
        }
        let rest = Successions.rest(since: record.last, now: now)
        let (scale, lateScale) = (1 / (record.followed + 3), 1 / (record.late * rest + 2))
        for index in 0..<count { ever[index] *= scale }
        for index in 0..<count {
            late[index] *= FastMath.exp2(-FastMath.float(whole[index]) / Successions.halfLife) * lateScale
        }
    }
}
