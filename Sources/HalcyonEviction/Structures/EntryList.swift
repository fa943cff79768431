/// The head, tail and count of a doubly linked list of entries.
///
/// The links are in a ``LinkArena``. Several lists may share it if an entry is on at most one of them at a time.
@frozen
public struct EntryList: Sendable, Equatable {
    @usableFromInline var first: EntryID = .none
    @usableFromInline var last: EntryID = .none
    @usableFromInline var number = 0

    /// The first entry (by convention the most recent), or `.none`.
    @inlinable public var head: EntryID { first }
    /// The last entry, or `.none`.
    @inlinable public var tail: EntryID { last }
    /// The number of entries.
    @inlinable public var count: Int { number }

    /// Creates an empty list.
    @inlinable
    public init() {}

    /// Whether the list is empty.
    @inlinable
    public var isEmpty: Bool { first == .none }
}

/// The links of one or more ``EntryList``s: 8 bytes a slot. Every operation is O(1).
public struct LinkArena: ~Copyable {
    @usableFromInline
    struct Link: BitwiseCopyable {
        @usableFromInline var newer: EntryID
        @usableFromInline var older: EntryID

        @inlinable
        init(newer: EntryID, older: EntryID) {
            self.newer = newer
            self.older = older
        }
    }

    @usableFromInline var links: SlotArray<Link>

    /// Creates an arena with room for `capacity` slots.
    @inlinable
    public init(capacity: Int = 0) {
        links = SlotArray(repeating: Link(newer: .none, older: .none), capacity: capacity)
    }

    /// The number of heap bytes in use.
    @inlinable
    public var byteCount: Int { links.byteCount }

    /// Returns the next entry towards the head, or `.none`.
    @inlinable @inline(__always)
    public func newer(than entry: EntryID) -> EntryID { links[entry].newer }

    /// Returns the next entry towards the tail, or `.none`.
    @inlinable @inline(__always)
    public func older(than entry: EntryID) -> EntryID { links[entry].older }

    /// Inserts an entry that is on no list at the head.
    @inlinable @inline(__always)
    public mutating func pushHead(_ entry: EntryID, to list: inout EntryList) {
        let second = list.first
        links[entry] = Link(newer: .none, older: second)
        if second == .none { list.last = entry } else { links[second].newer = entry }
        list.first = entry
        list.number &+= 1
    }

    /// Inserts an entry that is on no list at the tail.
    @inlinable @inline(__always)
    public mutating func pushTail(_ entry: EntryID, to list: inout EntryList) {
        let last = list.last
        links[entry] = Link(newer: last, older: .none)
        if last == .none { list.first = entry } else { links[last].older = entry }
        list.last = entry
        list.number &+= 1
    }

    /// Inserts an entry that is on no list after `place`, towards the tail.
    @inlinable @inline(__always)
    public mutating func insert(_ entry: EntryID, olderThan place: EntryID, in list: inout EntryList) {
        let next = links[place].older
        if next == .none {
            pushTail(entry, to: &list)
            return
        }
        links[entry] = Link(newer: place, older: next)
        links[place].older = entry
        links[next].newer = entry
        list.number &+= 1
    }

    /// Removes an entry from its list.
    @inlinable @inline(__always)
    public mutating func remove(_ entry: EntryID, from list: inout EntryList) {
        let link = links[entry]
        if link.newer == .none { list.first = link.older } else { links[link.newer].older = link.older }
        if link.older == .none { list.last = link.newer } else { links[link.older].newer = link.newer }
        list.number &-= 1
    }

    /// Removes the last entry and returns it; `.none` if the list is empty.
    @inlinable @inline(__always)
    public mutating func popTail(_ list: inout EntryList) -> EntryID {
        let last = list.last
        if last != .none { remove(last, from: &list) }
        return last
    }

    /// Moves an entry of the list to its head.
    @inlinable @inline(__always)
    public mutating func moveToHead(_ entry: EntryID, in list: inout EntryList) {
        let first = list.first
        if first == entry { return }
        // The entry is not the first, so there is a newer one. That saves two branches of a removal and a push.
        let link = links[entry]
        links[link.newer].older = link.older
        if link.older == .none { list.last = link.newer } else { links[link.older].newer = link.newer }
        links[first].newer = entry
        links[entry] = Link(newer: .none, older: first)
        list.first = entry
    }
}
