/// A doubly linked list of entries: where it starts, where it ends, how many are on it, what they cost together.
///
/// The links are in a ``LinkArena``, which several lists may share as long as an entry is on one of them at a time.
@frozen
public struct EntryList: Sendable, Equatable {
    /// The first entry (by convention the most recent), or `.none`.
    public internal(set) var head: EntryID = .none
    /// The last entry, or `.none`.
    public internal(set) var tail: EntryID = .none
    /// The number of entries.
    public internal(set) var count = 0

    /// An empty list.
    public init() {}

    /// Whether nothing is on the list.
    public var isEmpty: Bool { head == .none }
}

/// The links of one or more ``EntryList``s: 8 bytes a slot, every operation O(1).
public struct LinkArena: ~Copyable {
    struct Link: BitwiseCopyable {
        var newer: EntryID
        var older: EntryID
    }

    private var links: SlotArray<Link>

    /// No links yet; `capacity` slots are made from the start.
    public init(capacity: Int = 0) {
        links = SlotArray(repeating: Link(newer: .none, older: .none), capacity: capacity)
    }

    /// The heap bytes held.
    public var byteCount: Int { links.byteCount }

    /// The entry one place nearer to the head, or `.none`.
    @inline(__always)
    public func newer(than entry: EntryID) -> EntryID { links[entry].newer }

    /// The entry one place nearer to the tail, or `.none`.
    @inline(__always)
    public func older(than entry: EntryID) -> EntryID { links[entry].older }

    /// Puts an entry that is on no list at the head.
    @inline(__always)
    public mutating func pushHead(_ entry: EntryID, to list: inout EntryList) {
        let second = list.head
        links[entry] = Link(newer: .none, older: second)
        if second == .none { list.tail = entry } else { links[second].newer = entry }
        list.head = entry
        list.count &+= 1
    }

    /// Puts an entry that is on no list at the tail.
    @inline(__always)
    public mutating func pushTail(_ entry: EntryID, to list: inout EntryList) {
        let last = list.tail
        links[entry] = Link(newer: last, older: .none)
        if last == .none { list.head = entry } else { links[last].older = entry }
        list.tail = entry
        list.count &+= 1
    }

    /// Puts an entry that is on no list directly behind `place` (one nearer to the tail).
    @inline(__always)
    public mutating func insert(_ entry: EntryID, olderThan place: EntryID, in list: inout EntryList) {
        let next = links[place].older
        if next == .none {
            pushTail(entry, to: &list)
            return
        }
        links[entry] = Link(newer: place, older: next)
        links[place].older = entry
        links[next].newer = entry
        list.count &+= 1
    }

    /// Takes an entry off the list it is on.
    @inline(__always)
    public mutating func remove(_ entry: EntryID, from list: inout EntryList) {
        let link = links[entry]
        if link.newer == .none { list.head = link.older } else { links[link.newer].older = link.older }
        if link.older == .none { list.tail = link.newer } else { links[link.older].newer = link.newer }
        list.count &-= 1
    }

    /// Takes the last entry off; `.none` if the list is empty.
    @inline(__always)
    public mutating func popTail(_ list: inout EntryList) -> EntryID {
        let last = list.tail
        if last != .none { remove(last, from: &list) }
        return last
    }

    /// Moves an entry of the list to its head.
    @inline(__always)
    public mutating func moveToHead(_ entry: EntryID, in list: inout EntryList) {
        let first = list.head
        if first == entry { return }
        // The entry is not the first, so another is newer than it; that saves two branches against remove and push.
        let link = links[entry]
        links[link.newer].older = link.older
        if link.older == .none { list.tail = link.newer } else { links[link.older].newer = link.newer }
        links[first].newer = entry
        links[entry] = Link(newer: .none, older: first)
        list.head = entry
    }
}
