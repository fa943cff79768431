/// Several lists of entries that share one arena: an entry is on at most one of them, the family knows on which, and each
/// list knows how many entries it has and what they size together.
///
/// Policies that divide the cache (and the memory of what was evicted) into lists need exactly this: ARC its two lists
/// and their ghosts, MQ its queues. An entry keeps its size while it moves from list to list. Lists are numbered from 0;
/// every operation is O(1). Bytes a slot: 9, and 8 more where sizes vary.
public struct ListFamily: ~Copyable {
    struct Member: BitwiseCopyable {
        var list = EntryList()
        var size = 0
    }

    /// The number of no list, for an entry that is on none.
    public static let none = UInt8.max

    private let members: UnsafeMutablePointer<Member>
    private let memberCount: Int
    private let usesUniformSizes: Bool
    private var links: LinkArena
    private var homes: SlotArray<UInt8>
    private var sizes: SlotArray<Int>

    /// A family of `count` empty lists (at most 255).
    ///
    /// - Parameters:
    ///   - count: how many lists.
    ///   - context: how many entries to make room for, and whether each sizes 1.
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

    /// The heap bytes held.
    public var metadataBytes: MetadataBytes {
        MetadataBytes(
            fixed: memberCount * MemoryLayout<Member>.stride,
            perNumber: links.byteCount + homes.byteCount + sizes.byteCount)
    }

    /// The list an entry is on, or ``none``.
    @inline(__always)
    public func list(of entry: EntryID) -> UInt8 { homes[entry] }

    /// What an entry of the family sizes.
    @inline(__always)
    public func size(of entry: EntryID) -> Int { usesUniformSizes ? 1 : sizes[entry] }

    /// What the entries of a list size together.
    @inline(__always)
    public func size(ofList list: UInt8) -> Int { members[Int(list)].size }

    /// How many entries are on a list.
    @inline(__always)
    public func count(ofList list: UInt8) -> Int { members[Int(list)].list.count }

    /// Whether nothing is on a list.
    @inline(__always)
    public func isEmpty(_ list: UInt8) -> Bool { members[Int(list)].list.isEmpty }

    /// The last entry of a list, or `.none`.
    @inline(__always)
    public func tail(ofList list: UInt8) -> EntryID { members[Int(list)].list.tail }

    /// Puts an entry that is on no list at the head of one.
    @inline(__always)
    public mutating func pushHead(_ entry: EntryID, size: Int, to list: UInt8) {
        if !usesUniformSizes { sizes[entry] = size }
        link(entry, to: list)
    }

    /// Moves an entry from whichever list it is on to the head of `list`.
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

    /// Moves the last entry of one list to the head of another and returns it.
    @inline(__always)
    @discardableResult
    public mutating func moveTail(ofList source: UInt8, to list: UInt8) -> EntryID {
        let entry = members[Int(source)].list.tail
        moveToHead(entry, of: list)
        return entry
    }

    /// Takes the last entry of a list off and returns it; `.none` if the list is empty.
    @inline(__always)
    @discardableResult
    public mutating func popTail(ofList list: UInt8) -> EntryID {
        let entry = members[Int(list)].list.tail
        if entry != .none { remove(entry) }
        return entry
    }

    /// Takes an entry off the list it is on.
    @inline(__always)
    public mutating func remove(_ entry: EntryID) {
        unlink(entry)
        homes[entry] = ListFamily.none
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
        precondition(home < memberCount, "an entry is taken off a list that is on none")
        // A pointer of one's own: under the thread sanitizer the compiler takes `members` for a part of `links`.
        let member = members + home
        links.remove(entry, from: &member.pointee.list)
        member.pointee.size &-= size(of: entry)
    }
}
