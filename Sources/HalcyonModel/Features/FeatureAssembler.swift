import HalcyonEviction

/// Turns what is known at an instant into a row of features, a byte each, and keeps what is known of categories and users.
///
/// It knows nothing but the accesses it was told of. A row is O(1 + categories of the object).
struct FeatureAssembler: ~Copyable {
    private let uses: Switches
    var sets = CategorySetTable()
    private var categories = CategoryProfiles()
    private var users = UserProfiles()
    private var fleet = FleetPopularity()
    private var transitions = CategoryTransitions()
    /// The categories of the latest access.
    private var current: CategorySetID = 0
    /// Requests of all caches that share this; what is known of categories and users is dated by it.
    private var clock: UInt32 = 0
    private var day = Phase()
    private var week = Phase()
    private let scales = FeatureScales()
    /// The row that is being written, as plain numbers.
    private let numbers = HeapArray<Float>(repeating: 0, count: Feature.width)

    init(groups: FeatureGroups) { uses = Switches(groups) }

    var byteCount: Int {
        sets.byteCount + categories.byteCount + users.byteCount + fleet.byteCount + transitions.byteCount
            + scales.byteCount + numbers.byteCount
    }

    /// Takes an access into account.
    ///
    /// - Parameters:
    ///   - gap: the object's time since the last one in octaves, 255 if there was none.
    ///   - isRepeat: whether the same user asked for it before.
    mutating func note(_ access: Access, second: UInt32, gap: UInt8, isRepeat: Bool) {
        clock &+= 1
        if uses.fleet { fleet.note(access.object, now: clock) }
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

    /// Writes the features of an object as of `now`, in requests of its cache, as bytes.
    ///
    /// - Parameter aged: the clock of ``GreedyDual``.
    func write(
        _ record: ObjectRecord, aged: Float, now: UInt32, second: UInt32, into row: UnsafeMutablePointer<UInt8>
    ) {
        describe(record, aged: aged, now: now, second: second)
        scales.pack(numbers.base, into: row)
    }

    /// Writes them as inputs of a network; the same as those of the bytes.
    func write(
        _ record: ObjectRecord, aged: Float, now: UInt32, second: UInt32, inputs: UnsafeMutablePointer<Float>
    ) {
        describe(record, aged: aged, now: now, second: second)
        scales.encode(numbers.base, into: inputs)
    }

    /// Has what an access will change on its way from memory.
    @inline(__always)
    func expect(_ access: Access) {
        guard uses.user, access.user != .max else { return }
        let members = sets[access.categories]
        if members.count > 0 { users.expect(access.user, members[0]) }
    }

    /// Has what the rows of some records need on its way from memory, which is what they would wait for otherwise.
    func expect(_ slots: UnsafePointer<UInt32>, count: Int, in records: UnsafePointer<ObjectRecord>) {
        guard uses.user || uses.session else { return }
        var index = 0
        while index < count {
            let record = records + Int(slots[index])
            let members = sets[record.pointee.categories]
            if members.count > 0 && record.pointee.user != .max {
                if uses.user { users.expect(record.pointee.user, members[0]) }
                if uses.session, let profile = users.profile(of: record.pointee.user) {
                    transitions.expect(profile.active, members[0])
                }
            }
            index &+= 1
        }
    }

    /// Sets ``numbers`` to what is known of an object.
    private func describe(_ record: ObjectRecord, aged: Float, now: UInt32, second: UInt32) {
        let row = numbers.base
        row.update(repeating: 0, count: Feature.width)
        let age = now &- record.last
        if uses.recency {
            row[Feature.age] = FastMath.float(age)
            row[Feature.gap1] = FastMath.float(small: UInt32(record.gap1))
            row[Feature.gap2] = FastMath.float(small: UInt32(record.gap2))
            row[Feature.gap3] = FastMath.float(small: UInt32(record.gap3))
            row[Feature.sinceFirst] = FastMath.float(now &- record.first)
        }
        if uses.frequency {
            var counts = record.counts.counts
            counts.decay(by: age)
            row[Feature.count0] = counts.c0
            row[Feature.count1] = counts.c1
            row[Feature.count2] = counts.c2
            row[Feature.count3] = counts.c3
            row[Feature.accesses] = FastMath.float(small: UInt32(record.accesses))
            row[Feature.residentAccesses] = FastMath.float(small: UInt32(record.residentAccesses))
            row[Feature.worth] = FastMath.float(small: UInt32(GreedyDual.octaves(record.priority - aged)))
        }
        if uses.size { row[Feature.size] = record.logCost }
        if uses.popularity {
            row[Feature.userChanges] = FastMath.float(small: UInt32(record.userChanges))
        }
        if uses.time {
            row[Feature.seconds] = FastMath.float(second &- record.lastSecond)
            row[Feature.dayPhase] = day.direct
            row[Feature.dayQuadrature] = day.quadrature
            row[Feature.weekPhase] = week.direct
            row[Feature.weekQuadrature] = week.quadrature
        }
        if uses.fleet { fleet.write(record.object, now: clock, into: row) }
        if record.categories != 0 || record.user != .max { writeContext(record, into: row) }
    }

    @inline(__always)
    private func writeContext(_ record: ObjectRecord, into row: UnsafeMutablePointer<Float>) {
        let members = sets[record.categories]
        if members.count > 0 && uses.category { categories.write(members, now: clock, into: row) }
        guard (uses.user || uses.session || uses.activity), let profile = users.profile(of: record.user) else {
            if uses.session && record.user == .max {
                writeSession(record, active: current, members: members, into: row)
            }
            return
        }
        if members.count > 0 && uses.user { users.write(profile, members: members, into: row) }
        if uses.session { writeSession(record, active: profile.active, members: members, into: row) }
        if uses.activity {
            row[Feature.sinceUser] = FastMath.float(clock &- profile.last)
            row[Feature.sessionLength] = FastMath.float(profile.sessionLength)
            row[Feature.userAccesses] = FastMath.float(profile.accesses)
        }
    }

    @inline(__always)
    private func writeSession(
        _ record: ObjectRecord, active: CategorySetID, members: UnsafeBufferPointer<UInt32>,
        into row: UnsafeMutablePointer<Float>
    ) {
        row[Feature.active] = sets.overlap(of: record.categories, with: active)
        // Told in sixteenths of an octave down to 2⁻¹⁶.
        let chance = transitions.chance(from: active, to: members, now: clock)
        row[Feature.transition] = chance * 0x1p16
    }
}

/// The groups of features as plain truth values, which cost nothing to ask in a debug build either.
private struct Switches: BitwiseCopyable {
    let recency, frequency, size, popularity, category, user, session, time, activity, fleet: Bool

    init(_ groups: FeatureGroups) {
        recency = groups.contains(.recency)
        frequency = groups.contains(.frequency)
        size = groups.contains(.size)
        popularity = groups.contains(.popularity)
        category = groups.contains(.category)
        user = groups.contains(.user)
        session = groups.contains(.session)
        time = groups.contains(.time)
        activity = groups.contains(.activity)
        fleet = groups.contains(.fleet)
    }
}

/// Where an instant stands in a period, without a jump: two waves in the form of triangles, a quarter of the period apart.
private struct Phase: BitwiseCopyable {
    private(set) var direct: Float = 0
    private(set) var quadrature: Float = 0

    init() {}

    init(_ second: UInt32, of period: UInt32) {
        let phase = Float(second % period) / Float(period)
        direct = abs(2 * phase - 1)
        let shifted = phase < 0.75 ? phase + 0.25 : phase - 0.75
        quadrature = abs(2 * shifted - 1)
    }
}
