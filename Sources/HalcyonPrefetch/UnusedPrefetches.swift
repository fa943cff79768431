/// The objects that were fetched ahead for users and that nobody has asked for yet, in turns: a few are looked at again after each
/// request, those first that were looked at longest ago.
///
/// It is not told when an object waits no longer, but asks whoever knows when its turn comes. All verbs are amortised O(1).
/// Bytes: 16 to 32 an object that waits, and for each that does no longer until its turn comes.
public struct UnusedPrefetches: Sendable {
    /// The most that are looked at again after one request.
    public static let maxPerRequest = 1
    /// The most of other users that are passed over meanwhile.
    private static let maxSkipped = 4

    /// A fetch of an object.
    public struct Fetch: Sendable, Equatable {
        /// The object.
        public let object: UInt32
        /// For whom it was fetched.
        public let user: UInt32
        /// A number that tells it from other fetches of the object.
        public let number: Int

        /// A fetch.
        public init(object: UInt32, user: UInt32, number: Int) {
            self.object = object
            self.user = user
            self.number = number
        }
    }

    /// In their turns, from ``head`` on.
    private var fetches: [Fetch] = []
    private var head = 0
    /// How many there may be before those are taken out that do not wait.
    private var bound = 64

    /// Nothing waits.
    public init() {}

    /// An object has been fetched.
    ///
    /// - Parameter isUnused: whether what was fetched once waits still, for no other reason than that fetch.
    public mutating func add(_ fetch: Fetch, isUnused: (Fetch) -> Bool) {
        if fetches.count >= bound {
            fetches.removeSubrange(..<head)
            head = 0
            fetches.removeAll { !isUnused($0) }
            bound = max(64, 2 * fetches.count)
        }
        fetches.append(fetch)
    }

    /// Sets `list` to the objects of a user whose turn it is, at most ``maxPerRequest``; their next turn comes after that of all others.
    ///
    /// - Parameter isUnused: whether what was fetched once waits still, for no other reason than that fetch.
    public mutating func next(of user: UInt32, into list: inout [UInt32], isUnused: (Fetch) -> Bool) {
        list.removeAll(keepingCapacity: true)
        // Each has one turn at most.
        var left = fetches.count - head
        var skipped = 0
        while left > 0 && list.count < Self.maxPerRequest && skipped < Self.maxSkipped {
            let fetch = fetches[head]
            head += 1
            left -= 1
            guard isUnused(fetch) else { continue }
            add(fetch, isUnused: isUnused)
            if fetch.user == user { list.append(fetch.object) } else { skipped += 1 }
        }
    }
}
