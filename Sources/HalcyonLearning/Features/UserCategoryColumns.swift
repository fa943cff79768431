import HalcyonEviction

/// The user–category features of several objects: a matrix with a row for each feature and a column for each pair of a user
/// and a category set. Objects with the same user and categories share a column.
///
/// All lookups are started before the first column is computed, so that the processor loads many places at once. A column
/// is O(categories).
@usableFromInline
package struct UserCategoryColumns: ~Copyable {
    /// The number of features, by ``Feature/userCategoryFeature(_:)``.
    static let rows = rowsOfResidents + Feature.session.count
    /// The number of those that the eviction network has; the rest are the planner's.
    static let rowsOfResidents = Feature.userCategory.count + Feature.activity.count

    /// The rows, of ``bound`` numbers each.
    @usableFromInline var values = HeapArray<Float>(repeating: 0, count: 0)
    /// The most columns: one for each object.
    @usableFromInline var bound = 0
    @usableFromInline package internal(set) var count = 0
    @usableFromInline var sets = HeapArray<CategorySetID>(repeating: 0, count: 0)
    /// The users in order of the columns, without immediate repetitions, and the place of the user of each column.
    @usableFromInline var users = HeapArray(repeating: UserStatistics(), count: 0)
    @usableFromInline var userCount = 0
    @usableFromInline var ofColumns = HeapArray<Int>(repeating: 0, count: 0)
    /// The column of each object.
    @usableFromInline var ofObjects = HeapArray<Int>(repeating: 0, count: 0)
    /// The columns of ``user``, by their category sets.
    @usableFromInline var places = MarkedPlaces()
    @usableFromInline var user = UInt32.max
    /// The present column, as a row of all features.
    private let numbers = HeapArray<Float>(repeating: 0, count: Feature.places)

    package init() {}

    package var byteCount: Int {
        values.byteCount + sets.byteCount + users.byteCount + ofColumns.byteCount + ofObjects.byteCount
            + places.byteCount + numbers.byteCount
    }

    /// Starts a matrix for at most `bound` objects, most of them of `user`.
    package mutating func begin(_ user: UInt32, bound: Int) {
        if bound > sets.count { makeRoom(max(bound, sets.count * 2)) }
        self.bound = bound
        self.user = user
        places.begin()
        count = 0
        userCount = 0
    }

    @inline(never)
    private mutating func makeRoom(_ bound: Int) {
        values.grow(to: bound * Self.rows, filling: 0)
        sets.grow(to: bound, filling: 0)
        users.grow(to: bound, filling: UserStatistics())
        ofColumns.grow(to: bound, filling: 0)
        ofObjects.grow(to: bound, filling: 0)
    }

    /// Adds the object number `index`, which has a user and a category set.
    @inlinable @inline(__always)
    package mutating func add(
        _ set: CategorySetID, of user: UInt32, at index: Int, _ features: inout UserCategoryFeatures
    ) {
        if user == self.user && set < CategorySetMembers.bound {
            if let place = places.place(of: set) {
                ofObjects[index] = place
                return
            }
            places.mark(set, at: count)
        }
        if userCount == 0 || users[userCount &- 1].user != user {
            users[userCount] = features.statistics(of: user)
            userCount &+= 1
        }
        features.expect(set, users[userCount &- 1])
        ofColumns[count] = userCount &- 1
        ofObjects[index] = count
        sets[count] = set
        count &+= 1
    }

    /// The plain numbers of a feature, one a column, after ``complete(_:)`` and before they are encoded.
    @inlinable @inline(__always)
    package subscript(feature: Int) -> UnsafeMutablePointer<Float> {
        values.base + Feature.userCategoryPlace(feature) &* bound
    }

    /// Computes the columns.
    package mutating func complete(_ features: inout UserCategoryFeatures) {
        let numbers = numbers.base
        for column in 0..<count {
            Feature.clearUserCategory(of: numbers)
            features.write(sets[column], users[ofColumns[column]], into: numbers)
            let to = values.base + column
            for row in 0..<Self.rows { to[row &* bound] = numbers[Feature.userCategoryFeature(row)] }
        }
    }

    /// Writes a feature of the first `objects` objects as inputs of a network.
    @inlinable @inline(__always)
    package func encode(
        _ feature: Int, objects: Int, scales: borrowing FeatureScales, into target: UnsafeMutablePointer<Float>
    ) {
        let row = self[feature]
        scales.encode(row, count: count, of: feature)
        copy(row, objects: objects, into: target)
    }

    /// Copies to each of the first `objects` objects the number of its column.
    @inlinable @inline(__always)
    package func copy(_ numbers: UnsafePointer<Float>, objects: Int, into target: UnsafeMutablePointer<Float>) {
        for index in 0..<objects { target[index] = numbers[ofObjects[index]] }
    }
}
