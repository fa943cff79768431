import HalcyonEviction

/// The instant as of which features are computed.
struct FeatureInstant: BitwiseCopyable {
    /// The request of the cache.
    var request: Int
    /// The wall time in seconds, modulo 2³².
    var second: UInt32
    /// The clock of ``GreedyDual``.
    var greedyDualClock: Float
    /// How the cache is used.
    var workload = WorkloadStatistics()
}

/// Computes the features of objects and keeps the statistics of categories and users that they need.
///
/// The statistics come from the observed accesses alone. A row is O(1 + categories of the object + categories of the user's
/// last access), two small sets of which most have one member.
struct FeatureAssembler: ~Copyable {
    /// How many objects ahead the record of an object is loaded into the processor's cache.
    private static let lookahead = 8

    private let uses: FeatureSwitches
    /// The user–category features, over all caches that share the model.
    var userCategory: UserCategoryFeatures
    /// What lists showed, to all caches that share the model.
    var shown = ShownStatistics()
    private let scales: FeatureScales
    private let vectors: VectorKernels
    /// The present row as plain numbers.
    private let numbers = HeapArray<Float>(repeating: 0, count: Feature.places)
    /// The user–category features of several objects.
    private var columns = UserCategoryColumns()

    init(groups: FeatureGroups, vectors: VectorKernels = VectorKernels()) {
        self.vectors = vectors
        scales = FeatureScales(vectors: vectors)
        uses = FeatureSwitches(groups)
        userCategory = UserCategoryFeatures(groups, bounds: .cache)
    }

    /// Whether what lists showed is an input.
    var usesShowings: Bool { uses.shown }

    var byteCount: Int {
        userCategory.byteCount + shown.byteCount + scales.byteCount + numbers.byteCount + columns.byteCount
    }

    /// Writes the features of an object as bytes.
    mutating func write(
        _ record: UnsafePointer<ObjectRecord>, at instant: FeatureInstant, into row: UnsafeMutablePointer<UInt8>
    ) {
        describe(record.pointee, at: instant)
        scales.pack(numbers.base, into: row)
    }

    /// Writes the features of an object as inputs of a network, equal to those of its bytes.
    mutating func write(
        _ record: UnsafePointer<ObjectRecord>, at instant: FeatureInstant, inputs: UnsafeMutablePointer<Float>
    ) {
        describe(record.pointee, at: instant)
        scales.encode(numbers.base, into: inputs)
    }

    /// Writes the features of several objects as inputs of a network: a matrix with a column for each object.
    mutating func write(
        _ slots: UnsafePointer<UInt32>, count: Int, of records: UnsafePointer<ObjectRecord>, at instant: FeatureInstant,
        columns matrix: UnsafeMutablePointer<Float>
    ) {
        guard count > 0 else { return }
        columns.begin(records[Int(slots[0])].user, bound: count)
        for index in 0..<count {
            let record = records + Int(slots[index])
            let ahead = index &+ FeatureAssembler.lookahead
            if ahead < count { ObjectRecord.expect(records + Int(slots[ahead])) }
            columns.add(record.pointee.categories, of: record.pointee.user, at: index, &userCategory)
            write(record.pointee, at: instant, into: matrix + index, stride: count)
        }
        if uses.frequency {
            DecayedCounts.decay(
                matrix + Feature.count0 * count, by: matrix + Feature.age * count, count: count, vectors)
            vectors.octaves(matrix + Feature.worth * count, count: count)
        }
        encode(Feature.age..<Feature.count0, of: matrix, count: count, isUsed: uses.recency)
        encode(Feature.count0..<Feature.size, of: matrix, count: count, isUsed: uses.frequency)
        encode(Feature.size..<Feature.userCategory.lowerBound, of: matrix, count: count, isUsed: uses.size)
        columns.complete(&userCategory)
        for place in 0..<UserCategoryColumns.rowsOfResidents {
            let feature = Feature.userCategoryFeature(place)
            columns.encode(feature, objects: count, scales: scales, into: matrix + feature * count)
        }
        encode(Feature.seconds..<Feature.dayPhase, of: matrix, count: count, isUsed: uses.time)
        if uses.time { userCategory.writeTime(into: numbers.base) }
        for feature in Feature.timeOfDay {
            fill(feature, of: matrix, count: count, with: uses.time ? numbers[feature] : 0)
        }
        if uses.workload { instant.workload.write(into: numbers.base + Feature.workload.lowerBound) }
        if uses.shown {
            let shownRows = matrix + Feature.shown.lowerBound * count
            for index in 0..<count {
                shown.write(records[Int(slots[index])].object, into: shownRows + index, stride: count)
            }
            scales.encode(shownRows, count: count, of: Feature.shown)
        } else {
            for feature in Feature.workload {
                fill(feature, of: matrix, count: count, with: uses.workload ? numbers[feature] : 0)
            }
        }
        (matrix + Feature.one * count).update(repeating: 1, count: count)
    }

