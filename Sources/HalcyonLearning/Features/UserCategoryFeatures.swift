import HalcyonEviction

/// The user–category features: the use of an object's categories by its user and by all users, the session, and the activity
/// of the user. The time-of-day features are computed here, too.
///
/// Both models have them: the eviction model for a resident (``FeatureAssembler``), the prefetch planner for a candidate.
/// Each model keeps its own statistics, because the accesses that they observe may differ: a cache may serve some of the
/// users for whom the planner predicts. A row is O(categories of the object + categories in use).
///
/// Some methods are `mutating` but change nothing. They are called for each candidate, and Swift 6.3 copies a large
/// noncopyable value at each call that borrows it and is not inlined.
@usableFromInline
package struct UserCategoryFeatures: ~Copyable {
    /// The bounds of the statistics, each a power of two. See ``UserProfiles``, ``CategoryProfiles``, ``CategoryTransitions``.
    package struct Bounds {
        package var users: UInt32
        package var categories: UInt32
        /// The places for pairs of a user and a category.
        package var userCategories: Int
        /// The places for pairs of a category set and a category that followed it.
        package var transitions: Int

        /// For the caches that share a model: at most 5.1 MB, and 24 bytes a category set.
        package static let cache = Bounds(
            users: 1 << 14, categories: 1 << 14, userCategories: 1 << 17, transitions: 1 << 16)
        /// For all users of a workload: at most 111 MB, and 24 bytes a category set.
        package static let allUsers = Bounds(
            users: 1 << 20, categories: 1 << 16, userCategories: 1 << 21, transitions: 1 << 20)
    }

    @usableFromInline let uses: FeatureSwitches
    @usableFromInline package var sets = CategorySetMembers()
    private var categories: CategoryProfiles
    @usableFromInline var users: UserProfiles
    @usableFromInline var transitions: CategoryTransitions
    /// The categories of the last access.
    @usableFromInline var current: CategorySetID = 0
    /// The number of accesses: the logical time of all statistics.
    @usableFromInline package internal(set) var clock = 0
    /// The second of the last access.
    private var second: UInt32 = 0
    /// The time of day and of the week at a second, which many rows share.
    private var time = (second: UInt32(0), day: PeriodicTime(0, of: 86_400), week: PeriodicTime(0, of: 604_800))

    package init(_ groups: FeatureGroups, bounds: Bounds) {
        uses = FeatureSwitches(groups)
        categories = CategoryProfiles(bound: bounds.categories)
        users = UserProfiles(users: bounds.users, pairs: bounds.userCategories)
        transitions = CategoryTransitions(bound: bounds.transitions)
    }

    package var byteCount: Int { sets.byteCount + categories.byteCount + users.byteCount + transitions.byteCount }

    /// Counts an access.
    ///
    /// - Parameters:
    ///   - gap: the time since the object's last access in octaves; 255 if there was none.
    ///   - isRepeat: whether the user of the object's last access is the same.
    package mutating func note(_ access: Access, second: UInt32, gap: UInt8, isRepeat: Bool) {
        clock &+= 1
        if WrappingClock.isSweepDue(clock) { limitAges() }
        let before = current
        current = access.categories
        self.second = second
        if access.categories == 0 && access.user == .max { return }
        let members = sets[access.categories]
        if uses.category {
            for category in members { categories.note(category, now: clock, gap: gap) }
        }
        guard uses.user || uses.session || uses.activity else { return }
        if uses.session {
            let from = access.user == .max ? before : users.profile(of: access.user)?.active ?? 0
            transitions.note(from: from, to: members, now: clock)
        }
        if access.user != .max {
            users.note(access, isRepeat: isRepeat, members: members, now: clock, second: second)
        }
    }

    /// Limits all ages in accesses; see `WrappingClock`.
    @inline(never)
    private mutating func limitAges() {
        let now = UInt32(truncatingIfNeeded: clock)
        users.limitAges(at: now)
        categories.limitAges(at: now)
    }

    /// Returns the profile of a user, if there is one.
    @inlinable @inline(__always)
    package func profile(of user: UInt32) -> UserProfiles.Profile? { users.profile(of: user) }

    /// Returns the user's accesses to a category, decayed, as of the last of them; 0 if there was none.
    @inlinable @inline(__always)
    package func weight(_ user: UInt32, _ category: UInt32) -> Float { users.weight(user, category) }

    /// Starts loading the statistics that an access will change into the processor's cache.
    @inlinable @inline(__always)
    package func expect(_ access: Access) {
        guard uses.user, access.user != .max else { return }
        let members = sets[access.categories]
        if members.count > 0 { users.expect(members[0], in: users.categories(of: access.user)) }
    }

    /// Returns the statistics of a user, as far as the features in use need them.
    @inlinable @inline(__always)
    mutating func statistics(of user: UInt32) -> UserStatistics {
        var known = UserStatistics()
        known.user = user
        guard uses.user || uses.session || uses.activity else { return known }
        known.profile = users.profile(of: user)
        if uses.user && known.profile != nil { known.categories = users.categories(of: user) }
        guard uses.session else { return known }
        known.active = known.profile?.active ?? (user == .max ? current : 0)
        guard known.active != 0 else { return known }
        known.followers = transitions.followers(of: known.active)
        known.followed = transitions.followed(known.active, now: clock)
        return known
    }

    /// Starts loading what ``write(_:_:into:)`` needs into the processor's cache.
    @inlinable @inline(__always)
    mutating func expect(_ set: CategorySetID, _ known: UserStatistics) {
        guard uses.user || uses.session else { return }
        let members = sets[set]
        if members.count == 0 { return }
        users.expect(members[0], in: known.categories)
        transitions.expect(members[0], in: known.followers)
    }

    /// Writes the features of a category set and a user into a row, if there are any.
    @inline(__always)
    mutating func write(_ set: CategorySetID, _ known: UserStatistics, into row: UnsafeMutablePointer<Float>) {
        if set == 0 && known.user == .max { return }
        let members = sets[set]
        if members.count > 0 && uses.category { categories.write(members, now: clock, into: row) }
        guard let profile = known.profile else {
            if uses.session && known.user == .max { writeSession(set, known, members: members, into: row) }
            return
        }
        if members.count > 0 && uses.user { users.write(profile, known.categories, members: members, into: row) }
        if uses.session { writeSession(set, known, members: members, into: row) }
        if uses.activity {
            row[Feature.sinceUser] = FastMath.float(UInt32(truncatingIfNeeded: clock) &- profile.last)
            row[Feature.sessionLength] = FastMath.float(profile.sessionLength)
            row[Feature.userAccesses] = FastMath.float(profile.accesses)
        }
    }

    /// Writes the time of day and of the week of the last access into a row.
    package mutating func writeTime(into row: UnsafeMutablePointer<Float>) {
        if time.second != second {
            time = (second, PeriodicTime(second, of: 86_400), PeriodicTime(second, of: 604_800))
        }
        row[Feature.dayPhase] = time.day.wave
        row[Feature.dayQuadrature] = time.day.quadrature
        row[Feature.weekPhase] = time.week.wave
        row[Feature.weekQuadrature] = time.week.quadrature
    }

    @inline(__always)
    private mutating func writeSession(
        _ set: CategorySetID, _ known: UserStatistics, members: UnsafeBufferPointer<UInt32>,
        into row: UnsafeMutablePointer<Float>
    ) {
        row[Feature.active] = sets.overlap(of: set, with: known.active)
        // Represented in sixteenths of an octave down to 2⁻¹⁶.
        let probability = transitions.probability(known.followers, known.followed, to: members, now: clock)
        row[Feature.transition] = probability * 0x1p16
    }
}

/// The statistics of one user, looked up once for many category sets. Valid until the next access is counted.
@usableFromInline
struct UserStatistics: BitwiseCopyable {
    /// The user; `UInt32.max` if unknown.
    @usableFromInline var user = UInt32.max
    @usableFromInline var profile: UserProfiles.Profile?
    /// The user's accesses by category.
    @usableFromInline var categories = PairRow()
    /// The categories of the user's last access that had any, or of the last access of all if the user is unknown.
    @usableFromInline var active: CategorySetID = 0
    /// The categories that followed these, and the number of accesses that did.
    @usableFromInline var followers = PairRow()
    @usableFromInline var followed: Float = 0

    @inlinable
    init() {}
}

/// The position of an instant in a period, as two triangle waves a quarter of the period apart: neither has a jump.
struct PeriodicTime {
    let wave: Float
    let quadrature: Float

    init(_ second: UInt32, of period: UInt32) {
        let phase = Float(second % period) / Float(period)
        wave = abs(2 * phase - 1)
        let shifted = phase < 0.75 ? phase + 0.25 : phase - 0.75
        quadrature = abs(2 * shifted - 1)
    }
}
