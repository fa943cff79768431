import Synchronization

/// The decoded frames of all animations: a pool with one limit of bytes, and the canvas that each animation was last
/// asked for.
///
/// Frames are whole canvases. An animation keeps every n-th in the pool of those that others are drawn over; n is its
/// *spacing*, a power of two. With a spacing of 1, at which it begins, it keeps all frames. Beyond the limit,
/// animations that do not play lose their frames, those asked for least recently first. If all play, the animation
/// with the most bytes doubles its spacing. The spacings are 1 again when an animation ends, when ``limit`` rises, and
/// after ``removeAll(keepsPlaying:)``. An animation that plays alone has the smallest spacing with which its frames
/// fit: 1 for 60 frames of 500x500 in 64 MB, 1,024 for 5,000 frames of 1920x1080.
///
/// Outside of the limit, each animation holds the canvas of its last frame, and a second one while a frame with
/// ``AnimationFrame/Disposal/previous`` is shown: ``heldBytes``. The canvas shares its bytes with the picture that was
/// returned.
///
/// An animation *plays* for twice the duration of the frame that it was last asked for, at least 1 second and at most
/// 60.
///
/// Every operation is O(1), except those that remove frames: O(animations and frames removed).
public final class AnimationFramePool: Sendable {
    /// The default pool of animations, of 64 MB.
    public static let shared = AnimationFramePool(limit: 64 << 20)

    /// The canvases of an animation. All have the same size.
    private struct Canvases {
        /// The number of frames of the animation.
        let count: Int
        /// The bytes of a canvas.
        let size: Int
        var spacing = 1
        var pooled: [Int: (place: Int, canvas: Bitmap)] = [:]
        /// The frame that was last asked for, and the one that is restored when it ends.
        var held: [(index: Int, canvas: Bitmap)] = []
        var asked: ContinuousClock.Instant
        var playsUntil: ContinuousClock.Instant

        func canvas(_ index: Int) -> Bitmap? { held.first { $0.index == index }?.canvas ?? pooled[index]?.canvas }

        var pooledBytes: Int { pooled.count * size }

        /// The bytes of the held canvases that are not in the pool.
        var heldBytes: Int { held.count { pooled[$0.index] == nil } * size }
    }

    private struct State {
        var limit: Int
        var bytes = 0
        var animations: [ObjectIdentifier: Canvases] = [:]

        /// Removes frames until the limit holds.
        mutating func trim(_ now: ContinuousClock.Instant) {
            while bytes > limit {
                let owners = animations.filter { !$0.value.pooled.isEmpty }
                let idle = owners.filter { $0.value.playsUntil < now }.min { $0.value.asked < $1.value.asked }
                let largest = owners.max {
                    ($0.value.pooledBytes, $1.value.asked) < ($1.value.pooledBytes, $0.value.asked)
                }
                guard let victim = idle ?? largest else { return }
                var canvases = victim.value
                bytes -= canvases.pooledBytes
                if idle == nil, canvases.spacing < canvases.count { canvases.spacing *= 2 }
                let keepsNone = idle != nil || canvases.spacing >= canvases.count
                canvases.pooled = canvases.pooled.filter { !keepsNone && $0.value.place % canvases.spacing == 0 }
                bytes += canvases.pooledBytes
                animations[victim.key] = canvases
            }
        }

        /// Lets all animations keep every frame, as far as there is room.
        mutating func restart() {
            for id in animations.keys { animations[id]?.spacing = 1 }
        }
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> ContinuousClock.Instant

    /// Creates a pool.
    ///
    /// - Parameter limit: the limit of the pixels of the frames in the pool, in bytes. 0 keeps none.
    public convenience init(limit: Int) { self.init(limit: limit) { .now } }

    init(limit: Int, now: @escaping @Sendable () -> ContinuousClock.Instant) {
        state = Mutex(State(limit: max(0, limit)))
        self.now = now
    }

    /// The limit of the pixels of the frames in the pool, in bytes. Lowering it removes frames immediately.
    public var limit: Int {
        get { state.withLock { $0.limit } }
        set {
            let now = now()
            state.withLock { state in
                if newValue > state.limit { state.restart() }
                state.limit = max(0, newValue)
                state.trim(now)
            }
        }
    }

