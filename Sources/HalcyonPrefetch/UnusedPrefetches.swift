/// A round-robin queue of prefetched objects that have not been requested yet. After each request a few are due to be
/// reconsidered, the one that was due longest ago first.
///
/// An entry is not removed when its object is requested or evicted: the queue asks the caller when the entry is due.
/// All operations are amortised O(1). Bytes: 16 to 32 for each unused object and for each that is no longer unused
/// until it is due.
public struct UnusedPrefetches: Sendable {
    /// The maximum number of objects that are due after one request.
    public static let maxPerRequest = 1
    /// The maximum number of other users' objects that are skipped for one request.
    private static let maxSkipped = 4

    /// A fetch of an object.
    public struct Fetch: Sendable, Equatable {
        /// The object.
        public let object: UInt32
        /// The user for whom the object was fetched.
        public let user: UInt32
        /// A number that distinguishes this fetch from others of the object.
        public let number: Int

        /// Creates a fetch.
        public init(object: UInt32, user: UInt32, number: Int) {
            self.object = object
            self.user = user
            self.number = number
        }
    }

    /// The fetches from ``head`` on, the one that is due next first.
    private var fetches: [Fetch] = []
    private var head = 0
    /// The number of entries at which those that are no longer unused are removed.
    private var bound = 64

    /// Creates an empty queue.
    public init() {}

    /// Appends a fetch.
    ///
    /// - Parameter isUnused: returns whether a fetched object is still in the cache, only because of that fetch.
    public mutating func add(_ fetch: Fetch, isUnused: (Fetch) -> Bool) {
        if fetches.count >= bound {
            fetches.removeSubrange(..<head)
            head = 0
            fetches.removeAll { !isUnused($0) }
            bound = max(64, 2 * fetches.count)
        }
        fetches.append(fetch)
    }

    /// Sets `list` to the objects of a user that are due, at most ``maxPerRequest``, and moves them to the end of the
    /// queue.
    ///
    /// - Parameter isUnused: returns whether a fetched object is still in the cache, only because of that fetch.
    public mutating func next(of user: UInt32, into list: inout [UInt32], isUnused: (Fetch) -> Bool) {
        list.removeAll(keepingCapacity: true)
        // No entry is due twice.
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
