import HalcyonEviction

/// What the categories of a set contribute to the inputs of each object that has them, worked out once a plan: a matrix with a
/// column for each set, so that a row is worked out in one loop without branches.
///
/// O(1) a look.
struct CategoryParts: ~Copyable {
    /// The rows.
    enum Row {
        /// As they are told to the network.
        static let isActive = 0
        static let nearest = 1
        static let count = 2
        static let returns = 3
        static let fast = 4
        static let slow = 5
        static let logRate = 6
        static let transition = 7
        static let allReturns = 8
        /// Accesses to the categories a request, over all users, at the middle time scale.
        static let rate = 9
        /// How probably the user's next request is to one of the categories, roughly.
        static let outlook = 10
        static let number = 11
    }

    private var values = HeapArray<Float>(repeating: 0, count: Row.number * CandidateList.bound)
    private var whole = HeapArray<UInt32>(repeating: 0, count: 5 * CandidateList.bound)
    private var places = MarkedPlaces()
    private var count = 0
    /// The column of each candidate.
    private var ofCandidates = HeapArray<Int>(repeating: 0, count: CandidateList.bound)
    /// The places of the members of all the columns' sets among the categories, and where those of each column end.
    private var members = HeapArray<Int>(repeating: 0, count: CategoryFacts.bound)
    private var ends = HeapArray<Int>(repeating: 0, count: CandidateList.bound)
    private var memberCount = 0
    private var facts = CategoryFacts()

    var byteCount: Int {
        values.byteCount + whole.byteCount + places.byteCount + ofCandidates.byteCount + members.byteCount
            + ends.byteCount + facts.byteCount
    }

    /// Writes what a row has for each of the first `candidates` candidates, once it is complete.
    @inline(__always)
    func copy(_ row: Int, candidates: Int, to target: UnsafeMutablePointer<Float>) {
        let from = self.row(row)
        for index in 0..<candidates { target[index] = from[ofCandidates[index]] }
    }

    /// Forgets those of the plan before.
    mutating func begin() {
        places.begin()
        facts.begin()
        (count, memberCount) = (0, 0)
    }

    /// The `index`-th candidate has the categories of a set.
    @inline(__always)
    mutating func add(_ set: CategorySetID, at index: Int, _ sets: borrowing CategorySetTable) {
        let set = set < CategorySetTable.bound ? set : 0
        if let place = places.place(of: set) {
            ofCandidates[index] = place
            return
        }
        places.mark(set, at: count)
        ofCandidates[index] = count
        let all = sets[set]
        for index in 0..<min(all.count, PlannerContext.mostMembers) {
            members[memberCount] = facts.add(all[index])
            memberCount &+= 1
        }
        ends[count] = memberCount
        count &+= 1
    }

    /// Works out the columns: the user's history with the categories, the categories over all users, and how one leads to the
    /// next.
    mutating func complete(
        _ context: PlannerContext, categories: borrowing PlannerCategories, users: borrowing PlannerUsers
    ) {
        facts.find(context, categories: categories, users: users)
        var first = 0
        for index in 0..<count {
            sum(index, first: first, end: ends[index])
            first = ends[index]
        }
        let (rate, outlook, transition) = (row(Row.rate), row(Row.outlook), row(Row.transition))
        let (slow, fast) = (row(Row.slow), row(Row.fast))
        let weight = min(FastMath.float(context.user.requests), 72) + 8
        for index in 0..<count {
            outlook[index] = 0.5 * (slow[index] + 8 * rate[index]) / weight + 0.5 * transition[index]
        }
        let (nearest, counts, returns) = (row(Row.nearest), row(Row.count), row(Row.returns))
        for index in 0..<3 * count { nearest[index] = FastMath.float(whole[index]) }
        for index in 0..<count { returns[index] /= 1 + counts[index] }
        let (allReturns, all) = (row(Row.allReturns), whole.base + 4 * count)
        for index in 0..<count {
            allReturns[index] = FastMath.float(whole[index &+ 3 &* count]) * 30 / FastMath.float(max(all[index], 1))
        }
        for index in 0..<2 * count { nearest[index] = PlannerInput.count(nearest[index]) }
        for index in 0..<2 * count { fast[index] = PlannerInput.count(fast[index] * 4) }
        let logRate = row(Row.logRate)
        for index in 0..<count { logRate[index] = PlannerInput.rate(rate[index]) }
        for index in 0..<count { transition[index] = PlannerInput.rate(transition[index]) }
        for index in 0..<count {
            allReturns[index] = all[index] == 0 ? 0 : PlannerInput.count(allReturns[index])
        }
    }

    @inline(__always)
    private func row(_ row: Int) -> UnsafeMutablePointer<Float> { values.base + row * count }

    /// Sums over the members of the set of a column; the least or the most where a sum would say nothing.
    @inline(__always)
    private func sum(_ column: Int, first: Int, end: Int) {
        var sum = CategoryFact()
        sum.age = 1 << 10
        for index in first..<end {
            let fact = facts[members[index]]
            sum.all &+= fact.all
            sum.allReturns &+= fact.allReturns
            sum.rate += fact.rate
            sum.fast += fact.fast
            sum.slow += fact.slow
            sum.count &+= fact.count
            sum.returns &+= fact.returns
            sum.age = min(sum.age, fact.age)
            sum.transition = max(sum.transition, fact.transition)
            sum.isActive = max(sum.isActive, fact.isActive)
        }
        whole[column] = sum.age
        whole[column &+ count] = sum.count
        whole[column &+ 2 &* count] = sum.returns
        whole[column &+ 3 &* count] = sum.allReturns
        whole[column &+ 4 &* count] = sum.all
        let values = values.base + column
        values[Row.isActive &* count] = sum.isActive
        values[Row.fast &* count] = sum.fast
        values[Row.slow &* count] = sum.slow
        values[Row.transition &* count] = sum.transition
        values[Row.rate &* count] = sum.rate
    }
}
