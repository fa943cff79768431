import Synchronization

/// The decoded frames of all animations, within one limit of bytes. Beyond it the frames that were least recently shown are removed;
/// they are decoded again when they are asked for. Every operation is O(1), except ``limit`` and the end of an animation.
public final class AnimationFramePool: Sendable {
    /// The pool of animations that are given no other one, of 64 MB.
    public static let shared = AnimationFramePool(limit: 64 << 20)

    struct Key: Hashable {
        let animation: ObjectIdentifier
        let index: Int
    }

    /// A frame in the list, which is a ring through `head`: the next of `head` was shown last.
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

    /// A pool.
    ///
    /// - Parameter limit: of the pixels of all frames, in bytes; 0 keeps none.
    public init(limit: Int) { state = Mutex(State(limit: max(0, limit))) }

    /// The limit of the pixels of all frames, in bytes. Lowering it removes frames at once, O(frames removed).
    public var limit: Int {
        get { state.withLock { $0.limit } }
        set {
            state.withLock { state in
                state.limit = max(0, newValue)
                state.trim()
            }
        }
    }

    /// The bytes of all frames now, never more than ``limit``.
    public var bytes: Int { state.withLock { $0.bytes } }

    /// The number of frames now.
    public var count: Int { state.withLock { $0.places.count } }

    /// Removes all frames. O(frames).
    public func removeAll() {
        state.withLock { state in
            for key in state.places.keys { state.remove(key) }
        }
    }

    /// A frame that is shown now.
    func frame(_ key: Key) -> Bitmap? {
        state.withLock { state in
            guard let at = state.places[key] else { return nil }
            state.unlink(at)
            state.linkFirst(at)
            return state.nodes[at].picture
        }
    }

    /// Keeps a frame, unless it alone is beyond the limit.
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
