/// How often objects were shown and opened, by category and in all: by one user, or by all users of a server.
///
/// Bytes: some 100 a category.
public struct CategoryRates: Sendable, Equatable {
    private(set) var categories: [UInt32: OpeningCounts] = [:]
    private(set) var total = OpeningCounts()

    /// Creates rates of nothing.
    public init() {}

    /// The number of categories.
    public var count: Int { categories.count }

    /// Counts an object with these categories that was shown to a user, at a time in microseconds. O(categories).
    public mutating func noteShown(_ members: some Sequence<UInt32>, at time: Int64) {
        total.note(shown: 1, at: time)
        for member in members { categories[member, default: OpeningCounts()].note(shown: 1, at: time) }
    }

    /// Counts a request for an object with these categories, at a time in microseconds. O(categories).
    public mutating func noteOpened(_ members: some Sequence<UInt32>, at time: Int64) {
        total.note(opened: 1, at: time)
        for member in members { categories[member, default: OpeningCounts()].note(opened: 1, at: time) }
    }

    /// Counts how often objects of a category were shown and opened until a time in microseconds. O(1).
    public mutating func note(shown: Int, opened: Int, of category: UInt32, at time: Int64) {
        total.note(shown: Float(shown), opened: Float(opened), at: time)
        categories[category, default: OpeningCounts()].note(shown: Float(shown), opened: Float(opened), at: time)
    }

    /// Forgets half of the categories, those with the earliest changes, once there are twice as many as a bound.
    mutating func forgetOldest(beyond bound: Int) {
        guard categories.count >= 2 * bound else { return }
        let kept = categories.sorted { ($1.value.time, $1.key) < ($0.value.time, $0.key) }.prefix(bound)
        categories = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }

    /// The heap bytes, approximately.
    var byteCount: Int { categories.capacity * MemoryLayout<(UInt32, OpeningCounts)>.stride }
}
