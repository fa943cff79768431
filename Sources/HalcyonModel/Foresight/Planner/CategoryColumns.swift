import HalcyonEviction

/// What the categories of a set contribute to the inputs of each candidate that has them, worked out once a plan: a matrix with a
/// column for each set.
///
/// O(categories) a set.
struct CategoryColumns: ~Copyable {
    /// The rows after those of ``PlannerInput/habitFeatures``: accesses to the categories, decayed, over all users; how probably
    /// the user's next request is to one of them, roughly.
    static let slow = PlannerInput.habitFeatures.count
    static let outlook = slow + 1
    private static let rows = outlook + 1
    /// Sets at a time: one of each candidate.
    private static let bound = CandidateList.bound

    private let values = HeapArray<Float>(repeating: 0, count: rows * bound)
    private var sets = HeapArray<CategorySetID>(repeating: 0, count: bound)
    private var places = MarkedPlaces()
    private var count = 0
    private var known = KnownUser()
    /// The column of each candidate.
    private var ofCandidates = HeapArray<Int>(repeating: 0, count: CandidateList.bound)
    private let scales = FeatureScales()
    /// Features as plain numbers.
    private let numbers = HeapArray<Float>(repeating: 0, count: Feature.width)
    /// What both models are told of the user and the time.
    private let inputs = HeapArray<Float>(repeating: 0, count: Feature.width)

    var byteCount: Int {
        values.byteCount + sets.byteCount + places.byteCount + ofCandidates.byteCount + scales.byteCount
            + numbers.byteCount + inputs.byteCount
    }

    /// Forgets those of the plan before.
    mutating func begin(_ known: KnownUser) {
        places.begin()
        count = 0
        self.known = known
    }

    /// The `index`-th candidate has the categories of a set.
    @inline(__always)
    mutating func add(_ set: CategorySetID, at index: Int, _ habits: inout HabitFeatures) {
        let set = set < CategorySetTable.bound ? set : 0
        if let place = places.place(of: set) {
            ofCandidates[index] = place
            return
        }
        places.mark(set, at: count)
        ofCandidates[index] = count
        sets[count] = set
        habits.expect(set, known)
        count &+= 1
    }

    /// Works out the columns, and returns how much the user is doing and the time as they are told for any set.
    mutating func complete(_ habits: inout HabitFeatures) -> UnsafePointer<Float> {
        let weight = (known.profile?.weight ?? 0) + 8
        let told = PlannerInput.habitFeatures
        // Nothing of the user before, of whom more may be known.
        numbers.base.update(repeating: 0, count: Feature.width)
        for column in 0..<count {
            (numbers.base + told.lowerBound).update(repeating: 0, count: told.count)
            habits.write(sets[column], known, into: numbers.base)
            let to = values.base + column
            for place in 0..<told.count { to[place &* Self.bound] = numbers[told.lowerBound &+ place] }
            to[Self.slow &* Self.bound] = numbers[Feature.categorySlow]
            let rate = numbers[Feature.categoryFast] / 1_000
            let chance = numbers[Feature.transition] / 0x1p16
            to[Self.outlook &* Self.bound] = 0.5 * (numbers[Feature.userRate] + 8 * rate) / weight + 0.5 * chance
        }
        for feature in told {
            scales.encode(values.base + (feature - told.lowerBound) * Self.bound, count: count, of: feature)
        }
        habits.writeTime(into: numbers.base)
        scales.encode(numbers.base, into: inputs.base)
        return UnsafePointer(inputs.base)
    }

    /// Writes what a row has for each of the first `candidates` candidates, once it is complete.
    @inline(__always)
    func copy(_ row: Int, candidates: Int, to target: UnsafeMutablePointer<Float>) {
        let from = values.base + row * Self.bound
        for index in 0..<candidates { target[index] = from[ofCandidates[index]] }
    }
}
