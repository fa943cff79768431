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