    /// Converts the plain numbers of some features to inputs, a row of `count` each; an unused feature is 0.
    private func encode(_ features: Range<Int>, of matrix: UnsafeMutablePointer<Float>, count: Int, isUsed: Bool) {
        if isUsed { return scales.encode(matrix + features.lowerBound * count, count: count, of: features) }
        for feature in features { fill(feature, of: matrix, count: count, with: 0) }
    }

    /// Writes a feature that is equal for all objects.
    private func fill(_ feature: Int, of matrix: UnsafeMutablePointer<Float>, count: Int, with number: Float) {
        var number = number
        scales.encode(&number, count: 1, of: feature)
        (matrix + feature * count).update(repeating: number, count: count)
    }

    /// Sets ``numbers`` to the features of an object.
    @inline(__always)
    private mutating func describe(_ record: ObjectRecord, at instant: FeatureInstant) {
        let row = numbers.base
        row.update(repeating: 0, count: Feature.places)
        write(record, at: instant, into: row, stride: 1)
        if uses.frequency {
            var counts = record.counts.counts
            counts.decay(by: record.age(at: instant.request))
            counts.write(to: row + Feature.count0)
            row[Feature.worth] = GreedyDual.level(record.priority - instant.greedyDualClock)
        }
        if !uses.recency { row[Feature.age] = 0 }
        if uses.time { userCategory.writeTime(into: row) }
        if uses.workload { instant.workload.write(into: row + Feature.workload.lowerBound) }
        if uses.shown { shown.write(record.object, into: row + Feature.shown.lowerBound, stride: 1) }
        // Without a user and a category there is nothing to look up.
        if record.categories != 0 || record.user != .max {
            userCategory.write(record.categories, userCategory.statistics(of: record.user), into: row)
        }
    }

    /// Writes the features of the object itself as plain numbers that are `stride` apart. The age is always written; counts are
    /// as of the last access.
    @inline(__always)
    private mutating func write(
        _ record: ObjectRecord, at instant: FeatureInstant, into row: UnsafeMutablePointer<Float>, stride: Int
    ) {
        row[Feature.age * stride] = FastMath.float(record.age(at: instant.request))
        if uses.recency {
            row[Feature.gap1 * stride] = FastMath.float(small: UInt32(record.gap1))
            row[Feature.gap2 * stride] = FastMath.float(small: UInt32(record.gap2))
            row[Feature.gap3 * stride] = FastMath.float(small: UInt32(record.gap3))
            row[Feature.sinceFirst * stride] = FastMath.float(record.ageOfFirst(at: instant.request))
        }
        if uses.frequency {
            record.counts.counts.write(to: row + Feature.count0 * stride, stride: stride)
            row[Feature.accesses * stride] = FastMath.float(small: UInt32(record.accesses))
            row[Feature.residentAccesses * stride] = FastMath.float(small: UInt32(record.residentAccesses))
            row[Feature.worth * stride] = record.priority - instant.greedyDualClock
        }
        if uses.size { row[Feature.size * stride] = record.logSize }
        if uses.time { row[Feature.seconds * stride] = FastMath.float(instant.second &- record.lastSecond) }
    }
}
