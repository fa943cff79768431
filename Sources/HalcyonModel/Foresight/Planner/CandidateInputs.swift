import HalcyonEviction

/// What the network is told of the candidates of a plan: a matrix with a row for each ``PlannerInput`` and a column for each
/// candidate, so that a row is worked out in one loop without branches.
///
/// What has to be looked up is looked up for all candidates first, so that the processor waits for many places at once.
/// O(candidates).
struct CandidateInputs: ~Copyable {
    private var values = HeapArray<Float>(repeating: 0, count: CandidateList.bound * PlannerInput.width)
    private var count = 0
    private var records = HeapArray(repeating: PlannerObjects.Record(), count: CandidateList.bound)
    private var visits = PairFindings(repeating: PlannerUsers.Visit(), count: CandidateList.bound)
    private var parts = CategoryParts()
    private var scratch = HeapArray<Float>(repeating: 0, count: 2 * CandidateList.bound)

    var byteCount: Int {
        values.byteCount + records.byteCount + visits.byteCount + parts.byteCount + scratch.byteCount
    }

    /// The matrix, row by row.
    var matrix: UnsafePointer<Float> { UnsafePointer(values.base) }

    /// Writes down what the network is told of one candidate.
    @inline(__always)
    func copy(_ candidate: Int, to column: UnsafeMutablePointer<Float>) {
        for input in 0..<PlannerInput.width { column[input] = values[input &* count &+ candidate] }
    }

    /// Works out what the network is told of the candidates.
    ///
    /// - Parameter usesCategories: whether objects have categories.
    mutating func describe(
        _ candidates: borrowing CandidateList, _ context: PlannerContext, usesCategories: Bool,
        sets: borrowing CategorySetTable, objects: borrowing PlannerObjects, categories: borrowing PlannerCategories,
        users: borrowing PlannerUsers
    ) {
        count = candidates.count
        for index in 0..<count { records[index] = objects[candidates[index]] }
        visits.look(in: users.visits, UInt32(context.slot), candidates.all, count: count)
        parts.begin()
        for index in 0..<count { parts.add(usesCategories ? records[index].categories : 0, at: index, sets) }
        parts.complete(context, categories: categories, users: users)
        addSituation(context)
        addVisits(context)
        addRates(context)
        addCategories()
        addSuccession(candidates, context.user, objects)
        row(PlannerInput.used).update(repeating: 0, count: (PlannerInput.width - PlannerInput.used) * count)
    }

    @inline(__always)
    private func row(_ input: Int) -> UnsafeMutablePointer<Float> { values.base + input * count }

    // MARK: - Groups of inputs

    /// Session and time of day.
    private func addSituation(_ context: PlannerContext) {
        let (session, requests, pause, sine, cosine, one) = context.situation
        row(PlannerInput.situation).update(repeating: session, count: count)
        row(PlannerInput.situation + 1).update(repeating: requests, count: count)
        row(PlannerInput.situation + 2).update(repeating: pause, count: count)
        row(PlannerInput.situation + 3).update(repeating: sine, count: count)
        row(PlannerInput.situation + 4).update(repeating: cosine, count: count)
        row(PlannerInput.situation + 5).update(repeating: one, count: count)
    }

    /// The user's own history with the object; as if it had been long ago where there is none.
    private func addVisits(_ context: PlannerContext) {
        let (visited, rhythm) = (row(PlannerInput.visited), row(PlannerInput.rhythm))
        let (counts, ages, gaps) = (row(PlannerInput.visit), row(PlannerInput.visit + 1), row(PlannerInput.visit + 2))
        let (weights, minutes) = (row(PlannerInput.visit + 3), row(PlannerInput.visit + 4))
        let requests = context.user.requests
        for index in 0..<count {
            // Of another pair where the user has not asked for it: overwritten below.
            let visit = visits.values[index]
            counts[index] = FastMath.float(visit.count)
            ages[index] = FastMath.float(requests &- visit.last)
            gaps[index] = FastMath.float(visit.gap)
            weights[index] = visit.weight
            minutes[index] = FastMath.float(context.seconds &- visit.seconds)
            visited[index] = 1
            rhythm[index] = 0
        }
        for index in 0..<count where visits.isFound(index) && gaps[index] > 0 {
            rhythm[index] = FastMath.log2((1 + ages[index]) / (1 + gaps[index])) * 0.15
        }
        for index in 0..<count {
            weights[index] = weights[index] * FastMath.exp2(-ages[index] / PlannerUsers.objectHalfLife) * 4
        }
        for index in 0..<count { minutes[index] /= 60 }
        for index in 0..<5 * count { counts[index] = PlannerInput.count(counts[index]) }
        for index in 0..<count where !visits.isFound(index) {
            visited[index] = 0
            counts[index] = 0
            ages[index] = 1.5
            gaps[index] = 1.5
            weights[index] = 0
            minutes[index] = 0
        }
    }

