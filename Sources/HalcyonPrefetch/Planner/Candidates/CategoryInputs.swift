import HalcyonEviction
import HalcyonLearning

/// The network's inputs that depend only on a candidate's category set, computed once a plan for each set
/// (``UserCategoryColumns``).
///
/// O(categories) a set.
struct CategoryInputs: ~Copyable {
    /// The maximum number of sets: one for each candidate.
    private static let bound = CandidateList.bound

    private var columns = UserCategoryColumns()
    private var user = UInt32.max
    /// The amount of evidence about the user's requests.
    private var weight: Float = 0
    /// The decayed accesses to the categories of each column, over all users.
    private let slow = HeapArray<Float>(repeating: 0, count: bound)
    /// The approximate probability that the user's next request is for a category of each column.
    private let outlook = HeapArray<Float>(repeating: 0, count: bound)
    private let scales = FeatureScales()
    /// The unscaled features.
    private let numbers = HeapArray<Float>(repeating: 0, count: Feature.places)
    /// The features of user and time that both models share.
    private let inputs = HeapArray<Float>(repeating: 0, count: Feature.width)

    var byteCount: Int {
        columns.byteCount + slow.byteCount + outlook.byteCount + scales.byteCount + numbers.byteCount + inputs.byteCount
    }

    /// Removes the sets of the plan before.
    mutating func begin(_ user: UInt32, _ habits: borrowing UserCategoryFeatures) {
        self.user = user
        weight = (habits.profile(of: user)?.weight ?? 0) + 8
        columns.begin(user, bound: Self.bound)
    }

    /// Sets the category set of the `index`-th candidate.
    @inline(__always)
    mutating func add(_ set: CategorySetID, at index: Int, _ habits: inout UserCategoryFeatures) {
        columns.add(set < CategorySetMembers.bound ? set : 0, of: user, at: index, &habits)
    }

    /// Computes the columns. Returns the features of user activity and time, which are the same for every set.
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

    /// Writes the category features of the first `candidates` candidates, a row a feature.
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
