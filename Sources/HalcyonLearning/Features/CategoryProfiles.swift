import HalcyonEviction

/// How each category is used over all users.
///
/// Categories beyond the bound share the profiles of those before them. All operations O(1) a category. Bytes: 24 a
/// category, up to the bound.
struct CategoryProfiles: ~Copyable {
    /// The share of the latest access in the moving means, once there were many.
    private static let latest: Float = 0.002

    struct Profile: BitwiseCopyable {
        /// The request of the last access.
        var last: UInt32 = 0
        /// Accesses with a half-life of 1,000 and of 50,000 requests.
        var fast: Float = 0
        var slow: Float = 0
        /// The share of accesses to objects that were seen before, and their time since then in octaves: moving means.
        var reuse: Float = 0.5
        var gap: Float = 128
        /// How many accesses there were.
        var accesses: UInt32 = 0
    }

    private var profiles = SlotArray(repeating: Profile())
    private let mask: UInt32

    /// - Parameter bound: a power of two.
    init(bound: UInt32) { mask = bound - 1 }

    var byteCount: Int { profiles.byteCount }

    /// Takes an access at `now` to an object of `category` into account; `gap` is in octaves, 255 for a new object.
    mutating func note(_ category: UInt32, now: Int, gap: UInt8) {
        let slot = category & mask
        var profile = profiles[slot]
        let time = -FastMath.float(UInt32(truncatingIfNeeded: now) &- profile.last)
        profile.fast = profile.fast * FastMath.exp2(time * 0.001) + 1
        profile.slow = profile.slow * FastMath.exp2(time * 0.000_02) + 1
        let isReuse = gap != .max
        profile.accesses &+= 1
        let share = max(CategoryProfiles.latest, 1 / (8 + FastMath.float(profile.accesses)))
        profile.reuse += ((isReuse ? 1 : 0) - profile.reuse) * share
        if isReuse { profile.gap += (Float(gap) - profile.gap) * share }
        profile.last = UInt32(truncatingIfNeeded: now)
        profiles[slot] = profile
    }

    /// Writes the mean over `members` into a row.
    @inline(__always)
    func write(_ members: UnsafeBufferPointer<UInt32>, now: Int, into row: UnsafeMutablePointer<Float>) {
        var (fast, slow, reuse, gap): (Float, Float, Float, Float) = (0, 0, 0, 0)
        var nearest = UInt32.max
        var index = 0
        while index < members.count {
            let profile = profiles[members[index] & mask]
            let age = UInt32(truncatingIfNeeded: now) &- profile.last
            let time = -FastMath.float(age)
            fast += profile.fast * FastMath.exp2(time * 0.001)
            slow += profile.slow * FastMath.exp2(time * 0.000_02)
            reuse += profile.reuse
            gap += profile.gap
            if age < nearest { nearest = age }
            index &+= 1
        }
        let scale: Float = members.count == 1 ? 1 : 1 / Float(members.count)
        row[Feature.categoryFast] = fast * scale
        row[Feature.categorySlow] = slow * scale
        row[Feature.categoryAge] = FastMath.float(nearest)
        row[Feature.categoryReuse] = reuse * scale
        row[Feature.categoryGap] = gap * scale
    }
}
