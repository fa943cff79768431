import HalcyonEviction

/// What is known of one category at one plan.
struct CategoryFact: BitwiseCopyable {
    /// Accesses over all users, and those to objects that the user had asked for before.
    var all: UInt32 = 0
    var allReturns: UInt32 = 0
    /// Accesses a request, at the middle time scale.
    var rate: Float = 0
    /// The user's accesses, decayed, and plain; as with all users.
    var fast: Float = 0
    var slow: Float = 0
    var count: UInt32 = 0
    var returns: UInt32 = 0
    /// The user's requests since the last.
    var age = UInt32.max
    /// The share of times that it came after a category of the user's last request.
    var transition: Float = 0
    /// 1 if it is a category of the user's last request.
    var isActive: Float = 0
}

/// What is known of the categories of one plan's candidates, each once, all looked up together.
struct CategoryFacts: ~Copyable {
    /// The most categories of a plan.
    static let bound = CandidateList.bound * PlannerContext.mostMembers

    private var facts = HeapArray(repeating: CategoryFact(), count: bound)
    private var categories = HeapArray<UInt32>(repeating: 0, count: bound)
    private var habits = PairFindings(repeating: PlannerUsers.Habit(), count: bound)
    private var places = MarkedPlaces()
    private var count = 0

    var byteCount: Int { facts.byteCount + categories.byteCount + habits.byteCount + places.byteCount }

    subscript(place: Int) -> CategoryFact {
        @inline(__always) get { facts[place] }
    }

    /// Forgets those of the plan before.
    mutating func begin() {
        places.begin()
        count = 0
    }

    /// The place of a category, given now if it has none.
    @inline(__always)
    mutating func add(_ category: UInt32) -> Int {
        let slot = UInt32(PlannerCategories.slot(category))
        if let place = places.place(of: slot) { return place }
        let place = count
        places.mark(slot, at: place)
        categories[place] = slot
        count &+= 1
        return place
    }

    /// Looks up what is known.
    mutating func find(
        _ context: PlannerContext, categories known: borrowing PlannerCategories, users: borrowing PlannerUsers
    ) {
        let requests = context.user.requests
        habits.look(in: users.habits, UInt32(context.slot), categories.base, count: count)
        for place in 0..<count {
            let category = known[categories[place]]
            var fact = CategoryFact()
            fact.all = category.count
            fact.allReturns = category.returns
            fact.rate =
                category.middle
                * FastMath.exp2(-FastMath.float(context.now &- category.last) / PlannerObjects.halfLives.1)
                / PlannerObjects.halfLives.1
            if habits.isFound(place) {
                let habit = habits.values[place]
                fact.age = requests &- habit.last
                let time = -FastMath.float(fact.age)
                fact.fast = habit.fast * FastMath.exp2(time / PlannerUsers.categoryHalfLives.0)
                fact.slow = habit.slow * FastMath.exp2(time / PlannerUsers.categoryHalfLives.1)
                fact.count = habit.count
                fact.returns = habit.returns
            }
            facts[place] = fact
        }
        for last in context.active.prefix(PlannerContext.mostMembers) { follow(last, known) }
    }

    /// Takes note of what uses to come after a category of the user's last request.
    private func follow(_ last: UInt32, _ known: borrowing PlannerCategories) {
        let slot = PlannerCategories.slot(last)
        if let place = places.place(of: UInt32(slot)) { facts[place].isActive = 1 }
        let followed = known[last].followed + 5
        for next in known.next[slot] {
            guard let place = places.place(of: next.item) else { continue }
            facts[place].transition = max(facts[place].transition, next.score / followed)
        }
    }
}
