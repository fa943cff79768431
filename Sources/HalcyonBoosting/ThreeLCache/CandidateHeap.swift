import HalcyonEviction

/// The candidates of 3L-Cache by the predicted times of their next requests, the farthest on top.
///
/// Trees give many candidates the same prediction, and on some traces the order of equal ones decides most evictions.
/// It is that of the authors' code: a binary heap whose top is replaced bottom-up (Wegener, 1993), and which keeps
/// outdated predictions until they reach the top.
///
/// An insertion and a removal of the top are O(log predictions), a withdrawal is O(1). Bytes: 8 a prediction, 4 a number.
struct CandidateHeap: ~Copyable {
    /// A prediction. Not private, because Swift 6.3 then emits invalid code
    /// for tests of this noncopyable type.
    struct Node: BitwiseCopyable {
        var distance: Float
        var entry: EntryID
    }

    private var nodes: [Node] = []
    /// The distance that is predicted for each entry; negative for an entry that is no candidate.
    private var predicted: SlotArray<Float>
    /// The number of candidates.
    private(set) var count = 0

    init(capacity: Int) { predicted = SlotArray(repeating: -1, capacity: capacity) }

    /// The heap bytes in use.
    var metadataBytes: MetadataBytes {
        MetadataBytes(perNumber: predicted.byteCount, perResident: nodes.capacity * MemoryLayout<Node>.stride)
    }

    /// Adds a candidate, or replaces its prediction.
    ///
    /// - Parameter distance: at least 0.
    mutating func insert(_ entry: EntryID, distance: Float) {
        if predicted[entry] < 0 { count += 1 }
        predicted[entry] = distance
        nodes.append(Node(distance: distance, entry: entry))
        raise(nodes[nodes.count - 1], from: nodes.count - 1)
    }

    /// Withdraws an entry, if it is a candidate.
    mutating func remove(_ entry: EntryID) {
        guard predicted[entry] >= 0 else { return }
        predicted[entry] = -1
        count -= 1
    }

    /// Removes the candidate with the farthest predicted request; `nil` if there is none.
    mutating func popFarthest() -> EntryID? {
        while let top = nodes.first {
            let last = nodes.removeLast()
            if !nodes.isEmpty { replaceTop(by: last) }
            if predicted[top.entry] == top.distance {
                remove(top.entry)
                return top.entry
            }
        }
        return nil
    }

    /// Withdraws all candidates. O(predictions).
    mutating func removeAll() {
        for node in nodes { predicted[node.entry] = -1 }
        nodes.removeAll(keepingCapacity: true)
        count = 0
    }

    /// Moves the empty top down to a leaf, by the child with the larger distance or else the right one, and from there
    /// `node` up to its place.
    private mutating func replaceTop(by node: Node) {
        var place = 0
        while 2 * place + 1 < nodes.count {
            let left = 2 * place + 1
            let isRight = left + 1 < nodes.count && nodes[left + 1].distance >= nodes[left].distance
            let child = isRight ? left + 1 : left
            nodes[place] = nodes[child]
            place = child
        }
        raise(node, from: place)
    }

    private mutating func raise(_ node: Node, from start: Int) {
        var place = start
        while place > 0, nodes[(place - 1) / 2].distance < node.distance {
            nodes[place] = nodes[(place - 1) / 2]
            place = (place - 1) / 2
        }
        nodes[place] = node
    }
}
