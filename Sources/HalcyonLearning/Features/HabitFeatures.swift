import HalcyonEviction

/// What is known of users and categories, as features: what the user does with the categories of an object, how all users use
/// them, the session, how much the user is doing, the time of day and of the week.
///
/// Both models are told these. The eviction model asks for those of a resident (``FeatureAssembler``), the planner for those of
/// a candidate (``CandidateInputs``). Each keeps account of the accesses that it hears of itself, because they need not be the same: a cache
/// may serve some of the users whom the planner foresees. It knows nothing but those accesses. O(categories of
/// the object + categories in use).
///
/// Methods that change nothing are `mutating` here and where else they are called for each candidate: what is lent to a method that is not
/// inlined is copied first by Swift 6.3 where it is noncopyable and large, once a call.
@usableFromInline
package struct HabitFeatures: ~Copyable {
    /// How much is remembered; each a power of two. See ``UserProfiles``, ``CategoryProfiles``, ``CategoryTransitions``.
    package struct Bounds {
        package var users: UInt32
        package var categories: UInt32
        /// Places for pairs of a user and a category.
        package var habits: Int
        /// Places for pairs of a set of categories and one that came after it.
        package var transitions: Int

        /// For one cache, or a fleet that shares a model: at most 5.1 MB, and 24 bytes for each set of categories.
        package static let cache = Bounds(users: 1 << 14, categories: 1 << 14, habits: 1 << 17, transitions: 1 << 16)
        /// For all users that there are: at most 111 MB, and 24 bytes for each set of categories.
        package static let everybody = Bounds(
            users: 1 << 20, categories: 1 << 16, habits: 1 << 21, transitions: 1 << 20)
    }

    @usableFromInline let uses: FeatureSwitches
    @usableFromInline package var sets = CategorySetTable()
    private var categories: CategoryProfiles
    @usableFromInline var users: UserProfiles
    @usableFromInline var transitions: CategoryTransitions
    /// The categories of the latest access.
    @usableFromInline var current: CategorySetID = 0
    /// How many accesses there were; what is known of categories and users is dated by it.
    @usableFromInline package internal(set) var clock = 0
    @usableFromInline var day = Phase()
    @usableFromInline var week = Phase()

    package init(_ groups: FeatureGroups, bounds: Bounds) {
        uses = FeatureSwitches(groups)
        categories = CategoryProfiles(bound: bounds.categories)
        users = UserProfiles(users: bounds.users, pairs: bounds.habits)
        transitions = CategoryTransitions(bound: bounds.transitions)
    }

    package var byteCount: Int { sets.byteCount + categories.byteCount + users.byteCount + transitions.byteCount }

    /// Takes an access into account.
    ///
    /// - Parameters:
    ///   - gap: the object's time since the last one in octaves, 255 if there was none.
    ///   - isRepeat: whether the same user asked for it before.
    package mutating func note(_ access: Access, second: UInt32, gap: UInt8, isRepeat: Bool) {
        clock &+= 1
        let before = current
        current = access.categories
        if uses.time {
            day = Phase(second, of: 86_400)
            week = Phase(second, of: 604_800)
        }
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

    /// What is known of a user, if anything.
    @inlinable @inline(__always)
    package func profile(of user: UInt32) -> UserProfiles.Profile? { users.profile(of: user) }

    /// The user's accesses to a category, decayed, as of the last of them; 0 if there was none.
    @inlinable @inline(__always)
    package func weight(_ user: UInt32, _ category: UInt32) -> Float { users.weight(user, category) }

    /// Has what an access will change on its way from memory.
    @inlinable @inline(__always)
    package func expect(_ access: Access) {
        guard uses.user, access.user != .max else { return }
        let members = sets[access.categories]
        if members.count > 0 { users.expect(members[0], in: users.habits(of: access.user)) }
    }

    /// What is known of a user, as far as it is told.
    @inlinable @inline(__always)
    mutating func known(_ user: UInt32) -> KnownUser {
        var known = KnownUser()
        known.user = user
        guard uses.user || uses.session || uses.activity else { return known }
        known.profile = users.profile(of: user)
        if uses.user && known.profile != nil { known.habits = users.habits(of: user) }
        guard uses.session else { return known }
        known.active = known.profile?.active ?? (user == .max ? current : 0)
        guard known.active != 0 else { return known }
        known.followers = transitions.followers(of: known.active)
        known.followed = transitions.followed(known.active, now: clock)
        return known
    }

    /// Has what ``write(_:_:into:)`` needs on its way from memory.
    @inlinable @inline(__always)
    mutating func expect(_ set: CategorySetID, _ known: KnownUser) {
        guard uses.user || uses.session else { return }
        let members = sets[set]
        if members.count == 0 { return }
        users.expect(members[0], in: known.habits)
        transitions.expect(members[0], in: known.followers)
    }

    /// Writes what is known of the categories of a set and of a user into a row, if there are any.
    @inline(__always)
    mutating func write(_ set: CategorySetID, _ known: KnownUser, into row: UnsafeMutablePointer<Float>) {
        if set == 0 && known.user == .max { return }
        let members = sets[set]
        if members.count > 0 && uses.category { categories.write(members, now: clock, into: row) }
        guard let profile = known.profile else {
            if uses.session && known.user == .max { writeSession(set, known, members: members, into: row) }
            return
        }
        if members.count > 0 && uses.user { users.write(profile, known.habits, members: members, into: row) }
        if uses.session { writeSession(set, known, members: members, into: row) }
        if uses.activity {
            row[Feature.sinceUser] = FastMath.float(UInt32(truncatingIfNeeded: clock) &- profile.last)
            row[Feature.sessionLength] = FastMath.float(profile.sessionLength)
            row[Feature.userAccesses] = FastMath.float(profile.accesses)
        }
    }

    /// Writes the time of day and of the week of the latest access into a row.
    @inlinable @inline(__always)
    package func writeTime(into row: UnsafeMutablePointer<Float>) {
        row[Feature.dayPhase] = day.direct
        row[Feature.dayQuadrature] = day.quadrature
        row[Feature.weekPhase] = week.direct
        row[Feature.weekQuadrature] = week.quadrature
    }

    @inline(__always)
    private mutating func writeSession(
        _ set: CategorySetID, _ known: KnownUser, members: UnsafeBufferPointer<UInt32>,
        into row: UnsafeMutablePointer<Float>
    ) {
        row[Feature.active] = sets.overlap(of: set, with: known.active)
        // Told in sixteenths of an octave down to 2⁻¹⁶.
        let chance = transitions.chance(known.followers, known.followed, to: members, now: clock)
        row[Feature.transition] = chance * 0x1p16
    }
}
