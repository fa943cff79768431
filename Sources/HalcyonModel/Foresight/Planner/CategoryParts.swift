import HalcyonEviction

/// What the categories of a set contribute to the inputs of each object that has them, worked out once a plan.
struct CategoryPart: BitwiseCopyable {
    /// Where the members of the set lie in the list of all.
    var firstMember = 0
    var lastMember = 0
    /// Accesses to the categories a request, over all users, at the middle time scale.
    var rate: Float = 0
    /// How probably the user's next request is to one of the categories, roughly.
    var outlook: Float = 0
    var isActive: Float = 0
    var nearest: Float = 0
    var count: Float = 0
    var returns: Float = 0
    var fast: Float = 0
    var slow: Float = 0
    var logRate: Float = 0
    var transition: Float = 0
    var allReturns: Float = 0
}

/// The parts of one plan, each once. O(1) a look.
struct CategoryParts: ~Copyable {
    private var parts = HeapArray(repeating: CategoryPart(), count: CandidateList.bound)
    private var places = MarkedPlaces()
    private var count = 0
    /// The part of each candidate.
    private var ofCandidates = HeapArray<Int>(repeating: 0, count: CandidateList.bound)
    /// The places of the members of all the parts' sets among the categories.
    private var members = HeapArray<Int>(repeating: 0, count: CategoryFacts.bound)
    private var memberCount = 0
    private var facts = CategoryFacts()

    var byteCount: Int {
        parts.byteCount + places.byteCount + ofCandidates.byteCount + members.byteCount + facts.byteCount
    }

    /// The part of the `index`-th candidate, once it is complete.
    @inline(__always)
    subscript(index: Int) -> UnsafePointer<CategoryPart> { UnsafePointer(parts.base + ofCandidates[index]) }

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
        parts[count].firstMember = memberCount
        for index in 0..<min(all.count, PlannerContext.mostMembers) {
            members[memberCount] = facts.add(all[index])
            memberCount &+= 1
        }
        parts[count].lastMember = memberCount
        count &+= 1
    }

    /// Works out the parts.
    mutating func complete(
        _ context: PlannerContext, categories: borrowing PlannerCategories, users: borrowing PlannerUsers
    ) {
        facts.find(context, categories: categories, users: users)
        let weight = min(FastMath.float(context.user.requests), 72) + 8
        for index in 0..<count { complete(&parts.base[index], weight: weight) }
    }

    /// The user's history with the categories, the categories over all users, and how one leads to the next.
    @inline(__always)
    private func complete(_ part: inout CategoryPart, weight: Float) {
        var sum = CategoryFact()
        sum.age = 1 << 10
        for index in part.firstMember..<part.lastMember {
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
        part.rate = sum.rate
        part.outlook = 0.5 * (sum.slow + 8 * sum.rate) / weight + 0.5 * sum.transition
        part.isActive = sum.isActive
        part.nearest = PlannerInput.count(FastMath.float(sum.age))
        part.count = PlannerInput.count(FastMath.float(sum.count))
        part.returns = FastMath.float(sum.returns) / (1 + FastMath.float(sum.count))
        part.fast = PlannerInput.count(sum.fast * 4)
        part.slow = PlannerInput.count(sum.slow * 4)
        part.logRate = PlannerInput.rate(sum.rate)
        part.transition = PlannerInput.rate(sum.transition)
        part.allReturns =
            sum.all == 0 ? 0 : PlannerInput.count(FastMath.float(sum.allReturns) * 30 / FastMath.float(sum.all))
    }
}