    /// How popular the object is now, over all users.
    private func addRates(_ context: PlannerContext) {
        let (rates, counts) = (row(PlannerInput.rates), row(PlannerInput.counts))
        let ages = counts + 2 * count
        for index in 0..<count {
            let record = records[index]
            rates[index] = record.fast
            rates[index &+ count] = record.middle
            rates[index &+ 2 &* count] = record.slow
            rates[index &+ 3 &* count] = record.shortest
            rates[index &+ 4 &* count] = record.fastInside
            rates[index &+ 5 &* count] = record.middleInside
            counts[index] = FastMath.float(context.now &- record.first)
            counts[index &+ count] = FastMath.float(record.count)
            ages[index] = FastMath.float(context.now &- record.last)
            counts[index &+ 3 &* count] = FastMath.float(record.users)
            counts[index &+ 4 &* count] = FastMath.float(context.seconds &- record.since)
        }
        let (fast, middle, slow) = PlannerObjects.halfLives
        let (byFast, byMiddle) = (scratch.base, scratch.base + count)
        for index in 0..<count { byFast[index] = FastMath.exp2(-ages[index] / fast) / fast }
        for index in 0..<count { byMiddle[index] = FastMath.exp2(-ages[index] / middle) / middle }
        // The first two rows by one factor each, and so the last two.
        for index in 0..<2 * count { rates[index] *= byFast[index] }
        for index in 0..<2 * count { rates[index &+ 4 &* count] *= byFast[index] }
        decay(rates + 2 * count, ages, slow)
        decay(rates + 3 * count, ages, PlannerObjects.shortest)
        let minutes = counts + 4 * count
        for index in 0..<count { minutes[index] /= 60 }
        // The share in the categories needs the rate itself.
        row(PlannerInput.share).update(from: rates + count, count: count)
        for index in 0..<6 * count { rates[index] = PlannerInput.rate(rates[index]) }
        for index in 0..<5 * count { counts[index] = PlannerInput.count(counts[index]) }
    }

    /// Turns counts of so many requests ago into rates of now.
    @inline(__always)
    private func decay(_ counts: UnsafeMutablePointer<Float>, _ ages: UnsafeMutablePointer<Float>, _ halfLife: Float) {
        for index in 0..<count {
            counts[index] = counts[index] * FastMath.exp2(-ages[index] / halfLife) / halfLife
        }
    }

    /// Its categories, and its share in them.
    private func addCategories() {
        let (first, share, outlook) = (
            row(PlannerInput.category), row(PlannerInput.share), row(PlannerInput.shareOfOutlook)
        )
        let (transition, returns, rate) = (row(PlannerInput.transition), row(PlannerInput.allReturns), scratch.base)
        for index in 0..<count {
            let part = parts[index]
            first[index] = part.pointee.isActive
            first[index &+ count] = part.pointee.nearest
            first[index &+ 2 &* count] = part.pointee.count
            first[index &+ 3 &* count] = part.pointee.returns
            first[index &+ 4 &* count] = part.pointee.fast
            first[index &+ 5 &* count] = part.pointee.slow
            first[index &+ 6 &* count] = part.pointee.logRate
            transition[index] = part.pointee.transition
            returns[index] = part.pointee.allReturns
            outlook[index] = part.pointee.outlook
            rate[index] = part.pointee.rate
        }
        for index in 0..<count { share[index] /= rate[index] + 1e-7 }
        for index in 0..<count { outlook[index] = PlannerInput.rate(outlook[index] * share[index]) }
        for index in 0..<count { share[index] = PlannerInput.rate(share[index]) }
    }

    /// Whether it uses to come after the user's last objects.
    private func addSuccession(
        _ candidates: borrowing CandidateList, _ user: PlannerUsers.Record, _ objects: borrowing PlannerObjects
    ) {
        let (first, both) = (row(PlannerInput.succession), row(PlannerInput.succession + 1))
        first.update(repeating: 0, count: 2 * count)
        find(candidates, after: user.recent, objects, into: first)
        find(candidates, after: user.earlier, objects, into: both)
        for index in 0..<count { both[index] += first[index] }
        for index in 0..<2 * count { first[index] = PlannerInput.rate(first[index]) }
    }

    /// Writes how often candidates came after an object, by how often anything did.
    @inline(__always)
    private func find(
        _ candidates: borrowing CandidateList, after object: UInt32, _ objects: borrowing PlannerObjects,
        into row: UnsafeMutablePointer<Float>
    ) {
        guard object < PlannerObjects.bound else { return }
        let followed = objects[object].followed + 3
        for next in objects.successors[Int(object)] {
            if let place = candidates.place(of: next.item) { row[place] = next.score / followed }
        }
    }
}
