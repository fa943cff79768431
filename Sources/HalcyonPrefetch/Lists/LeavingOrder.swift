/// The order in which the cache of one user gives up objects for those that are fetched of a list.
///
/// The first to leave are those that the user has requested, then those that were fetched and not requested. Of each, those leave first
/// that were shown or requested the longest ago, and of one list those that the policy ranks last. Objects of the list that is shown
/// leave last.
///
/// A list on a full cache is O(objects · log objects), everything else O(1) or O(items). Bytes: some 60 an object that was fetched of a
/// list or requested, until the cache gives it up. A cache does not report what it never held, so there are at most twice ``bound``.
struct LeavingOrder {
    private struct Object {
        /// The capacity that it takes.
        let size: Int
        var isRequested = false
        /// The number of the last list in which it was shown, from 1 on, and its rank there.
        var list = 0
        var rank = 0
        /// When it was last shown or requested, in lists and requests.
        var time: Int
    }

    /// The objects that are kept once there are twice as many: those that were shown or requested last.
    static let bound = 4_096

    private var objects: [UInt32: Object] = [:]
    /// The number of objects that are known.
    var count: Int { objects.count }
    /// The number of lists so far.
    private var lists = 0
    /// The number of lists and requests so far.
    private var time = 0

    /// Records a request.
    mutating func noteRequest(_ object: UInt32, size: Int) {
        time += 1
        objects[object, default: Object(size: max(size, 1), time: time)].isRequested = true
        objects[object]?.time = time
        forgetOldest()
    }

    /// Records that the cache has given up an object.
    mutating func noteRemoval(_ object: UInt32) { objects[object] = nil }

    /// Returns the objects to evict for those that are fetched of a list, in this order.
    ///
    /// - Parameters:
    ///   - ranking: the items of the list, best first; if it is empty, their order in the list counts.
    ///   - fetched: what is fetched of the list.
    ///   - room: the capacity that is free.
    mutating func victims(
        of list: ShownList, rankedAs ranking: [UInt32], for fetched: [UInt32], room: Int, isHeld: (UInt32) -> Bool
    ) -> [UInt32] {
        (lists, time) = (lists + 1, time + 1)
        let sizes = Dictionary(list.items.map { ($0.object, max($0.size, 1)) }) { first, _ in first }
        for (rank, object) in (ranking.isEmpty ? list.items.map(\.object) : ranking).enumerated() {
            guard var known = objects[object] else { continue }
            (known.list, known.rank, known.time) = (lists, rank, time)
            objects[object] = known
        }
        // The request that follows may be for another object of the list.
        let fetchedSize = fetched.reduce(0) { $0 + (sizes[$1] ?? 1) }
        let victims = victims(freeing: fetchedSize + (sizes.values.max() ?? 0) - room, isHeld)
        for (rank, object) in fetched.enumerated() {
            objects[object] = Object(size: sizes[object] ?? 1, list: lists, rank: rank, time: time)
        }
        forgetOldest()
        return victims
    }

    private mutating func forgetOldest() {
        guard objects.count >= 2 * Self.bound else { return }
        let kept = objects.sorted { ($1.value.time, $1.key) < ($0.value.time, $0.key) }.prefix(Self.bound)
        objects = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }

    private mutating func victims(freeing size: Int, _ isHeld: (UInt32) -> Bool) -> [UInt32] {
        if size <= 0 { return [] }
        var (victims, freed): ([UInt32], Int) = ([], 0)
        for (object, known) in objects.sorted(by: { isBefore($0, $1) }) where freed < size {
            if isHeld(object) {
                victims.append(object)
                freed += known.size
            } else {
                objects[object] = nil
            }
        }
        return victims
    }

    private func isBefore(_ one: (key: UInt32, value: Object), _ other: (key: UInt32, value: Object)) -> Bool {
        let (first, second) = (one.value, other.value)
        return (group(first), first.time, -first.rank, one.key) < (group(second), second.time, -second.rank, other.key)
    }

    private func group(_ object: Object) -> Int { object.list == lists ? 2 : object.isRequested ? 0 : 1 }
}
