import HalcyonEviction

/// What each user did last, and how often with each category.
///
/// Users, and pairs of user and category, are kept in tables of bounded size in which a newer one takes the place of an
/// older one; what was displaced counts as never seen. All operations O(1) a category. Bytes: 20 a user, at most 320 KiB;
/// 12 a pair, at most 384 KiB.
struct UserProfiles: ~Copyable {
    static let userBound: UInt32 = 1 << 14
    static let pairBound = 1 << 15
    /// The half-life of the counts, in accesses of the user.
    private static let forgetting: Float = 1 / 200

    struct Profile: BitwiseCopyable {
        var user = UInt32.max
        /// The request of the user's last access, and its categories.
        var last: UInt32 = 0
        var active: CategorySetID = 0
        /// How many accesses the user made.
        var accesses: UInt32 = 0
        /// The same, decayed.
        var weight: Float = 0
    }

    struct Pair: BitwiseCopyable {
        var tag = UInt32.max
        /// The user's access count as of the last access to the category.
        var last: UInt32 = 0
        var weight: Float = 0
    }

    private var profiles = SlotArray(repeating: Profile())
    private var pairs = HeapArray(repeating: Pair(), count: 256)
    private var pairCount = 0

    var byteCount: Int { profiles.byteCount + pairs.byteCount }

    /// Takes an access of `user` into account.
    mutating func note(
        _ user: UInt32, categories: CategorySetID, members: UnsafeBufferPointer<UInt32>, now: UInt32
    ) {
        let slot = user & (UserProfiles.userBound - 1)
        var profile = profiles[slot]
        if profile.user != user {
            profile = Profile()
            profile.user = user
        }
        profile.accesses &+= 1
        profile.weight = profile.weight * FastMath.exp2(-UserProfiles.forgetting) + 1
        profile.last = now
        if categories != 0 { profile.active = categories }
        profiles[slot] = profile
        for category in members { note(user, category: category, at: profile.accesses) }
    }

    /// What is known of a user, if anything.
    @inline(__always)
    func profile(of user: UInt32) -> Profile? {
        let profile = profiles[user & (UserProfiles.userBound - 1)]
        return profile.user == user ? profile : nil
    }

    /// Writes the history of a user with `members`, the sum over them, into a row.
    @inline(__always)
    func write(
        _ profile: Profile, members: UnsafeBufferPointer<UInt32>, into row: UnsafeMutablePointer<UInt8>
    ) {
        var weight: Float = 0
        var nearest = UInt32(1 << 24)
        var index = 0
        while index < members.count {
            let tag = UserProfiles.tag(profile.user, members[index])
            let pair = pairs[place(tag)]
            if pair.tag == tag {
                let age = profile.accesses &- pair.last
                weight += pair.weight * FastMath.exp2(-FastMath.float(age) * UserProfiles.forgetting)
                if age < nearest { nearest = age }
            }
            index &+= 1
        }
        row[Feature.userRate] = FastMath.fineOctaves(weight)
        row[Feature.userAge] = FastMath.octaves(nearest)
        row[Feature.userShare] = FastMath.share(weight / max(profile.weight, 1))
    }

    private mutating func note(_ user: UInt32, category: UInt32, at access: UInt32) {
        if pairCount * 2 > pairs.count && pairs.count < UserProfiles.pairBound { enlarge() }
        let tag = UserProfiles.tag(user, category)
        let slot = place(tag)
        var pair = pairs[slot]
        if pair.tag != tag {
            if pair.tag == .max { pairCount += 1 }
            pair = Pair(tag: tag)
        } else {
            pair.weight *= FastMath.exp2(-FastMath.float(access &- pair.last) * UserProfiles.forgetting)
        }
        pair.weight += 1
        pair.last = access
        pairs[slot] = pair
    }

    private mutating func enlarge() {
        var old = HeapArray(repeating: Pair(), count: pairs.count * 2)
        swap(&pairs, &old)
        pairCount = 0
        for index in 0..<old.count where old[index].tag != .max {
            let slot = place(old[index].tag)
            if pairs[slot].tag == .max { pairCount += 1 }
            pairs[slot] = old[index]
        }
    }

    /// 32 scattered bits of a pair: two pairs are taken for one another once in 2³² times.
    @inline(__always)
    private static func tag(_ user: UInt32, _ category: UInt32) -> UInt32 {
        UInt32(truncatingIfNeeded: SplitMix64.mix(UInt64(user) << 32 | UInt64(category)) >> 32) & 0x7FFF_FFFF
    }

    @inline(__always)
    private func place(_ tag: UInt32) -> Int { Int(tag) & (pairs.count - 1) }
}
