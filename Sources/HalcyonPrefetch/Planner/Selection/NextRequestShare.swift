import HalcyonLearning

/// How many of the objects that a user asks for within the horizon are asked for next, by how often they came after the user's last
/// object.
///
/// What is requests later may as well be fetched later; so among what is worth a fetch the budget goes to what comes next. Where objects
/// are asked for in a fixed order, as the pictures of a page, this tells the next from the rest; where they are not, it
/// is much the same for all. O(1). Bytes: 256.
struct NextRequestShare: ~Copyable {
    private static let kinds = 32
    /// The share of what is known of a kind that stays with each object of it.
    private static let keep: Float = 1 - 1 / 1_000
    /// What is taken for known before anything is.
    private static let (priorRequests, priorNext): (Float, Float) = (20, 6)

    private let requests = HeapArray<Float>(repeating: priorRequests, count: kinds)
    private let next = HeapArray<Float>(repeating: priorNext, count: kinds)

    var byteCount: Int { requests.byteCount + next.byteCount }

    /// Takes note of a candidate that was asked for.
    ///
    /// - Parameters:
    ///   - succession: what the network was told of it as ``PlannerInput/succession``.
    ///   - isNext: whether with the user's next request.
    mutating func note(succession: Float, isNext: Bool) {
        let kind = Self.kind(succession)
        requests[kind] = requests[kind] * Self.keep + 1
        next[kind] = next[kind] * Self.keep + (isNext ? 1 : 0)
    }

    /// The share of those that are requests which are requests next.
    @inline(__always)
    func share(succession: Float) -> Float {
        let kind = Self.kind(succession)
        return next[kind] / requests[kind]
    }

    /// Inputs from −1 to 1 in equal steps, of some two thirds of an octave.
    @inline(__always)
    private static func kind(_ succession: Float) -> Int {
        max(0, min(kinds - 1, Int((succession + 1) * Float(kinds / 2))))
    }
}
