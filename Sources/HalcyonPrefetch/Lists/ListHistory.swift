import HalcyonEviction

/// What all users of a planner have opened of what they were shown.
///
/// Bytes: some 100 an object, and ``rates``.
struct ListHistory {
    /// An object that was shown or requested.
    struct Object {
        var counts = OpeningCounts()
        var firstTime: Int64
    }

    private(set) var objects: [UInt32: Object] = [:]
    private(set) var rates = CategoryRates()
    /// Whether ``rates`` are those of a server, which replace what was seen here.
    private var isAnnounced = false

    mutating func noteShown(_ item: ShownList.Item, _ members: UnsafeBufferPointer<UInt32>, at time: Int64) {
        objects[item.object, default: Object(firstTime: time)].counts.note(shown: 1, at: time)
        if !isAnnounced { rates.noteShown(members, at: time) }
    }

    mutating func noteOpened(_ object: UInt32, _ members: UnsafeBufferPointer<UInt32>, at time: Int64) {
        objects[object, default: Object(firstTime: time)].counts.note(opened: 1, at: time)
        if !isAnnounced { rates.noteOpened(members, at: time) }
    }

    /// Takes over the counts of a server.
    mutating func adopt(_ rates: CategoryRates) { (self.rates, isAnnounced) = (rates, true) }

    /// The heap bytes, approximately.
    var byteCount: Int { objects.capacity * MemoryLayout<(UInt32, Object)>.stride + rates.byteCount }
}