    /// The bytes of the pixels of the frames in the pool, never more than ``limit``.
    public var bytes: Int { state.withLock { $0.bytes } }

    /// The number of frames in the pool.
    public var count: Int { state.withLock { $0.animations.values.reduce(0) { $0 + $1.pooled.count } } }

    /// The bytes of the canvases that animations hold outside of the pool: one for each animation, or two.
    /// O(animations).
    public var heldBytes: Int { state.withLock { $0.animations.values.reduce(0) { $0 + $1.heldBytes } } }

    /// Removes the frames in the pool, and the canvases that animations hold.
    ///
    /// Call it on memory pressure. When an app enters the background, nothing plays: pass `false`.
    ///
    /// - Parameter keepsPlaying: whether animations that play keep the canvas they hold, so that their next frame
    ///   needs no other one. By default they do.
    public func removeAll(keepsPlaying: Bool = true) {
        let now = now()
        // Large pictures are released outside the lock.
        let removed = state.withLock { state in
            let removed = state.animations
            state.animations = removed.filter { keepsPlaying && $0.value.playsUntil >= now }
            for id in state.animations.keys { state.animations[id]?.pooled = [:] }
            state.bytes = 0
            state.restart()
            return removed
        }
        _ = removed
    }

    /// Returns a frame of an animation, from the pool or held.
    func canvas(_ animation: ObjectIdentifier, _ index: Int) -> Bitmap? {
        state.withLock { $0.animations[animation]?.canvas(index) }
    }

    /// Returns whether the pool keeps a frame.
    ///
    /// - Parameter place: the number of frames before it that others are drawn over; -1 for a frame that no other is
    ///   drawn over.
    func wants(_ animation: ObjectIdentifier, place: Int, size: Int) -> Bool {
        state.withLock { $0.limit >= size && place % ($0.animations[animation]?.spacing ?? 1) == 0 }
    }

    /// Keeps a drawn frame, if it is one that the pool ``wants(_:place:size:)``.
    ///
    /// - Parameter count: the number of frames of the animation.
    func keep(_ animation: ObjectIdentifier, count: Int, _ index: Int, place: Int, _ canvas: Bitmap) {
        change(animation, count, canvas, for: .zero) { canvases, limit in
            guard place % canvases.spacing == 0, canvases.size <= limit else { return }
            canvases.pooled[index] = (place, canvas)
        }
    }

    /// Holds the canvas of a frame that an animation was asked for.
    ///
    /// - Parameters:
    ///   - duration: the duration of the frame.
    ///   - restored: the frame that is restored when this one ends, and its canvas if it is known.
    func show(
        _ animation: ObjectIdentifier, count: Int, _ index: Int, _ canvas: Bitmap, for duration: Duration,
        restored: (index: Int, canvas: Bitmap?)?
    ) {
        change(animation, count, canvas, for: duration) { canvases, _ in
            let second = restored.flatMap { restored in
                (restored.canvas ?? canvases.canvas(restored.index)).map { (restored.index, $0) }
            }
            canvases.held = [(index, canvas)] + (second.map { [$0] } ?? [])
        }
    }

    private func change(
        _ animation: ObjectIdentifier, _ count: Int, _ canvas: Bitmap, for duration: Duration,
        _ body: (inout Canvases, _ limit: Int) -> Void
    ) {
        let now = now()
        state.withLock { state in
            var canvases =
                state.animations[animation]
                ?? Canvases(count: count, size: canvas.pixels.count, asked: now, playsUntil: now)
            (canvases.asked, canvases.playsUntil) = (now, now + max(.seconds(1), min(duration * 2, .seconds(60))))
            state.bytes -= canvases.pooledBytes
            body(&canvases, state.limit)
            state.bytes += canvases.pooledBytes
            state.animations[animation] = canvases
            state.trim(now)
        }
    }

    /// Removes the canvases of an animation that has ended.
    func remove(_ animation: ObjectIdentifier) {
        let removed = state.withLock { state in
            let removed = state.animations.removeValue(forKey: animation)
            state.bytes -= removed?.pooledBytes ?? 0
            if removed != nil { state.restart() }
            return removed
        }
        _ = removed
    }
}
