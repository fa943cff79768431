import HalcyonEviction

/// What the planner's network is told of a user and an object: one row of numbers, most of them logarithms scaled to about ±1.
struct PlannerFeatures {
    /// The number of inputs; a multiple of 4, so that rows lie well in memory.
    static let width = 48
    /// Members of a category set that are looked at.
    static let mostMembers = 4

    /// What is the same for all candidates of a plan.
    struct Context {
        var now: UInt32
        var seconds: UInt32
        var slot: Int
        var user: PlannerUsers.Record
        /// The members of the categories of the user's last request.
        var active: UnsafeBufferPointer<UInt32>
    }

    private var row: UnsafeMutablePointer<Float>
    private var place = 0

    private init(_ row: UnsafeMutablePointer<Float>) { self.row = row }

    /// Writes the row of an object.
    @inline(__always)
    static func write(
        _ object: UInt32, members: UnsafeBufferPointer<UInt32>, _ context: Context, objects: borrowing PlannerObjects,
        categories: borrowing PlannerCategories, users: borrowing PlannerUsers, into row: UnsafeMutablePointer<Float>
    ) {
        var features = PlannerFeatures(row)
        let record = objects[object]
        features.addVisit(users.visits.value(UInt32(context.slot), object), context)
        let popularity = features.addPopularity(record, context)
        features.addCategories(members, popularity, context, categories, users)
        features.addSuccession(object, context.user, objects)
        features.addSituation(context)
        while features.place < width { features.add(0) }
    }

    // MARK: - Groups

    /// The user's own history with the object.
    private mutating func addVisit(_ visit: UnsafePointer<PlannerUsers.Visit>?, _ context: Context) {
        guard let visit, visit.pointee.count > 0 else {
            for value: Float in [0, 0, 1.5, 1.5, 0, 0, 0] { add(value) }
            return
        }
        let age = context.user.requests &- visit.pointee.last
        let weight = visit.pointee.weight * FastMath.exp2(-FastMath.float(age) / PlannerUsers.objectHalfLife)
        add(1)
        addCount(FastMath.float(visit.pointee.count))
        addCount(FastMath.float(age))
        addCount(FastMath.float(visit.pointee.gap))
        addCount(weight * 4)
        addCount(FastMath.float(context.seconds &- visit.pointee.seconds) / 60)
        let gap = FastMath.float(visit.pointee.gap)
        add(gap > 0 ? FastMath.log2((1 + FastMath.float(age)) / (1 + gap)) * 0.15 : 0)
    }

    /// How popular the object is now, over all users; returns its rate at the middle time scale.
    private mutating func addPopularity(_ record: PlannerObjects.Record, _ context: Context) -> Float {
        let age = context.now &- record.last
        let time = -FastMath.float(age)
        let (fast, middle, slow) = PlannerObjects.halfLives
        let (byFast, byMiddle) = (FastMath.exp2(time / fast) / fast, FastMath.exp2(time / middle) / middle)
        let rate = record.middle * byMiddle
        addRate(record.fast * byFast)
        addRate(rate)
        addRate(record.slow * FastMath.exp2(time / slow) / slow)
        addRate(record.shortest * FastMath.exp2(time / PlannerObjects.shortest) / PlannerObjects.shortest)
        addRate(record.fastInside * byFast)
        addRate(record.middleInside * byMiddle)
        addCount(FastMath.float(context.now &- record.first))
        addCount(FastMath.float(record.count))
        addCount(FastMath.float(age))
        addCount(FastMath.float(record.users))
        addCount(FastMath.float(context.seconds &- record.since) / 60)
        return rate
    }

    /// The user's history with its categories, the categories over all users, and how one leads to the next.
    private mutating func addCategories(
        _ members: UnsafeBufferPointer<UInt32>, _ popularity: Float, _ context: Context,
        _ categories: borrowing PlannerCategories, _ users: borrowing PlannerUsers
    ) {
        let requests = context.user.requests
        var (fast, slow, rate, transition): (Float, Float, Float, Float) = (0, 0, 0, 0)
        var (isActive, nearest, count, returns): (Float, UInt32, UInt32, UInt32) = (0, 1 << 10, 0, 0)
        var (all, allReturns): (UInt32, UInt32) = (0, 0)
        for index in 0..<min(members.count, Self.mostMembers) {
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
            for last in context.active.prefix(Self.mostMembers) {
                if last == member { isActive = 1 }
                let followed = categories[last].followed
                let score = categories.next.score(
                    of: UInt32(PlannerCategories.slot(member)), in: PlannerCategories.slot(last))
                transition = max(transition, score / (followed + 5))
            }
        }
        let share = popularity / (rate + 1e-7)
        let weight = min(FastMath.float(requests), 72) + 1e-3
        let mix = 0.5 * (slow + 8 * rate) / (weight + 8) + 0.5 * transition
        add(isActive)
        addCount(FastMath.float(nearest))
        addCount(FastMath.float(count))
        add(FastMath.float(returns) / (1 + FastMath.float(count)))
        addCount(fast * 4)
        addCount(slow * 4)
        addRate(rate)
        addRate(share)
        addRate(transition)
        addRate(mix * share)
        addCount(all == 0 ? 0 : FastMath.float(allReturns) * 30 / FastMath.float(all))
    }

    /// Whether it uses to come after the user's last objects.
    private mutating func addSuccession(
        _ object: UInt32, _ user: PlannerUsers.Record, _ objects: borrowing PlannerObjects
    ) {
        var (first, both): (Float, Float) = (0, 0)
        if user.recent < PlannerObjects.bound {
            first = objects.successors.score(of: object, in: Int(user.recent)) / (objects[user.recent].followed + 3)
            both = first
        }
        if user.earlier < PlannerObjects.bound {
            both += objects.successors.score(of: object, in: Int(user.earlier)) / (objects[user.earlier].followed + 3)
        }
        addRate(first)
        addRate(both)
    }

    /// Session and time of day.
    private mutating func addSituation(_ context: Context) {
        addCount(FastMath.float(context.user.session))
        addCount(FastMath.float(context.user.requests))
        addCount(FastMath.float(context.user.pause) / 60)
        // A wave of parabolas through the day, and the same a quarter later: near enough to sine and cosine.
        let day = FastMath.float(context.seconds % 86_400) / 86_400
        add(0.3 * Self.wave(day))
        add(0.3 * Self.wave(day < 0.75 ? day + 0.25 : day - 0.75))
        add(1)
    }

    /// A smooth wave of period 1 between −1 and 1 that begins at 0.
    private static func wave(_ phase: Float) -> Float {
        phase < 0.5 ? 16 * phase * (0.5 - phase) : -16 * (phase - 0.5) * (1 - phase)
    }

    // MARK: - Scales

    @inline(__always)
    private mutating func add(_ value: Float) {
        row[place] = value
        place &+= 1
    }

    /// A count or a distance.
    @inline(__always)
    private mutating func addCount(_ value: Float) { add(FastMath.log2(1 + value) * 0.15) }

    /// A rate or a share, which may be very small.
    @inline(__always)
    private mutating func addRate(_ value: Float) { add((FastMath.log2(value + 1e-6) + 10) * 0.1) }
}
