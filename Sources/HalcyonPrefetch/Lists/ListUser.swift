import HalcyonEviction
import HalcyonLearning

/// What one user has opened of what it was shown, and the lists whose outcome is not known yet.
struct ListUser {
    /// The most objects that are remembered of a user, and the most categories.
    static let bound = 4_096
    /// The most lists that wait for their outcome. A page that is appended to a list is a list of its own.
    static let mostPending = 4
    /// The longest time for which a list is taken to be shown, in microseconds: a day.
    static let longestShown: Int64 = 86_400_000_000
    /// The most evictions that are remembered.
    private static let mostEvicted = 32

    /// An object that was shown to the user, or requested.
    struct Object {
        var shown: Float = 0
        var opened: Float = 0
        var time: Int64
    }

    /// A list that was shown.
    struct Pending {
        let time: Int64
        let objects: [UInt32]
        let rows: [Float]
        var isOpened: [Bool]
    }

    private(set) var objects: [UInt32: Object] = [:]
    private(set) var rates = CategoryRates()
    private(set) var lastCategories: CategorySetID = 0
    private(set) var pending: [Pending] = []
    private var evicted: [UInt32] = []

    mutating func noteShown(_ list: ShownList, rows: [Float], _ sets: borrowing CategorySetMembers) {
        for item in list.items {
            objects[item.object, default: Object(time: list.time)].shown += 1
            objects[item.object]?.time = list.time
            rates.noteShown(sets[item.categories], at: list.time)
        }
        pending.append(
            Pending(
                time: list.time, objects: list.items.map(\.object), rows: rows,
                isOpened: Array(repeating: false, count: list.items.count)))
        forgetOldest()
    }

    mutating func noteOpened(_ access: Access, _ members: UnsafeBufferPointer<UInt32>) {
        objects[access.object, default: Object(time: access.time)].opened += 1
        rates.noteOpened(members, at: access.time)
        if access.categories > 0 { lastCategories = access.categories }
        for list in pending.indices {
            for place in pending[list].objects.indices where pending[list].objects[place] == access.object {
                pending[list].isOpened[place] = true
            }
        }
        forgetOldest()
    }

    /// Removes and returns the lists whose outcome is known: those that were shown at least a span of time before, and those that are
    /// too many.
    mutating func takeEnded(by time: Int64, after span: Int64) -> [Pending] {
        var count = max(0, pending.count - Self.mostPending)
        while count < pending.count, pending[count].time.addingReportingOverflow(span).partialValue <= time {
            count += 1
        }
        defer { pending.removeFirst(count) }
        return Array(pending.prefix(count))
    }

    mutating func noteEvicted(_ object: UInt32) {
        if evicted.count == Self.mostEvicted { evicted.removeFirst() }
        evicted.append(object)
    }

    /// Returns whether a requested object was one of the last to be evicted.
    mutating func takeEvicted(_ object: UInt32) -> Bool {
        guard let place = evicted.lastIndex(of: object) else { return false }
        evicted.remove(at: place)
        return true
    }

    /// Forgets half of the objects or categories, those with the earliest changes, once there are twice as many as ``bound``.
    private mutating func forgetOldest() {
        if objects.count >= 2 * Self.bound {
            let kept = objects.sorted { ($1.value.time, $1.key) < ($0.value.time, $0.key) }.prefix(Self.bound)
            objects = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
        }
        rates.forgetOldest(beyond: Self.bound)
    }

    /// The heap bytes, approximately.
    var byteCount: Int {
        objects.capacity * MemoryLayout<(UInt32, Object)>.stride + rates.byteCount
            + pending.reduce(0) { $0 + $1.rows.capacity * 4 + $1.objects.capacity * 5 }
    }
}
