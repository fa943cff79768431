/// Several lists of entries that share one arena. An entry is on at most one of them. The family stores the list of
/// each entry and the count and total size of each list.
///
/// Policies use it to divide residents and ghosts into lists: ARC for T1, T2, B1 and B2, MQ for its queues. An entry
/// keeps its size when it moves to another list. Lists are numbered from 0. Every operation is O(1). Bytes a slot: 9,
/// and 8 more for variable sizes.
public struct ListFamily: ~Copyable {
    struct Member: BitwiseCopyable {
        var list = EntryList()
        var size = 0
    }

    /// The list number of an entry that is on no list.
    public static let none = UInt8.max

    private let members: UnsafeMutablePointer<Member>
    private let memberCount: Int
    private let usesUniformSizes: Bool
    private var links: LinkArena
    private var homes: SlotArray<UInt8>
    private var sizes: SlotArray<Int>

    /// Creates a family of `count` empty lists (at most 255).
    ///
    /// - Parameters:
    ///   - count: The number of lists.
    ///   - context: The number of entries to make room for, and whether sizes are uniform.
    public init(count: Int, context: PolicyContext) {
        members = .allocate(capacity: count)
        members.initialize(repeating: Member(), count: count)
        memberCount = count
        usesUniformSizes = context.usesUniformSizes
        links = LinkArena(capacity: context.entries)
        homes = SlotArray(repeating: ListFamily.none, capacity: context.entries)
        sizes = SlotArray(repeating: 0, capacity: usesUniformSizes ? 0 : context.entries)
    }

    deinit { members.deallocate() }

    /// The number of heap bytes in use.
    public var metadataBytes: MetadataBytes {
        MetadataBytes(
            fixed: memberCount * MemoryLayout<Member>.stride,
            perNumber: links.byteCount + homes.byteCount + sizes.byteCount)
    }

    /// Returns the list of an entry, or ``none``.
    @inline(__always)
    public func list(of entry: EntryID) -> UInt8 { homes[entry] }

    /// Returns the size of an entry of the family.
    @inline(__always)
    public func size(of entry: EntryID) -> Int { usesUniformSizes ? 1 : sizes[entry] }

    /// Returns the total size of a list.
    @inline(__always)
    public func size(ofList list: UInt8) -> Int { members[Int(list)].size }

    /// Returns the number of entries on a list.
    @inline(__always)
    public func count(ofList list: UInt8) -> Int { members[Int(list)].list.count }

    /// Returns whether a list is empty.
    @inline(__always)
    public func isEmpty(_ list: UInt8) -> Bool { members[Int(list)].list.isEmpty }

    /// Returns the last entry of a list, or `.none`.
    @inline(__always)
    public func tail(ofList list: UInt8) -> EntryID { members[Int(list)].list.tail }

    /// Inserts an entry that is on no list at the head of a list.
    @inline(__always)
    public mutating func pushHead(_ entry: EntryID, size: Int, to list: UInt8) {
        if !usesUniformSizes { sizes[entry] = size }
        link(entry, to: list)
    }

    /// Moves an entry from its list to the head of `list`.
    @inline(__always)
    public mutating func moveToHead(_ entry: EntryID, of list: UInt8) {
        if homes[entry] == list {
            let member = members + Int(list)
            links.moveToHead(entry, in: &member.pointee.list)
        } else {
            unlink(entry)
            link(entry, to: list)
        }
    }

    /// Moves an entry from its list to the tail of another list.
    @inline(__always)
    public mutating func moveToTail(_ entry: EntryID, of list: UInt8) {
        unlink(entry)
        homes[entry] = list
        let member = members + Int(list)
        links.pushTail(entry, to: &member.pointee.list)
        member.pointee.size &+= size(of: entry)
    }

    /// Moves the last entry of one list to the head of another and returns it.
    @inline(__always)
    @discardableResult
    public mutating func moveTail(ofList source: UInt8, to list: UInt8) -> EntryID {
        let entry = members[Int(source)].list.tail
        moveToHead(entry, of: list)
        return entry
    }

    /// Removes the last entry of a list and returns it; `.none` if the list is empty.
    @inline(__always)
    @discardableResult
    public mutating func popTail(ofList list: UInt8) -> EntryID {
        let entry = members[Int(list)].list.tail
        if entry != .none { remove(entry) }
        return entry
    }

    /// Removes an entry from its list.
    @inline(__always)
    public mutating func remove(_ entry: EntryID) {
        unlink(entry)
        homes[entry] = ListFamily.none
    }

    /// Moves an entry of the family to the head of a ghost list and removes the oldest ghosts until the list is within
    /// `limit`. An entry larger than `limit` is not remembered. Amortised O(1).
    @inline(__always)
    public mutating func remember(_ entry: EntryID, on ghosts: UInt8, limit: Int) {
        let size = size(of: entry)
        guard size <= limit else {
            remove(entry)
            return
        }
        while self.size(ofList: ghosts) &+ size > limit { popTail(ofList: ghosts) }
        moveToHead(entry, of: ghosts)
    }

    /// Adds an entry that is on no list to a ghost list and removes the oldest ghosts until the list is within
    /// `limit`.
    @inline(__always)
    public mutating func remember(_ entry: EntryID, size: Int, on ghosts: UInt8, limit: Int) {
        guard size <= limit else { return }
        while self.size(ofList: ghosts) &+ size > limit { popTail(ofList: ghosts) }
        pushHead(entry, size: size, to: ghosts)
    }

    @inline(__always)
    private mutating func link(_ entry: EntryID, to list: UInt8) {
        homes[entry] = list
        let member = members + Int(list)
        links.pushHead(entry, to: &member.pointee.list)
        member.pointee.size &+= size(of: entry)
    }

    @inline(__always)
    private mutating func unlink(_ entry: EntryID) {
        let home = Int(homes[entry])
        precondition(home < memberCount, "an entry that is on no list is removed")
        // A local pointer, because under the thread sanitizer the compiler treats `members` as a part of `links`.
        let member = members + home
        links.remove(entry, from: &member.pointee.list)
        member.pointee.size &-= size(of: entry)
    }
}
