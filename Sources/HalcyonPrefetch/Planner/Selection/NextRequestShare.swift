import HalcyonLearning

/// The share of requested candidates that were the user's next request, by how often they succeeded the user's last
/// object.
///
/// An object that is requested later may as well be fetched later. So, of the objects worth fetching, the budget goes
/// to the likely next ones. If objects are requested in a fixed order, such as the pictures of a page, this share
/// distinguishes the next object. Otherwise it is similar for all. O(1). Bytes: 256.
struct NextRequestShare: ~Copyable {
    private static let kinds = 32
    /// The factor by which each object decays the counts of its class.
    private static let keep: Float = 1 - 1 / 1_000
    /// The prior counts.
    private static let (priorRequests, priorNext): (Float, Float) = (20, 6)

    private let requests = HeapArray<Float>(repeating: priorRequests, count: kinds)
    private let next = HeapArray<Float>(repeating: priorNext, count: kinds)

    var byteCount: Int { requests.byteCount + next.byteCount }

    /// Records a candidate that was requested.
    ///
    /// - Parameters:
    ///   - succession: the candidate's ``PlannerInput/succession``.
    ///   - isNext: whether it was the user's next request.
    mutating func note(succession: Float, isNext: Bool) {
        let kind = Self.kind(succession)
        requests[kind] = requests[kind] * Self.keep + 1
        next[kind] = next[kind] * Self.keep + (isNext ? 1 : 0)
    }

    /// Returns the share of requested candidates that were the next request.
    @inline(__always)
    func share(succession: Float) -> Float {
        let kind = Self.kind(succession)
        return next[kind] / requests[kind]
    }

    /// Returns the class of an input from −1 to 1, in equal steps of about two thirds of an octave.
    @inline(__always)
    private static func kind(_ succession: Float) -> Int {
        max(0, min(kinds - 1, Int((succession + 1) * Float(kinds / 2))))
    }
}
