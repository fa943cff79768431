import HalcyonEviction

/// The use of each category by all users.
///
/// Categories beyond the bound share profiles with others. All operations are O(1) a category. Bytes: 24 a category, up to
/// the bound.
struct CategoryProfiles: ~Copyable {
    /// The weight of the latest access in the moving means after many accesses.
    private static let latest: Float = 0.002

    struct Profile: BitwiseCopyable {
        /// The request of the last access.
        var last: UInt32 = 0
        /// Accesses with a half-life of 1,000 and of 50,000 requests.
        var fast: Float = 0
        var slow: Float = 0
        /// The ratio of accesses to objects seen before, and the time since their last access in octaves, as moving means.
        var reuse: Float = 0.5
        var gap: Float = 128
        /// The number of accesses.
        var accesses: UInt32 = 0
    }

    private var profiles = SlotArray(repeating: Profile())
    private let mask: UInt32

    /// - Parameter bound: a power of two.
    init(bound: UInt32) { mask = bound - 1 }

    var byteCount: Int { profiles.byteCount }

    /// Counts access number `now`, to an object of `category`. `gap` is in octaves, 255 for a new object.
    mutating func note(_ category: UInt32, now: Int, gap: UInt8) {
        let slot = category & mask
        var profile = profiles[slot]
        let time = -FastMath.float(UInt32(truncatingIfNeeded: now) &- profile.last)
        profile.fast = profile.fast * FastMath.exp2(time * 0.001) + 1
        profile.slow = profile.slow * FastMath.exp2(time * 0.000_02) + 1
        let isReuse = gap != .max
        profile.accesses = min(profile.accesses, .max - 1) &+ 1
        let share = max(CategoryProfiles.latest, 1 / (8 + FastMath.float(profile.accesses)))
        profile.reuse += ((isReuse ? 1 : 0) - profile.reuse) * share
        if isReuse { profile.gap += (Float(gap) - profile.gap) * share }
        profile.last = UInt32(truncatingIfNeeded: now)
        profiles[slot] = profile
    }

    /// Limits the time since the last access to each category; see `WrappingClock`. O(categories).
    mutating func limitAges(at now: UInt32) {
        for slot in 0..<UInt32(profiles.capacity) {
            profiles[slot].last = WrappingClock.limited(profiles[slot].last, now: now)
        }
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

/// The transitions between categories: how often an access to each category followed an access to each category set.
///
/// The successors of a set lie together in memory (``PairRows``). All operations are O(1) a category of the object. Bytes:
/// 12 a place for a pair, up to the bound, and 24 a set.
@usableFromInline
struct CategoryTransitions: ~Copyable {
    /// Counts halve every 2¹⁷ requests.
    @inlinable static var epochShift: Int { 17 }

    /// Returns the epoch of an access, modulo 2³².
    @inlinable @inline(__always)
    static func epoch(of now: Int) -> UInt32 { UInt32(truncatingIfNeeded: now >> epochShift) }

    @usableFromInline
    struct Count: BitwiseCopyable {
        @usableFromInline var epoch: UInt32 = 0
        @usableFromInline var weight: Float = 0

        @inlinable
        @inline(__always)
        func weight(in epoch: UInt32) -> Float {
            epoch == self.epoch ? weight : FastMath.halved(weight, times: epoch &- self.epoch)
        }

        @inline(__always)
        mutating func add(in epoch: UInt32) {
            weight = weight(in: epoch) + 1
            self.epoch = epoch
        }
    }

    /// The number of accesses that followed each set.
    @usableFromInline var totals = SlotArray(repeating: Count())
    @usableFromInline var counts: PairRows<Count>

    /// Creates statistics with at most `bound` places for pairs of a set and a category that followed it.
    init(bound: Int) { counts = PairRows(repeating: Count(), bound: bound) }

    var byteCount: Int { totals.byteCount + counts.byteCount }

    /// Counts access number `now`, to `members` by a user whose access before was to the set `from`.
    mutating func note(from: CategorySetID, to members: UnsafeBufferPointer<UInt32>, now: Int) {
        if from == 0 || from >= CategorySetMembers.bound { return }
        let epoch = CategoryTransitions.epoch(of: now)
        totals[from].add(in: epoch)
        for category in members { counts.update(from, category) { $0.add(in: epoch) } }
    }

    /// Returns the categories that followed a set.
    @inlinable @inline(__always)
    func followers(of from: CategorySetID) -> PairRow { counts[from] }

    /// Returns the number of accesses that followed a set.
    @inlinable @inline(__always)
    func followed(_ from: CategorySetID, now: Int) -> Float {
        totals[from].weight(in: CategoryTransitions.epoch(of: now))
    }

    /// Starts loading the transitions from a set to `category` into the processor's cache.
    @inlinable @inline(__always)
    func expect(_ category: UInt32, in followers: PairRow) { counts.expect(category, in: followers) }

    /// Returns the probability that the access after one to a set goes to the most likely of `members`: by the counts so far,
    /// plus five accesses to other categories.
    ///
    /// - Parameter followed: the number of accesses that followed the set.
    @inline(__always)
    func probability(
        _ followers: PairRow, _ followed: Float, to members: UnsafeBufferPointer<UInt32>, now: Int
    ) -> Float {
        let epoch = CategoryTransitions.epoch(of: now)
        var most: Float = 0
        var index = 0
        while index < members.count {
            if let count = counts.value(members[index], in: followers)?.pointee, count.weight(in: epoch) > most {
                most = count.weight(in: epoch)
            }
            index &+= 1
        }
        return most / (followed + 5)
    }
}
