import Synchronization

/// A pool of decoded frames of all animations, with one limit of bytes.
///
/// Beyond the limit, the least recently shown frames are removed; a later request decodes them again. Every operation is O(1), except
/// changing ``limit``, ``removeAll()`` and the deallocation of an animation.
public final class AnimationFramePool: Sendable {
    /// The default pool of animations, of 64 MB.
    public static let shared = AnimationFramePool(limit: 64 << 20)

    struct Key: Hashable {
        let animation: ObjectIdentifier
        let index: Int
    }

    /// A frame in the list, a ring through node 0. The node after node 0 was shown last.
    private struct Node {
        var key: Key
        var picture: Bitmap?
        var previous: Int
        var next: Int
    }

    private struct State {
        var limit: Int
        var bytes = 0
        var places: [Key: Int] = [:]
        var nodes = [
            Node(key: Key(animation: ObjectIdentifier(AnimationFramePool.self), index: -1), previous: 0, next: 0)
        ]
        var free: [Int] = []

        mutating func unlink(_ at: Int) {
            nodes[nodes[at].previous].next = nodes[at].next
            nodes[nodes[at].next].previous = nodes[at].previous
        }

        mutating func linkFirst(_ at: Int) {
            let second = nodes[0].next
            (nodes[at].previous, nodes[at].next) = (0, second)
            nodes[second].previous = at
            nodes[0].next = at
        }

        mutating func remove(_ key: Key) {
            guard let at = places.removeValue(forKey: key) else { return }
            unlink(at)
            bytes -= nodes[at].picture?.pixels.count ?? 0
            nodes[at].picture = nil
            free.append(at)
        }

        mutating func trim() {
            while bytes > limit { remove(nodes[nodes[0].previous].key) }
        }
    }

    private let state: Mutex<State>

    /// Creates a pool.
    ///
    /// - Parameter limit: the limit of the pixels of all frames, in bytes. 0 keeps none.
    public init(limit: Int) { state = Mutex(State(limit: max(0, limit))) }

    /// The limit of the pixels of all frames, in bytes. Lowering it removes frames immediately, O(frames removed).
    public var limit: Int {
        get { state.withLock { $0.limit } }
        set {
            state.withLock { state in
                state.limit = max(0, newValue)
                state.trim()
            }
        }
    }

    /// The bytes of the pixels of all frames, never more than ``limit``.
    public var bytes: Int { state.withLock { $0.bytes } }

    /// The number of frames.
    public var count: Int { state.withLock { $0.places.count } }

    /// Removes all frames. O(frames).
    public func removeAll() {
        state.withLock { state in
            for key in state.places.keys { state.remove(key) }
        }
    }

    /// Returns a frame, and marks it as the most recently shown; `nil` if it is not in the pool.
    func frame(_ key: Key) -> Bitmap? {
        state.withLock { state in
            guard let at = state.places[key] else { return nil }
            state.unlink(at)
            state.linkFirst(at)
            return state.nodes[at].picture
        }
    }

    /// Inserts a frame, unless it alone exceeds the limit.
    func insert(_ picture: Bitmap, _ key: Key) {
        state.withLock { state in
            state.remove(key)
            guard picture.pixels.count <= state.limit else { return }
            let node = Node(key: key, picture: picture, previous: 0, next: 0)
            let at: Int
            if let free = state.free.popLast() {
                at = free
                state.nodes[at] = node
            } else {
                at = state.nodes.count
                state.nodes.append(node)
            }
            state.places[key] = at
            state.linkFirst(at)
            state.bytes += picture.pixels.count
            state.trim()
        }
    }

    /// Removes the frames of an animation. O(frames of the animation).
    func remove(_ animation: ObjectIdentifier, count: Int) {
        state.withLock { state in
            for index in 0..<count { state.remove(Key(animation: animation, index: index)) }
        }
    }
}
