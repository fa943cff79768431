/// The elements with the highest scores among those inserted, highest first, at most ``limit`` of them.
///
/// Elements of equal scores keep the order of their insertion, and the last of them is removed first. An insertion is
/// O(limit) in one sorted array, which suits limits of some dozens. The memory is kept for the next use.
@usableFromInline
package struct TopK<Element, Score: Comparable> {
    /// The maximum number of elements.
    @usableFromInline package internal(set) var limit: Int
    /// The elements with their scores, highest score first.
    @usableFromInline package internal(set) var entries: [(element: Element, score: Score)] = []

    /// Creates an empty collection of at most `limit` elements.
    @inlinable package init(limit: Int = 0) { self.limit = limit }

    /// Removes all elements and sets the limit.
    @inlinable package mutating func reset(limit: Int) {
        self.limit = limit
        entries.removeAll(keepingCapacity: true)
    }

    /// Returns whether an element with this score would be inserted.
    @inlinable package func accepts(_ score: Score) -> Bool {
        entries.count < limit || limit > 0 && entries[limit - 1].score < score
    }

    /// Inserts an element after all elements of the same or a higher score.
    @inlinable package mutating func insert(_ element: Element, score: Score) {
        guard accepts(score) else { return }
        if entries.count == limit { entries.removeLast() }
        var place = entries.count
        while place > 0 && entries[place - 1].score < score { place -= 1 }
        entries.insert((element, score), at: place)
    }
}

extension TopK where Element: Equatable {
    /// Inserts an element that may be present: the higher of both scores counts.
    @inlinable package mutating func raise(_ element: Element, to score: Score) {
        if let place = entries.firstIndex(where: { $0.element == element }) {
            if entries[place].score >= score { return }
            entries.remove(at: place)
        }
        insert(element, score: score)
    }
}
