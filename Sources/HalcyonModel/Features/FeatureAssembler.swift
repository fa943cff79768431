import HalcyonEviction

/// Turns what is known at an instant into a row of features, a byte each, and keeps what is known of categories and users.
///
/// It knows nothing but the accesses it was told of. A row is O(1 + categories of the object).
struct FeatureAssembler: ~Copyable {
    private let uses: Switches
    var sets = CategorySetTable()
    private var categories = CategoryProfiles()
    private var users = UserProfiles()
    /// The categories of the latest access.
    private var current: CategorySetID = 0
    /// Requests of all caches that share this; what is known of categories and users is dated by it.
    private var clock: UInt32 = 0
    private var dayPhase: UInt8 = 0
    private var dayQuadrature: UInt8 = 0

    init(groups: FeatureGroups) { uses = Switches(groups) }

    var byteCount: Int { sets.byteCount + categories.byteCount + users.byteCount }

    /// Takes an access into account; `gap` is the object's time since the last one in octaves, 255 if there was none.
    mutating func note(_ access: Access, second: UInt32, gap: UInt8) {
        clock &+= 1
        current = access.categories
        if uses.time {
            let phase = Float(second % 86_400) / 86_400
            dayPhase = FastMath.share(abs(2 * phase - 1))
            let shifted = phase < 0.75 ? phase + 0.25 : phase - 0.75
            dayQuadrature = FastMath.share(abs(2 * shifted - 1))
        }
        if access.categories == 0 && access.user == .max { return }
        let members = sets[access.categories]
        if uses.category {
            for category in members { categories.note(category, now: clock, gap: gap) }
        }
        if access.user != .max && (uses.user || uses.session) {
            users.note(access.user, categories: access.categories, members: members, now: clock)
        }
    }

    /// Writes the features of an object as of `now`, in requests of its cache.
    ///
    /// - Parameter aged: the clock of ``GreedyDual``.
    @inline(__always)
    func write(
        _ record: ObjectRecord, aged: Float, now: UInt32, second: UInt32, into row: UnsafeMutablePointer<UInt8>
    ) {
        let age = now &- record.last
        let ageOctaves = FastMath.octaves(age)
        if uses.recency {
            row[Feature.age] = ageOctaves
            row[Feature.gap1] = record.gap1
            row[Feature.gap2] = record.gap2
            row[Feature.gap3] = record.gap3
            row[Feature.sinceFirst] = FastMath.octaves(now &- record.first)
            row[Feature.overdue] = 128 &+ (ageOctaves >> 1) &- (record.gap1 >> 1)
        }
        if uses.frequency {
            var counts = record.counts.counts
            counts.decay(by: age)
            row[Feature.count0] = FastMath.fineOctaves(counts.c0)
            row[Feature.count1] = FastMath.fineOctaves(counts.c1)
            row[Feature.count2] = FastMath.fineOctaves(counts.c2)
            row[Feature.count3] = FastMath.fineOctaves(counts.c3)
            row[Feature.accesses] = FastMath.fineOctaves(FastMath.float(small: UInt32(record.accesses)))
            row[Feature.residentAccesses] = FastMath.fineOctaves(FastMath.float(small: UInt32(record.residentAccesses)))
            row[Feature.worth] = GreedyDual.octaves(record.priority - aged)
        }
        if uses.size { row[Feature.size] = FastMath.byte(record.logCost * 8) }
        if uses.popularity {
            let changes = FastMath.float(small: UInt32(record.userChanges))
            row[Feature.userChanges] = FastMath.fineOctaves(changes)
            row[Feature.foreignShare] = FastMath.share(changes / FastMath.float(small: UInt32(record.accesses)))
        }
        if uses.time {
            row[Feature.seconds] = FastMath.octaves(second &- record.lastSecond)
            row[Feature.dayPhase] = dayPhase
            row[Feature.dayQuadrature] = dayQuadrature
        }
        if record.categories != 0 || record.user != .max { writeContext(record, into: row) }
    }

    @inline(__always)
    private func writeContext(_ record: ObjectRecord, into row: UnsafeMutablePointer<UInt8>) {
        let members = sets[record.categories]
        if members.count > 0 && uses.category { categories.write(members, now: clock, into: row) }
        if uses.session {
            row[Feature.asNow] = FastMath.share(sets.overlap(of: record.categories, with: current))
        }
        guard (uses.user || uses.session), let profile = users.profile(of: record.user) else { return }
        if members.count > 0 && uses.user { users.write(profile, members: members, into: row) }
        if uses.session {
            row[Feature.active] = FastMath.share(sets.overlap(of: record.categories, with: profile.active))
            row[Feature.sinceUser] = FastMath.octaves(clock &- profile.last)
        }
    }
}

/// The groups of features as plain truth values, which cost nothing to ask in a debug build either.
private struct Switches: BitwiseCopyable {
    let recency, frequency, size, popularity, category, user, session, time: Bool

    init(_ groups: FeatureGroups) {
        recency = groups.contains(.recency)
        frequency = groups.contains(.frequency)
        size = groups.contains(.size)
        popularity = groups.contains(.popularity)
        category = groups.contains(.category)
        user = groups.contains(.user)
        session = groups.contains(.session)
        time = groups.contains(.time)
    }
}
