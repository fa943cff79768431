/// The prefetched objects of a cache that were not requested since, and the order in which a policy reconsiders them. After each
/// request a few are due, the one that was due longest ago first.
///
/// The order keeps an object that is removed until its turn. All operations are amortised O(1). Bytes: 50 to 100 for each unused
/// object, and 16 to 32 for each that is no longer unused until it is due.
package struct UnusedPrefetches {
    /// The maximum number of objects that are due after one request.
    package static let maxPerRequest = 1
    /// The maximum number of other users' objects that are skipped for one request.
    private static let maxSkipped = 4

    /// The prefetch of an object.
    package struct Prefetch: Sendable, Equatable {
        /// The number of the user for whom the object was fetched.
        package let user: UInt32
        /// The bytes that came over the network, where they are measured.
        package var bytes = 0
        /// The number that distinguishes this prefetch from others of the object: in a replay that of the request after which it arrived.
        /// An object that left and was prefetched again without a request between keeps its turn.
        package let number: Int
        /// Whether the prefetch counts in the results: it was started after the warm-up.
        package var isCounted = true

        package init(user: UInt32, number: Int, bytes: Int = 0, isCounted: Bool = true) {
            (self.user, self.number, self.bytes, self.isCounted) = (user, number, bytes, isCounted)
        }
    }

    /// The prefetches by their objects.
    package private(set) var prefetches: [UInt32: Prefetch] = [:]
    /// The objects from ``head`` on, the one that is due next first, and the numbers of their prefetches.
    private var queue: [(object: UInt32, number: Int)] = []
    private var head = 0
    /// The length of the queue at which objects that are no longer unused are removed from it.
    private var bound = 64

    package init() {}

    /// Adds a prefetch of an object.
    package mutating func add(_ object: UInt32, _ prefetch: Prefetch) {
        prefetches[object] = prefetch
        append(object, prefetch.number)
    }

    /// Removes an object that was requested or left the cache, and returns its prefetch; `nil` if it is none of the unused.
    package mutating func remove(_ object: UInt32) -> Prefetch? {
        prefetches.isEmpty ? nil : prefetches.removeValue(forKey: object)
    }

    /// Sets `list` to the objects of a user that are due, at most ``maxPerRequest``, and moves them to the end of the queue.
    package mutating func next(of user: UInt32, into list: inout [UInt32]) {
        list.removeAll(keepingCapacity: true)
        // No object is due twice.
        var left = queue.count - head
        var skipped = 0
        while left > 0 && list.count < Self.maxPerRequest && skipped < Self.maxSkipped {
            let (object, number) = queue[head]
            head += 1
            left -= 1
            guard let prefetch = prefetches[object], prefetch.number == number else { continue }
            append(object, number)
            if prefetch.user == user { list.append(object) } else { skipped += 1 }
        }
    }

    private mutating func append(_ object: UInt32, _ number: Int) {
        if queue.count >= bound {
            let prefetches = prefetches
            queue.removeSubrange(..<head)
            head = 0
            queue.removeAll { prefetches[$0.object]?.number != $0.number }
            bound = max(64, 2 * queue.count)
        }
        queue.append((object, number))
    }
}
