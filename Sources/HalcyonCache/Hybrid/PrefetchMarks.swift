import Synchronization

/// Which keys were stored ahead of need and not asked for since. O(length of the key).
package final class PrefetchMarks: Sendable {
    /// The most marks kept; beyond it one is dropped for each that comes, and its hit counts as any other.
    private static let bound = 1 << 16

    private let keys = Mutex<Set<String>>([])

    /// A key was stored ahead of need.
    package func mark(_ key: String) {
        keys.withLock { keys in
            if keys.count >= Self.bound { keys.removeFirst() }
            keys.insert(key)
        }
    }

    /// Takes the mark off a key that is asked for, stored or removed; whether there was one.
    @discardableResult
    package func take(_ key: String) -> Bool {
        keys.withLock { keys in keys.isEmpty ? false : keys.remove(key) != nil }
    }
}
