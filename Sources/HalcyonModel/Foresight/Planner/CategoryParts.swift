import HalcyonEviction

/// What the categories of a set contribute to the row of each object that has them, worked out once a plan.
struct CategoryPart: BitwiseCopyable {
    /// Inputs that are the same for all objects of the set.
    static let width = 9

    var set: CategorySetID = 0
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

/// The parts of one plan, each once. O(parts) a look.
struct CategoryParts: ~Copyable {
    private var parts = HeapArray(repeating: CategoryPart(), count: CandidateList.bound)
    private var count = 0

    var byteCount: Int { parts.byteCount }

    /// Forgets those of the plan before.
    mutating func begin() { count = 0 }

    /// The part of a set whose members are given.
    @inline(__always)
    mutating func part(
        of set: CategorySetID, members: UnsafeBufferPointer<UInt32>, _ context: PlannerFeatures.Context,
        categories: borrowing PlannerCategories, users: borrowing PlannerUsers
    ) -> UnsafePointer<CategoryPart> {
        for index in 0..<count where parts[index].set == set { return UnsafePointer(parts.base + index) }
        let place = min(count, parts.count - 1)
        parts[place] = Self.make(set, members, context, categories, users)
        count = place + 1
        return UnsafePointer(parts.base + place)
    }

    /// The user's history with the categories, the categories over all users, and how one leads to the next.
    private static func make(
        _ set: CategorySetID, _ members: UnsafeBufferPointer<UInt32>, _ context: PlannerFeatures.Context,
        _ categories: borrowing PlannerCategories, _ users: borrowing PlannerUsers
    ) -> CategoryPart {
        let requests = context.user.requests
        var part = CategoryPart()
        var (fast, slow, rate, transition): (Float, Float, Float, Float) = (0, 0, 0, 0)
        var (nearest, count, returns, all, allReturns): (UInt32, UInt32, UInt32, UInt32, UInt32) = (1 << 10, 0, 0, 0, 0)
        for index in 0..<min(members.count, PlannerFeatures.mostMembers) {
            let member = members[index]
            let category = categories[member]
            all &+= category.count
            allReturns &+= category.returns
            rate +=
                category.middle
                * FastMath.exp2(-FastMath.float(context.now &- category.last) / PlannerObjects.halfLives.1)
                / PlannerObjects.halfLives.1
            if let habit = users.habits.value(UInt32(context.slot), member) {
                let age = requests &- habit.pointee.last
                let time = -FastMath.float(age)
                fast += habit.pointee.fast * FastMath.exp2(time / PlannerUsers.categoryHalfLives.0)
                slow += habit.pointee.slow * FastMath.exp2(time / PlannerUsers.categoryHalfLives.1)
                count &+= habit.pointee.count
                returns &+= habit.pointee.returns
                nearest = min(nearest, age)
            }
            for index in 0..<min(context.active.count, PlannerFeatures.mostMembers) {
                let last = context.active[index]
                if last == member { part.isActive = 1 }
                let slot = PlannerCategories.slot(last)
                let score = categories.next.score(of: UInt32(PlannerCategories.slot(member)), in: slot)
                transition = max(transition, score / (categories[last].followed + 5))
            }
        }
        let weight = min(FastMath.float(requests), 72) + 8
        part.set = set
        part.rate = rate
        part.outlook = 0.5 * (slow + 8 * rate) / weight + 0.5 * transition
        part.nearest = PlannerFeatures.count(FastMath.float(nearest))
        part.count = PlannerFeatures.count(FastMath.float(count))
        part.returns = FastMath.float(returns) / (1 + FastMath.float(count))
        part.fast = PlannerFeatures.count(fast * 4)
        part.slow = PlannerFeatures.count(slow * 4)
        part.logRate = PlannerFeatures.rate(rate)
        part.transition = PlannerFeatures.rate(transition)
        part.allReturns = all == 0 ? 0 : PlannerFeatures.count(FastMath.float(allReturns) * 30 / FastMath.float(all))
        return part
    }
}
