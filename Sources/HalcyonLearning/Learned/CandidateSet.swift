/// The residents among which the next victims are chosen, with their scores: least first out. O(candidates) a choice.
///
/// Scores are of the scoring whose number stands beside them: some may be older than others.
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
    /// The scoring of each score, its last byte.
    private var scorings = HeapArray<UInt8>(repeating: 0, count: 0)

    init(limit: Int) { self.limit = limit }

    var byteCount: Int { slots.byteCount + scores.byteCount + scorings.byteCount }
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

    /// How many scorings ago a score was given, as of scoring `scoring`; 256 count as none.
    @inline(__always)
    func age(at place: Int, scoring: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: scoring) &- scorings[place] }

    /// To be called when all ``scores`` were changed, in the scoring of that number.
    mutating func scoresChanged(scoring: UInt32) {
        known = nil
        for place in 0..<count { scorings[place] = UInt8(truncatingIfNeeded: scoring) }
    }

    /// Changes one score, in the scoring of that number.
    @inline(__always)
    mutating func rescore(at place: Int, score: Float, scoring: UInt32) {
        scores[place] = score
        scorings[place] = UInt8(truncatingIfNeeded: scoring)
        known = nil
    }

    /// Adds a resident that is no candidate yet; without a score, which then is to follow.
    @inline(__always)
    mutating func add(
        _ slot: UInt32, score: Float = 0, scoring: UInt32 = 0, records: UnsafeMutablePointer<ObjectRecord>
    ) {
        if slots.count == 0 { makeRoom() }
        records[Int(slot)].candidate = UInt8(truncatingIfNeeded: count)
        slots[count] = slot
        scores[count] = score
        scorings[count] = UInt8(truncatingIfNeeded: scoring)
        count &+= 1
        known = nil
    }

    @inline(never)
    private mutating func makeRoom() {
        slots.grow(to: limit, filling: ObjectRecord.none)
        scores.grow(to: limit, filling: 0)
        scorings.grow(to: limit, filling: 0)
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
        scorings[place] = scorings[count]
        records[Int(slots[place])].candidate = UInt8(truncatingIfNeeded: place)
    }

    /// Lets those go whose score is above the mean.
    mutating func dropBetterHalf(records: UnsafeMutablePointer<ObjectRecord>) {
        var sum: Float = 0
        for place in 0..<count { sum += scores[place] }
        drop(from: sum / Float(max(count, 1)), leaving: 0, records: records)
    }

    /// Lets the best go until at most `most` are left, to a 256th of the range of the scores; where that is not finite, any.
    mutating func dropBest(leaving most: Int, records: UnsafeMutablePointer<ObjectRecord>) {
        if count <= most { return }
        let values = scores.base
        var (low, high) = (values[0], values[0])
        for place in 1..<count {
            low = min(low, values[place])
            high = max(high, values[place])
        }
        for _ in 0..<8 {
            let middle = low + (high - low) / 2
            var below = 0
            for place in 0..<count { below &+= values[place] < middle ? 1 : 0 }
            if below > most { high = middle } else { low = middle }
        }
        drop(from: high, leaving: most, records: records)
        drop(from: low, leaving: most, records: records)
        // What is not a number is neither, nor is anything where the range is not finite.
        while count > most { remove(at: count - 1, records: records) }
    }

    /// Lets those go that score at least `least` until at most `most` are left.
    private mutating func drop(from least: Float, leaving most: Int, records: UnsafeMutablePointer<ObjectRecord>) {
        var place = count - 1
        while place >= 0 && count > most {
            if scores[place] >= least { remove(at: place, records: records) }
            place -= 1
        }
    }
}
