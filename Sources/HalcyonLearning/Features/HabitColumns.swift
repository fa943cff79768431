import HalcyonEviction

/// What habits tell of several objects, worked out once for those of one user that have the same categories: a matrix with a row for
/// each feature and a column for each user and set of categories.
///
/// Both models are told these of their candidates. What has to be looked up is looked up for all of them first, so that the processor
/// waits for many places at once. O(categories) a column.
@usableFromInline
package struct HabitColumns: ~Copyable {
    /// The features that there are, by ``Feature/habit(_:)``.
    static let rows = Feature.habits.count + Feature.activity.count

    /// Row by row, ``bound`` numbers each.
    @usableFromInline var values = HeapArray<Float>(repeating: 0, count: 0)
    /// The most columns there may be: one for each object.
    @usableFromInline var bound = 0
    @usableFromInline package internal(set) var count = 0
    @usableFromInline var sets = HeapArray<CategorySetID>(repeating: 0, count: 0)
    /// Who asked, each as often as somebody else asked in between, and for each column the place of the one who did.
    @usableFromInline var askers = HeapArray(repeating: KnownUser(), count: 0)
    @usableFromInline var askerCount = 0
    @usableFromInline var ofColumns = HeapArray<Int>(repeating: 0, count: 0)
    /// The column of each object.
    @usableFromInline var ofObjects = HeapArray<Int>(repeating: 0, count: 0)
    /// The columns of one user, by their sets.
    @usableFromInline var places = MarkedPlaces()
    @usableFromInline var user = UInt32.max
    /// A column that is being worked out, among the other features.
    private let numbers = HeapArray<Float>(repeating: 0, count: Feature.width)

    package init() {}

    package var byteCount: Int {
        values.byteCount + sets.byteCount + askers.byteCount + ofColumns.byteCount + ofObjects.byteCount
            + places.byteCount + numbers.byteCount
    }

    /// Forgets those of before. At most `bound` objects follow, most of them of `user`.
    package mutating func begin(_ user: UInt32, bound: Int) {
        if bound > sets.count { makeRoom(max(bound, sets.count * 2)) }
        self.bound = bound
        self.user = user
        places.begin()
        count = 0
        askerCount = 0
    }

    @inline(never)
    private mutating func makeRoom(_ bound: Int) {
        values.grow(to: bound * Self.rows, filling: 0)
        sets.grow(to: bound, filling: 0)
        askers.grow(to: bound, filling: KnownUser())
        ofColumns.grow(to: bound, filling: 0)
        ofObjects.grow(to: bound, filling: 0)
    }

    /// The `index`-th object is of a user and has the categories of a set.
    @inlinable @inline(__always)
    package mutating func add(_ set: CategorySetID, of user: UInt32, at index: Int, _ habits: inout HabitFeatures) {
        if user == self.user && set < CategorySetTable.bound {
            if let place = places.place(of: set) {
                ofObjects[index] = place
                return
            }
            places.mark(set, at: count)
        }
        if askerCount == 0 || askers[askerCount &- 1].user != user {
            askers[askerCount] = habits.known(user)
            askerCount &+= 1
        }
        habits.expect(set, askers[askerCount &- 1])
        ofColumns[count] = askerCount &- 1
        ofObjects[index] = count
        sets[count] = set
        count &+= 1
    }

    /// The plain numbers of a feature, one a column, once they are complete and until they are encoded.
    @inlinable @inline(__always)
    package subscript(feature: Int) -> UnsafeMutablePointer<Float> {
        values.base + Feature.habitPlace(feature) &* bound
    }

    /// Works out the columns.
    package mutating func complete(_ habits: inout HabitFeatures) {
        let numbers = numbers.base
        for column in 0..<count {
            Feature.clearHabits(of: numbers)
            habits.write(sets[column], askers[ofColumns[column]], into: numbers)
            let to = values.base + column
            for row in 0..<Self.rows { to[row &* bound] = numbers[Feature.habit(row)] }
        }
    }

    /// Writes a feature of the first `objects` objects as an input of a network.
    @inlinable @inline(__always)
    package func encode(
        _ feature: Int, objects: Int, scales: borrowing FeatureScales, into target: UnsafeMutablePointer<Float>
    ) {
        let row = self[feature]
        scales.encode(row, count: count, of: feature)
        copy(row, objects: objects, into: target)
    }

    /// Writes what each of the first `objects` objects has of numbers that there is one of for each column.
    @inlinable @inline(__always)
    package func copy(_ numbers: UnsafePointer<Float>, objects: Int, into target: UnsafeMutablePointer<Float>) {
        for index in 0..<objects { target[index] = numbers[ofObjects[index]] }
    }
}
