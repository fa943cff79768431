/// Classes of the length of a visit, in requests: 1, up to 3, 7, 15 … and all from 2,048 on.
private enum VisitLength {
    static let steps = 12

    static func step(_ requests: Int) -> Int {
        min(steps - 1, Int.bitWidth - 1 - max(requests, 1).leadingZeroBitCount)
    }

    /// The number of requests in the middle of a step.
    static func middle(of step: Int) -> Int { (3 << step) / 2 }
}

/// How often an object that a visit has requested is requested again in the same visit, by the number of requests since.
///
/// Learned over all users from visits that have ended. All operations are O(1).
struct RepeatsInVisit {
    var reached = [Float](repeating: 10, count: VisitLength.steps)
    var repeated = [Float](repeating: 1, count: VisitLength.steps)

    /// Returns the probability that an object is requested again in a visit that goes on, so many requests since its last.
    @inline(__always)
    func probability(since requests: Int) -> Float {
        let step = VisitLength.step(requests)
        return repeated[step] / reached[step]
    }

    /// Records that an object was requested again after so many requests, or that the visit ended without.
    mutating func note(after requests: Int, isRepeated: Bool) {
        for step in 0...VisitLength.step(requests) {
            reached[step] += 1
            if isRepeated { repeated[step] += 1 }
        }
    }
}

/// The share of a visit's hits that is still to come after so many requests of a visit, over all users.
struct RestOfVisit {
    var hits = [Float](repeating: 2, count: VisitLength.steps)
    var later = [Float](repeating: 1, count: VisitLength.steps)

    /// Returns the share.
    @inline(__always)
    func share(after requests: Int) -> Float {
        let step = VisitLength.step(requests)
        return later[step] / hits[step]
    }

    /// Records the places in a visit at which entries that were held before it were requested first; `requests` is its length.
    mutating func note(places: [Int32], requests: Int) {
        if places.isEmpty { return }
        for step in 0...VisitLength.step(requests) {
            hits[step] += Float(places.count)
            for place in places where Int(place) > VisitLength.middle(of: step) { later[step] += 1 }
        }
    }
}
