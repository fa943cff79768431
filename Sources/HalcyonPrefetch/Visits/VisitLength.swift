/// Classes of the length of a visit, in requests: 1, up to 3, 7, 15 … and all from 2,048 on.
enum VisitLength {
    static let steps = 12

    static func step(_ requests: Int) -> Int {
        min(steps - 1, Int.bitWidth - 1 - max(requests, 1).leadingZeroBitCount)
    }

    /// The number of requests in the middle of a step.
    static func middle(of step: Int) -> Int { (3 << step) / 2 }
}
