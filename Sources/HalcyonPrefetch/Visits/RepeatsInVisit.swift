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
