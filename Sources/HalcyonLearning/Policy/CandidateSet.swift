import CPortableBLAS
import HalcyonEviction

/// The candidates for eviction with their scores. Finding the lowest score is O(candidates).
///
/// Each score has the number of the scoring in which it was given: some scores may be older than others.
struct CandidateSet: ~Copyable {
    /// The most candidates, limited by the byte that a record has for its place.
    static let bound = Int(ObjectRecord.notCandidate)

    let limit: Int
    private(set) var count = 0
    /// The place of the lowest score, if known.
    private var known: Int?
    /// Empty until there is a candidate: most per-user caches never evict.
    private(set) var slots = HeapArray<UInt32>(repeating: ObjectRecord.none, count: 0)
    private(set) var scores = HeapArray<Float>(repeating: 0, count: 0)
    /// The scoring of each score, modulo 256.
    private var scorings = HeapArray<UInt8>(repeating: 0, count: 0)

    private let vectors: VectorKernels

    init(limit: Int, vectors: VectorKernels = VectorKernels()) {
        self.limit = limit
        self.vectors = vectors
    }

    var byteCount: Int { slots.byteCount + scores.byteCount + scorings.byteCount }
    var isFull: Bool { count == limit }

    /// Returns the place of the lowest score; there must be a candidate. O(1) until a score changes.
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

    /// Returns the scorings since a score was given, modulo 256, as of scoring `scoring`.
    @inline(__always)
    func age(at place: Int, scoring: Int) -> UInt8 { UInt8(truncatingIfNeeded: scoring) &- scorings[place] }

    /// Records that all ``scores`` were changed in a scoring.
    mutating func scoresChanged(scoring: Int) {
        known = nil
        for place in 0..<count { scorings[place] = UInt8(truncatingIfNeeded: scoring) }
    }

    /// Changes one score in a scoring.
    @inline(__always)
    mutating func rescore(at place: Int, score: Float, scoring: Int) {
        scores[place] = score
        scorings[place] = UInt8(truncatingIfNeeded: scoring)
        known = nil
    }

    /// Adds a resident that is no candidate yet. If no score is given, the caller sets it later.
    @inline(__always)
    mutating func add(
        _ slot: UInt32, score: Float = 0, scoring: Int = 0, records: UnsafeMutablePointer<ObjectRecord>
    ) {
        if slots.count == count { makeRoom() }
        records[Int(slot)].candidate = UInt8(truncatingIfNeeded: count)
        slots[count] = slot
        scores[count] = score
        scorings[count] = UInt8(truncatingIfNeeded: scoring)
        count &+= 1
        known = nil
    }

    @inline(never)
    private mutating func makeRoom() {
        let room = min(GrowingMemory.room(for: max(count + 1, 8), after: count), max(limit, count + 1))
        slots.grow(to: room, filling: ObjectRecord.none)
        scores.grow(to: room, filling: 0)
        scorings.grow(to: room, filling: 0)
    }

    /// Removes the candidate at `place`.
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

    /// Removes the candidates with a score at or above the mean.
    mutating func dropBetterHalf(records: UnsafeMutablePointer<ObjectRecord>) {
        var sum: Float = 0
        for place in 0..<count { sum += scores[place] }
        drop(from: sum / Float(max(count, 1)), leaving: 0, records: records)
    }

    /// Removes the candidates with the highest scores until at most `most` are left. The order is exact to 1/256 of the range
    /// of the scores; if that is not finite, any candidates are removed.
    mutating func dropBest(leaving most: Int, records: UnsafeMutablePointer<ObjectRecord>) {
        if count <= most { return }
        var (low, high): (Float, Float) = (0, 0)
        halcyon_bisect(vectors.routines, scores.base, count, most, &low, &high)
        drop(from: high, leaving: most, records: records)
        drop(from: low, leaving: most, records: records)
        // A score that is not a number is in neither range, nor is any score if the range is not finite.
        while count > most { remove(at: count - 1, records: records) }
    }

    /// Removes candidates with a score of at least `least` until at most `most` are left.
    private mutating func drop(from least: Float, leaving most: Int, records: UnsafeMutablePointer<ObjectRecord>) {
        var place = count - 1
        while place >= 0 && count > most {
            if scores[place] >= least { remove(at: place, records: records) }
            place -= 1
        }
    }
}
