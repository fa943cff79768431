import HalcyonEviction

/// The last access of each user, and the user's accesses by category.
///
/// The table of users is bounded: a newer user replaces an older one, which then counts as never seen. The categories of a
/// user lie together in memory (``PairRows``). All operations are O(1) a category. Bytes: 44 a user and 24 a place for a
/// pair, up to the bounds.
@usableFromInline
package struct UserProfiles: ~Copyable {
    /// The decay of a count per access of the user, in octaves: the half-life is 200 accesses.
    @inlinable package static var forgetting: Float { 1 / 200 }
    /// The time without an access that ends a session.
    static let idleSeconds: UInt32 = 1_800

    @usableFromInline
    package struct Profile: BitwiseCopyable {
        @usableFromInline package var user = UInt32.max
        /// The number of the user's last access among all, its second, and the categories of the last access that had any.
        @usableFromInline package var last: UInt32 = 0
        @usableFromInline package var lastSecond: UInt32 = 0
        @usableFromInline package var active: CategorySetID = 0
        /// The user's accesses, and those in this session.
        @usableFromInline package var accesses: UInt32 = 0
        @usableFromInline package var sessionLength: UInt32 = 0
        /// The accesses, decayed.
        @usableFromInline package var weight: Float = 0
    }

    @usableFromInline
    struct Pair: BitwiseCopyable {
        /// The user's access count as of the last access to the category.
        var last: UInt32 = 0
        /// The user's accesses to the category, decayed.
        @usableFromInline var weight: Float = 0
        /// The mean time between two of them, in 1/64 octaves; ``never`` before the second.
        var gap: UInt16 = never
        /// All of them, and those to objects that are new for the user. Both are halved when they get large.
        var accesses: UInt16 = 0
        var distinct: UInt16 = 0

        static let never: UInt16 = 128 * 64
    }

    @usableFromInline var profiles = SlotArray(repeating: Profile())
    @usableFromInline var pairs: PairRows<Pair>
    @usableFromInline let mask: UInt32

    /// Creates empty profiles.
    ///
    /// - Parameters:
    ///   - users: the most users, a power of two.
    ///   - pairs: the most places for pairs of a user and a category.
    init(users: UInt32, pairs: Int) {
        mask = users - 1
        self.pairs = PairRows(repeating: Pair(), bound: pairs)
    }

    var byteCount: Int { profiles.byteCount + pairs.byteCount }

    /// Returns the profile of a user, if there is one.
    @inlinable @inline(__always)
    func profile(of user: UInt32) -> Profile? {
        let profile = profiles[user & mask]
        return profile.user == user && user != .max ? profile : nil
    }

    /// Returns the accesses by category of a user with a profile.
    @inlinable @inline(__always)
    func categories(of user: UInt32) -> PairRow { pairs[user & mask] }

    /// Starts loading a user's accesses to a category into the processor's cache.
    @inlinable @inline(__always)
    func expect(_ category: UInt32, in categories: PairRow) { pairs.expect(category, in: categories) }

    /// Returns the user's accesses to a category, decayed, as of the last of them; 0 if there was none.
    @inlinable @inline(__always)
    func weight(_ user: UInt32, _ category: UInt32) -> Float {
        profile(of: user) == nil ? 0 : pairs.value(user & mask, category)?.pointee.weight ?? 0
    }

    /// Counts access number `now`, of `access.user`.
    ///
    /// - Parameters:
    ///   - isRepeat: whether the user is known to have requested the object before.
    ///   - members: the categories of the object.
    mutating func note(
        _ access: Access, isRepeat: Bool, members: UnsafeBufferPointer<UInt32>, now: Int, second: UInt32
    ) {
        let slot = access.user & mask
        var profile = profiles[slot]
        if profile.user != access.user {
            profile = Profile()
            profile.user = access.user
            pairs.forget(slot)
        }
        if profile.accesses == .max {
            // Once in 2³¹ accesses of one user, the categories start again, so that no age exceeds 32 bits.
            profile.accesses /= 2
            pairs.forget(slot)
        }
        profile.accesses &+= 1
        profile.weight = profile.weight * FastMath.exp2(-UserProfiles.forgetting) + 1
        if second &- profile.lastSecond > UserProfiles.idleSeconds { profile.sessionLength = 0 }
        profile.sessionLength = min(profile.sessionLength, .max - 1) &+ 1
        profile.last = UInt32(truncatingIfNeeded: now)
        profile.lastSecond = second
        if access.categories != 0 { profile.active = access.categories }
        profiles[slot] = profile
        for category in members {
            pairs.update(slot, category) { $0.note(at: profile.accesses, isRepeat: isRepeat) }
        }
    }

    /// Limits the time since each user's last access; see `WrappingClock`. O(users).
    mutating func limitAges(at now: UInt32) {
        for slot in 0..<UInt32(profiles.capacity) {
            profiles[slot].last = WrappingClock.limited(profiles[slot].last, now: now)
        }
    }

    /// Writes the features of a user and `members` into a row that already has the categories' own features. Counts are sums
    /// over the members, times are the shortest of theirs.
    @inline(__always)
    func write(
        _ profile: Profile, _ categories: PairRow, members: UnsafeBufferPointer<UInt32>,
        into row: UnsafeMutablePointer<Float>
    ) {
        var (weight, accesses, distinct): (Float, Float, Float) = (0, 0, 0)
        var (nearest, gap) = (UInt32(1 << 24), Pair.never)
        var index = 0
        while index < members.count {
            if let pair = pairs.value(members[index], in: categories)?.pointee {
                let age = profile.accesses &- pair.last
                weight += pair.weight * FastMath.exp2(-FastMath.float(age) * UserProfiles.forgetting)
                accesses += FastMath.float(small: UInt32(pair.accesses))
                distinct += FastMath.float(small: UInt32(pair.distinct))
                if age < nearest { nearest = age }
                if pair.gap < gap { gap = pair.gap }
            }
            index &+= 1
        }
        row[Feature.userRate] = weight
        row[Feature.userAge] = FastMath.float(nearest)
        row[Feature.userShare] = weight / max(profile.weight, 1)
        row[Feature.userGap] = FastMath.float(small: UInt32(gap >> 6))
        row[Feature.userDistinct] = distinct
        // The prior is four accesses with the ratio of all users.
        row[Feature.userReuse] = (accesses - distinct + 4 * row[Feature.categoryReuse]) / (accesses + 4)
    }
}

extension UserProfiles.Pair {
    /// Counts the user's access number `access`, to an object of the category.
    @inline(__always)
    fileprivate mutating func note(at access: UInt32, isRepeat: Bool) {
        let age = access &- last
        if accesses > 0 {
            weight *= FastMath.exp2(-FastMath.float(age) * (1 / 200))
            let octaves = UInt16(FastMath.octaves(age)) &* 64
            gap = gap == Self.never ? octaves : gap &- gap >> 2 &+ octaves >> 2
        }
        if accesses == .max {
            accesses /= 2
            distinct /= 2
        }
        accesses &+= 1
        if !isRepeat { distinct &+= 1 }
        weight += 1
        last = access
    }
}
