import HalcyonEviction

/// Turns what is known at an instant into a row of features, a byte each, and keeps what is known of categories and users.
///
/// It knows nothing but the accesses it was told of. A row is O(1 + categories of the object + categories of the user's
/// latest access), two small sets of which most have one member.
struct FeatureAssembler: ~Copyable {
    private let uses: FeatureSwitches
    /// Of all caches that share this.
    var habits: HabitFeatures
    private var fleet = FleetPopularity()
    private let scales = FeatureScales()
    /// The row that is being written, as plain numbers.
    private let numbers = HeapArray<Float>(repeating: 0, count: Feature.width)
    /// Of several rows: the first that has a set of categories, and who asked for each.
    private var firstRows = MarkedPlaces()
    private var askers = HeapArray(repeating: KnownUser(), count: 0)

    init(groups: FeatureGroups) {
        uses = FeatureSwitches(groups)
        habits = HabitFeatures(groups, bounds: .cache)
    }

    var byteCount: Int {
        habits.byteCount + fleet.byteCount + scales.byteCount + numbers.byteCount + firstRows.byteCount
            + askers.byteCount
    }

    /// Takes an access into account.
    ///
    /// - Parameters:
    ///   - gap: the object's time since the last one in octaves, 255 if there was none.
    ///   - isRepeat: whether the same user asked for it before.
    mutating func note(_ access: Access, second: UInt32, gap: UInt8, isRepeat: Bool) {
        habits.note(access, second: second, gap: gap, isRepeat: isRepeat)
        if uses.fleet { fleet.note(access.object, now: habits.clock) }
    }

    /// Writes the features of an object as of `now`, in requests of its cache, as bytes.
    ///
    /// - Parameter aged: the clock of ``GreedyDual``.
    mutating func write(
        _ record: ObjectRecord, aged: Float, now: UInt32, second: UInt32, into row: UnsafeMutablePointer<UInt8>
    ) {
        describe(record, aged: aged, now: now, second: second)
        scales.pack(numbers.base, into: row)
    }

    /// Writes them as inputs of a network; the same as those of the bytes.
    mutating func write(
        _ record: ObjectRecord, aged: Float, now: UInt32, second: UInt32, inputs: UnsafeMutablePointer<Float>
    ) {
        describe(record, aged: aged, now: now, second: second)
        scales.encode(numbers.base, into: inputs)
    }

    /// Writes them of several objects, a row each. What habits tell of a set of categories is worked out once for the objects of one user.
    mutating func write(
        _ slots: UnsafePointer<UInt32>, count: Int, in records: UnsafePointer<ObjectRecord>, aged: Float, now: UInt32,
        second: UInt32, inputs: UnsafeMutablePointer<Float>
    ) {
        guard count > 0 else { return }
        let user = records[Int(slots[0])].user
        expect(slots, count: count, in: records)
        firstRows.begin()
        for place in 0..<count {
            let record = records + Int(slots[place])
            let row = inputs + place &* Feature.width
            let set = record.pointee.categories
            let isMarked = record.pointee.user == user && set < CategorySetTable.bound
            let first = isMarked ? firstRows.place(of: set) : nil
            describe(
                record.pointee, aged: aged, now: now, second: second, withHabits: first == nil, askers[place])
            scales.encode(numbers.base, into: row)
            if let first {
                Feature.copyHabits(from: inputs + first &* Feature.width, to: row)
            } else if isMarked {
                firstRows.mark(set, at: place)
            }
        }
    }

    /// Looks up who asked for some objects, and has what their rows need on its way from memory, which is what they would wait for
    /// otherwise.
    private mutating func expect(_ slots: UnsafePointer<UInt32>, count: Int, in records: UnsafePointer<ObjectRecord>) {
        if count > askers.count { askers.grow(to: max(count, askers.count * 2), filling: KnownUser()) }
        var index = 0
        while index < count {
            let record = records + Int(slots[index])
            let user = record.pointee.user
            askers[index] = index > 0 && askers[index - 1].user == user ? askers[index - 1] : habits.known(user)
            habits.expect(record.pointee.categories, askers[index])
            index &+= 1
        }
    }

    /// Sets ``numbers`` to what is known of an object.
    @inline(__always)
    private mutating func describe(
        _ record: ObjectRecord, aged: Float, now: UInt32, second: UInt32, withHabits: Bool = true,
        _ asker: KnownUser? = nil
    ) {
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
            habits.writeTime(into: row)
        }
        if uses.fleet { fleet.write(record.object, now: habits.clock, into: row) }
        // Where there is neither a user nor a category nobody need be looked up.
        if withHabits && (record.categories != 0 || record.user != .max) {
            habits.write(record.categories, asker ?? habits.known(record.user), into: row)
        }
    }
}
