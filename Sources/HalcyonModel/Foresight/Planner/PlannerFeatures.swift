import HalcyonEviction

/// What the planner's network is told of a user and an object: one row of numbers, most of them logarithms scaled to about ±1.
struct PlannerFeatures {
    /// The number of inputs; a multiple of 8, so that rows lie well in memory.
    static let width = 40
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

    private let row: UnsafeMutablePointer<Float>
    private var place = 0

    private init(_ row: UnsafeMutablePointer<Float>) { self.row = row }

    /// Writes the row of an object.
    ///
    /// - Parameter situation: a row that ``writeSituation(_:into:)`` has begun.
    @inline(__always)
    static func write(
        _ object: UInt32, _ record: PlannerObjects.Record, _ visit: UnsafePointer<PlannerUsers.Visit>?,
        part: UnsafePointer<CategoryPart>, _ context: Context, objects: borrowing PlannerObjects,
        situation: UnsafePointer<Float>, into row: UnsafeMutablePointer<Float>
    ) {
        row.update(from: situation, count: width)
        var features = PlannerFeatures(row)
        features.place = situationWidth
        features.addVisit(visit, context)
        let popularity = features.addPopularity(record, context)
        features.addCategories(part, popularity)
        features.addSuccession(object, context.user, objects)
    }

    // MARK: - Groups

    private static let situationWidth = 6

    /// Writes session and time of day, and zeros.
    static func writeSituation(_ context: Context, into row: UnsafeMutablePointer<Float>) {
        row.update(repeating: 0, count: width)
        var features = PlannerFeatures(row)
        features.add(count(FastMath.float(context.user.session)))
        features.add(count(FastMath.float(context.user.requests)))
        features.add(count(FastMath.float(context.user.pause) / 60))
        let day = FastMath.float(context.seconds % 86_400) / 86_400
        features.add(0.3 * wave(day))
        features.add(0.3 * wave(day < 0.75 ? day + 0.25 : day - 0.75))
        features.add(1)
    }

    /// The user's own history with the object.
    @inline(__always)
    private mutating func addVisit(_ visit: UnsafePointer<PlannerUsers.Visit>?, _ context: Context) {
        guard let visit, visit.pointee.count > 0 else {
            row[place &+ 2] = 1.5
            row[place &+ 3] = 1.5
            place &+= 7
            return
        }
        let (visited, requests) = (visit.pointee, context.user.requests)
        let age = requests &- visited.last
        let weight = visited.weight * FastMath.exp2(-FastMath.float(age) / PlannerUsers.objectHalfLife)
        add(1)
        add(Self.count(FastMath.float(visited.count)))
        add(Self.count(FastMath.float(age)))
        add(Self.count(FastMath.float(visited.gap)))
        add(Self.count(weight * 4))
        add(Self.count(FastMath.float(context.seconds &- visited.seconds) / 60))
        let gap = FastMath.float(visited.gap)
        add(gap > 0 ? FastMath.log2((1 + FastMath.float(age)) / (1 + gap)) * 0.15 : 0)
    }

    /// How popular the object is now, over all users; returns its rate at the middle time scale.
    @inline(__always)
    private mutating func addPopularity(_ record: PlannerObjects.Record, _ context: Context) -> Float {
        let age = context.now &- record.last
        let time = -FastMath.float(age)
        let (fast, middle, slow) = PlannerObjects.halfLives
        let (byFast, byMiddle) = (FastMath.exp2(time / fast) / fast, FastMath.exp2(time / middle) / middle)
        let popularity = record.middle * byMiddle
        add(Self.rate(record.fast * byFast))
        add(Self.rate(popularity))
        add(Self.rate(record.slow * FastMath.exp2(time / slow) / slow))
        add(Self.rate(record.shortest * FastMath.exp2(time / PlannerObjects.shortest) / PlannerObjects.shortest))
        add(Self.rate(record.fastInside * byFast))
        add(Self.rate(record.middleInside * byMiddle))
        add(Self.count(FastMath.float(context.now &- record.first)))
        add(Self.count(FastMath.float(record.count)))
        add(Self.count(FastMath.float(age)))
        add(Self.count(FastMath.float(record.users)))
        add(Self.count(FastMath.float(context.seconds &- record.since) / 60))
        return popularity
    }

    /// Its categories, and its share in them.
    @inline(__always)
    private mutating func addCategories(_ part: UnsafePointer<CategoryPart>, _ popularity: Float) {
        let share = popularity / (part.pointee.rate + 1e-7)
        add(part.pointee.isActive)
        add(part.pointee.nearest)
        add(part.pointee.count)
        add(part.pointee.returns)
        add(part.pointee.fast)
        add(part.pointee.slow)
        add(part.pointee.logRate)
        add(Self.rate(share))
        add(part.pointee.transition)
        add(Self.rate(part.pointee.outlook * share))
        add(part.pointee.allReturns)
    }

    /// Whether it uses to come after the user's last objects.
    @inline(__always)
    private mutating func addSuccession(
        _ object: UInt32, _ user: PlannerUsers.Record, _ objects: borrowing PlannerObjects
    ) {
        let first = objects.succession(of: object, after: user.recent)
        add(Self.rate(first))
        add(Self.rate(first + objects.succession(of: object, after: user.earlier)))
    }

    /// A smooth wave of period 1 between −1 and 1 that begins at 0: parabolas, near enough to a sine.
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
    static func count(_ value: Float) -> Float { FastMath.log2(1 + value) * 0.15 }

    /// A rate or a share, which may be very small.
    @inline(__always)
    static func rate(_ value: Float) -> Float { (FastMath.log2(value + 1e-6) + 10) * 0.1 }
}
