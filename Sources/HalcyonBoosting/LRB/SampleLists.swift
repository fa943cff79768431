import HalcyonEviction

/// The samples of objects whose labels are not known yet: for each object a list of times, the newest first.
///
/// Every operation is O(1). Bytes a sample: 8.
struct SampleLists: ~Copyable {
    /// A sample in the list of its object, or a free place. Not private, because Swift 6.3 then emits invalid code
    /// for tests of this noncopyable type.
    struct Node: BitwiseCopyable {
        var time: UInt32
        var next: UInt32
    }

    /// An object without samples.
    static let none = UInt32.max

    private var nodes: SlotArray<Node>
    private var free = none
    private var used: UInt32 = 0
    /// The number of samples.
    private(set) var count = 0

    init() { nodes = SlotArray(repeating: Node(time: 0, next: Self.none)) }

    /// The heap bytes in use.
    var byteCount: Int { nodes.byteCount }

    /// Adds a sample to the list of an object.
    mutating func add(_ time: UInt32, to list: inout UInt32) {
        let place: UInt32
        if free != Self.none {
            place = free
            free = nodes[place].next
        } else {
            (place, used) = (used, used + 1)
        }
        nodes[place] = Node(time: time, next: list)
        list = place
        count += 1
    }

    /// Removes the newest sample of the list of an object; `nil` if there is none.
    mutating func removeNewest(from list: inout UInt32) -> UInt32? {
        let place = list
        guard place != Self.none else { return nil }
        let node = nodes[place]
        nodes[place].next = free
        free = place
        list = node.next
        count -= 1
        return node.time
    }
}
