import HalcyonEviction
import HalcyonLearning

/// What the categories of a set contribute to the inputs of each candidate that has them, worked out once a plan (``HabitColumns``).
///
/// O(categories) a set.
struct CategoryColumns: ~Copyable {
    /// At most one for each candidate.
    private static let bound = CandidateList.bound

    private var columns = UserCategoryColumns()
    private var user = UInt32.max
    /// How much is known of what the user wants.
    private var weight: Float = 0
    /// Of each column the accesses to the categories, decayed, over all users.
    private let slow = HeapArray<Float>(repeating: 0, count: bound)
    /// Of each column how probably the user's next request is to one of its categories, roughly.
    private let outlook = HeapArray<Float>(repeating: 0, count: bound)
    private let scales = FeatureScales()
    /// Features as plain numbers.
    private let numbers = HeapArray<Float>(repeating: 0, count: Feature.width)
    /// What both models are told of the user and the time.
    private let inputs = HeapArray<Float>(repeating: 0, count: Feature.width)

    var byteCount: Int {
        columns.byteCount + slow.byteCount + outlook.byteCount + scales.byteCount + numbers.byteCount + inputs.byteCount
    }

    /// Forgets those of the plan before.
    mutating func begin(_ user: UInt32, _ habits: borrowing UserCategoryFeatures) {
        self.user = user
        weight = (habits.profile(of: user)?.weight ?? 0) + 8
        columns.begin(user, bound: Self.bound)
    }

    /// The `index`-th candidate has the categories of a set.
    @inline(__always)
    mutating func add(_ set: CategorySetID, at index: Int, _ habits: inout UserCategoryFeatures) {
        columns.add(set < CategorySetTable.bound ? set : 0, of: user, at: index, &habits)
    }

    /// Works out the columns, and returns how much the user is doing and the time as they are told for any set.
    mutating func complete(_ habits: inout UserCategoryFeatures) -> UnsafePointer<Float> {
        columns.complete(&habits)
        let (fast, chance, rate) = (
            columns[Feature.categoryFast], columns[Feature.transition], columns[Feature.userRate]
        )
        for column in 0..<columns.count {
            slow[column] = columns[Feature.categorySlow][column]
            let own = 0.5 * (rate[column] + 8 * (fast[column] / 1_000)) / weight
            outlook[column] = own + 0.5 * (chance[column] / 0x1p16)
        }
        for feature in Feature.activity { numbers[feature] = columns.count > 0 ? columns[feature][0] : 0 }
        habits.writeTime(into: numbers.base)
        scales.encode(numbers.base, into: inputs.base)
        return UnsafePointer(inputs.base)
    }

    /// Writes what both models are told of the categories for each of the first `candidates` candidates, a row a feature.
    mutating func writeHabits(candidates: Int, to rows: UnsafeMutablePointer<Float>) {
        for (place, feature) in PlannerInput.habitFeatures.enumerated() {
            columns.encode(feature, objects: candidates, scales: scales, into: rows + place * candidates)
        }
    }

    @inline(__always)
    func copySlow(candidates: Int, to target: UnsafeMutablePointer<Float>) {
        columns.copy(slow.base, objects: candidates, into: target)
    }

    @inline(__always)
    func copyOutlook(candidates: Int, to target: UnsafeMutablePointer<Float>) {
        columns.copy(outlook.base, objects: candidates, into: target)
    }
}
