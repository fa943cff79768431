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
    /// What is known of the users and categories of several objects.
    private var columns = HabitColumns()

    init(groups: FeatureGroups) {
        uses = FeatureSwitches(groups)
        habits = HabitFeatures(groups, bounds: .cache)
    }

    var byteCount: Int {
        habits.byteCount + fleet.byteCount + scales.byteCount + numbers.byteCount + columns.byteCount
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

    /// Writes them of several objects as inputs of a network that are the columns of a matrix.
    mutating func write(
        _ slots: UnsafePointer<UInt32>, count: Int, in records: UnsafePointer<ObjectRecord>, aged: Float, now: UInt32,
        second: UInt32, columns matrix: UnsafeMutablePointer<Float>
    ) {
        guard count > 0 else { return }
        columns.begin(records[Int(slots[0])].user, bound: count)
        for index in 0..<count {
            let record = records + Int(slots[index])
            columns.add(record.pointee.categories, of: record.pointee.user, at: index, &habits)
            write(record.pointee, aged: aged, now: now, second: second, into: matrix + index, stride: count)
        }
        if uses.frequency {
            DecayedCounts.decay(
                matrix + Feature.count0 * count, by: matrix + Feature.age * count, count: count)
            GreedyDual.octaves(matrix + Feature.worth * count, count: count)
        }
        encode(Feature.age..<Feature.count0, of: matrix, count: count, isTold: uses.recency)
        encode(Feature.count0..<Feature.size, of: matrix, count: count, isTold: uses.frequency)
        encode(Feature.size..<Feature.userChanges, of: matrix, count: count, isTold: uses.size)
        encode(Feature.userChanges..<Feature.habits.lowerBound, of: matrix, count: count, isTold: uses.popularity)
        columns.complete(&habits)
        for place in 0..<HabitColumns.rows {
            let feature = Feature.habit(place)
            columns.encode(feature, objects: count, scales: scales, into: matrix + feature * count)
        }
        encode(Feature.seconds..<Feature.dayPhase, of: matrix, count: count, isTold: uses.time)
        if uses.time { habits.writeTime(into: numbers.base) }
        for feature in Feature.timeOfDay {
            fill(feature, of: matrix, count: count, with: uses.time ? numbers[feature] : 0)
        }
        encode(Feature.fleetRate..<Feature.one, of: matrix, count: count, isTold: uses.fleet)
        (matrix + Feature.one * count).update(repeating: 1, count: count)
    }

    /// Turns the plain numbers of some features into inputs, a row of `count` each; what is not told is 0.
    private func encode(_ features: Range<Int>, of matrix: UnsafeMutablePointer<Float>, count: Int, isTold: Bool) {
        for feature in features {
            let row = matrix + feature * count
            if isTold {
                scales.encode(row, count: count, of: feature)
            } else {
                fill(feature, of: matrix, count: count, with: 0)
            }
        }
    }

    /// Writes a feature that is the same for all.
    private func fill(_ feature: Int, of matrix: UnsafeMutablePointer<Float>, count: Int, with number: Float) {
        var number = number
        scales.encode(&number, count: 1, of: feature)
        (matrix + feature * count).update(repeating: number, count: count)
    }

    /// Sets ``numbers`` to what is known of an object.
    @inline(__always)
    private mutating func describe(_ record: ObjectRecord, aged: Float, now: UInt32, second: UInt32) {
        let row = numbers.base
        row.update(repeating: 0, count: Feature.width)
        write(record, aged: aged, now: now, second: second, into: row, stride: 1)
        if uses.frequency {
            DecayedCounts.decay(row + Feature.count0, by: row + Feature.age, count: 1)
            GreedyDual.octaves(row + Feature.worth, count: 1)
        }
        if !uses.recency { row[Feature.age] = 0 }
        if uses.time { habits.writeTime(into: row) }
        // Where there is neither a user nor a category nobody need be looked up.
        if record.categories != 0 || record.user != .max {
            habits.write(record.categories, habits.known(record.user), into: row)
        }
    }

    /// Writes what is known of an object itself as plain numbers that are `stride` apart: its age in any case, counts as of its last
    /// access, its worth as it is.
    @inline(__always)
    private mutating func write(
        _ record: ObjectRecord, aged: Float, now: UInt32, second: UInt32, into row: UnsafeMutablePointer<Float>,
        stride: Int
    ) {
        row[Feature.age * stride] = FastMath.float(now &- record.last)
        if uses.recency {
            row[Feature.gap1 * stride] = FastMath.float(small: UInt32(record.gap1))
            row[Feature.gap2 * stride] = FastMath.float(small: UInt32(record.gap2))
            row[Feature.gap3 * stride] = FastMath.float(small: UInt32(record.gap3))
            row[Feature.sinceFirst * stride] = FastMath.float(now &- record.first)
        }
        if uses.frequency {
            let counts = record.counts.counts
            row[Feature.count0 * stride] = counts.c0
            row[Feature.count1 * stride] = counts.c1
            row[Feature.count2 * stride] = counts.c2
            row[Feature.count3 * stride] = counts.c3
            row[Feature.accesses * stride] = FastMath.float(small: UInt32(record.accesses))
            row[Feature.residentAccesses * stride] = FastMath.float(small: UInt32(record.residentAccesses))
            row[Feature.worth * stride] = record.priority - aged
        }
        if uses.size { row[Feature.size * stride] = record.logCost }
        if uses.popularity {
            row[Feature.userChanges * stride] = FastMath.float(small: UInt32(record.userChanges))
        }
        if uses.time { row[Feature.seconds * stride] = FastMath.float(second &- record.lastSecond) }
        if uses.fleet { fleet.write(record.object, now: habits.clock, into: row, stride: stride) }
    }
}
