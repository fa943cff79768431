import HalcyonEviction

/// The members of each category set. A lookup is O(1). Bytes: 8 a set, 4 a member, or 8 a member in sets of more than
/// ``fewMembers``.
///
/// Sets must be numbered densely. A set with a number of ``bound`` or more counts as empty.
@usableFromInline
package struct CategorySetMembers: ~Copyable {
    @inlinable package static var bound: CategorySetID { 1 << 22 }
    /// The largest set that is searched linearly. Larger sets are also kept in ascending order.
    static let fewMembers = 8

    @usableFromInline var spans: SlotArray<Span>
    @usableFromInline var members: HeapArray<UInt32>
    private var used = 0

    @usableFromInline
    struct Span: BitwiseCopyable {
        @usableFromInline var start: UInt32 = 0
        @usableFromInline var count: UInt32 = 0
    }

    package init() {
        spans = SlotArray(repeating: Span())
        members = HeapArray(repeating: 0, count: 64)
    }

    package var byteCount: Int { spans.byteCount + members.byteCount }

    /// The members of `set`; empty for the empty set and for an undefined one.
    @inlinable @inline(__always)
    package subscript(set: CategorySetID) -> UnsafeBufferPointer<UInt32> {
        let span = spans[set]
        return UnsafeBufferPointer(start: members.base + Int(span.start), count: Int(span.count))
    }

    /// Defines the members of `set`. A set keeps its first definition.
    package mutating func define(_ set: CategorySetID, members new: [UInt32]) {
        guard set < Self.bound, spans[set].count == 0, !new.isEmpty else { return }
        let sorted = new.count > Self.fewMembers ? new.sorted() : []
        let needed = used + new.count + sorted.count
        if needed > members.count { members.grow(to: max(members.count * 2, needed), filling: 0) }
        spans[set] = Span(start: UInt32(used), count: UInt32(new.count))
        for member in new + sorted {
            members[used] = member
            used += 1
        }
    }

    /// Returns the members of a set of more than ``fewMembers``, in ascending order.
    private func sorted(_ set: CategorySetID) -> UnsafeBufferPointer<UInt32> {
        let span = spans[set]
        return UnsafeBufferPointer(start: members.base + Int(span.start + span.count), count: Int(span.count))
    }

    /// Returns the ratio of the members of `set` that are also in `other`. O(|set| + |other|).
    @inline(__always)
    func overlap(of set: CategorySetID, with other: CategorySetID) -> Float {
        if set == 0 || other == 0 { return 0 }
        if set == other { return 1 }
        let (left, right) = (self[set], self[other])
        if left.count == 1 && right.count == 1 { return left[0] == right[0] ? 1 : 0 }
        var common = 0
        if min(left.count, right.count) <= Self.fewMembers {
            for member in left where right.contains(member) { common &+= 1 }
        } else {
            common = commonMembers(of: sorted(set), with: sorted(other))
        }
        return Float(common) / Float(max(left.count, 1))
    }

    /// Returns the number of members of `left` that are in `right`, both in ascending order.
    private func commonMembers(of left: UnsafeBufferPointer<UInt32>, with right: UnsafeBufferPointer<UInt32>) -> Int {
        var common = 0
        var place = 0
        for member in left {
            while place < right.count, right[place] < member { place &+= 1 }
            if place == right.count { break }
            if right[place] == member { common &+= 1 }
        }
        return common
    }
}
