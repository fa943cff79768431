/// The residents among which the next victims are chosen, with their scores: least first out. O(candidates) a choice.
struct CandidateSet: ~Copyable {
    /// As many as a record's byte can number.
    static let bound = Int(ObjectRecord.notCandidate)

    let limit: Int
    private(set) var count = 0
    /// The place of the one with the least score, if that is known.
    private var known: Int?
    /// Empty until there is a candidate: most caches of a fleet never have to evict.
    private(set) var slots = HeapArray<UInt32>(repeating: ObjectRecord.none, count: 0)
    private(set) var scores = HeapArray<Float>(repeating: 0, count: 0)

    init(limit: Int) { self.limit = limit }

    var byteCount: Int { slots.byteCount + scores.byteCount }
    var isFull: Bool { count == limit }

    /// The place of the one with the least score; only if there is one. O(1) until something changes.
    mutating func least() -> Int {
        if let known { return known }
        let values = scores.base
        var (best, score) = (0, values[0])
        var place = 1
        while place < count {
            let value = values[place]
            if value < score {
                score = value
                best = place
            }
            place &+= 1
        }
        known = best
        return best
    }

    /// To be called when ``scores`` were changed.
    mutating func scoresChanged() { known = nil }

    /// Adds a resident that is no candidate yet; without a score, which then is to follow.
    @inline(__always)
    mutating func add(_ slot: UInt32, score: Float = 0, records: UnsafeMutablePointer<ObjectRecord>) {
        if slots.count == 0 { makeRoom() }
        records[Int(slot)].candidate = UInt8(truncatingIfNeeded: count)
        slots[count] = slot
        scores[count] = score
        count &+= 1
        known = nil
    }

    @inline(never)
    private mutating func makeRoom() {
        slots.grow(to: limit, filling: ObjectRecord.none)
        scores.grow(to: limit, filling: 0)
    }

    /// Takes the one at `place` out.
    @inline(__always)
    mutating func remove(at place: Int, records: UnsafeMutablePointer<ObjectRecord>) {
        records[Int(slots[place])].candidate = ObjectRecord.notCandidate
        count &-= 1
        known = nil
        if place == count { return }
        slots[place] = slots[count]
        scores[place] = scores[count]
        records[Int(slots[place])].candidate = UInt8(truncatingIfNeeded: place)
    }

    /// Lets those go whose score is above the mean.
    mutating func dropBetterHalf(records: UnsafeMutablePointer<ObjectRecord>) {
        var sum: Float = 0
        for place in 0..<count { sum += scores[place] }
        let mean = sum / Float(max(count, 1))
        var place = count - 1
        while place >= 0 {
            if scores[place] >= mean { remove(at: place, records: records) }
            place -= 1
        }
    }
}
