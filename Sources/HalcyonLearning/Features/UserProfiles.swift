import HalcyonEviction

/// What each user did last, and how often with each category.
///
/// Users are kept in a table of bounded size in which a newer one takes the place of an older one; what was displaced counts as
/// never seen. What a user did with each category lies together (``PairRows``). All operations O(1) a category. Bytes: 44 a user and
/// 24 a place for a pair, up to the bounds.
@usableFromInline
package struct UserProfiles: ~Copyable {
    /// What a count loses with each access of the user, in octaves: half of it in 200.
    @inlinable package static var forgetting: Float { 1 / 200 }
    /// Without an access for so long the session is over.
    static let idleSeconds: UInt32 = 1_800

    @usableFromInline
    package struct Profile: BitwiseCopyable {
        @usableFromInline package var user = UInt32.max
        /// The request of the user's last access, its second, and its categories.
        @usableFromInline package var last: UInt32 = 0
        @usableFromInline package var lastSecond: UInt32 = 0
        @usableFromInline package var active: CategorySetID = 0
        /// How many accesses the user made, and how many of them in this session.
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
        /// The mean time between two of them, in sixty-fourths of an octave; ``never`` before the second.
        var gap: UInt16 = never
        /// All of them, and those to objects that the user had not asked for before; halved together when they get large.
        var accesses: UInt16 = 0
        var distinct: UInt16 = 0

        static let never: UInt16 = 128 * 64
    }

    @usableFromInline var profiles = SlotArray(repeating: Profile())
    @usableFromInline var pairs: PairRows<Pair>
    @usableFromInline let mask: UInt32

    /// - Parameters:
    ///   - users: the most users, a power of two.
    ///   - pairs: the most places for pairs of a user and a category.
    init(users: UInt32, pairs: Int) {
        mask = users - 1
        self.pairs = PairRows(repeating: Pair(), bound: pairs)
    }

    var byteCount: Int { profiles.byteCount + pairs.byteCount }

    /// What is known of a user, if anything.
    @inlinable @inline(__always)
    func profile(of user: UInt32) -> Profile? {
        let profile = profiles[user & mask]
        return profile.user == user && user != .max ? profile : nil
    }

    /// The history of a user of whom something is known with categories.
    @inlinable @inline(__always)
    func habits(of user: UInt32) -> PairRow { pairs[user & mask] }

    /// Has the history with a category on its way from memory.
    @inlinable @inline(__always)
    func expect(_ category: UInt32, in habits: PairRow) { pairs.expect(category, in: habits) }

    /// The user's accesses to a category, decayed, as of the last of them; 0 if there was none.
    @inlinable @inline(__always)
    func weight(_ user: UInt32, _ category: UInt32) -> Float {
        profile(of: user) == nil ? 0 : pairs.value(user & mask, category)?.pointee.weight ?? 0
    }

    /// Takes an access of `access.user` into account.
    ///
    /// - Parameters:
    ///   - isRepeat: whether the user asked for the object before, as far as that is known.
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
        profile.accesses &+= 1
        profile.weight = profile.weight * FastMath.exp2(-UserProfiles.forgetting) + 1
        if second &- profile.lastSecond > UserProfiles.idleSeconds { profile.sessionLength = 0 }
        profile.sessionLength &+= 1
        profile.last = UInt32(truncatingIfNeeded: now)
        profile.lastSecond = second
        if access.categories != 0 { profile.active = access.categories }
        profiles[slot] = profile
        for category in members {
            pairs.update(slot, category) { $0.note(at: profile.accesses, isRepeat: isRepeat) }
        }
    }

    /// Writes the history of a user with `members` into a row that has the categories' own features already: sums over
    /// them, the shortest of their times, the mean of their shares.
    @inline(__always)
    func write(
        _ profile: Profile, _ habits: PairRow, members: UnsafeBufferPointer<UInt32>,
        into row: UnsafeMutablePointer<Float>
    ) {
        var (weight, accesses, distinct): (Float, Float, Float) = (0, 0, 0)
        var (nearest, gap) = (UInt32(1 << 24), Pair.never)
        var index = 0
        while index < members.count {
            if let pair = pairs.value(members[index], in: habits)?.pointee {
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
        // As if four more accesses had been like those of all users.
        row[Feature.userReuse] = (accesses - distinct + 4 * row[Feature.categoryReuse]) / (accesses + 4)
    }
}

extension UserProfiles.Pair {
    /// Takes the user's access number `access`, to an object of the category, into account.
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
