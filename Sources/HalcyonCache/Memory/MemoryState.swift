import CProcessor
import HalcyonEviction
import Synchronization

/// The state of a memory storage, behind a lock that readers share.
///
/// There are two ways to access the state:
///
/// - ``withLock(_:)`` has exclusive access.
/// - ``load(_:at:_:_:_:_:removedValues:reporting:)`` takes a lane (``HitLanes``). With one lane, which is the case
///   until two threads compete, this is exclusive access as well, and the load is served completely. With several
///   lanes, it only reads. The hit waits in the lane until the policy receives it. Loads that need more than reading
///   are left to `withLock`.
///
/// `withLock` first passes all waiting hits to the policy, in the order in which they occurred. Every other operation
/// therefore has the result that it would have if each hit had been passed on at once. Policies that may evict on a
/// hit (`mayOverflow`) receive each hit at once.
///
/// Why this is Sendable without the compiler's proof:
///
/// - `state` is written only by a thread that has closed all lanes (under `writers`) or holds the only lane. It is
///   read only by these threads and by threads that hold any lane.
/// - A lane is taken and closed by an acquiring exchange and released by a releasing store. A thread that takes a
///   lane therefore sees the writes of all threads that held or closed it before. A thread that closes a lane does so
///   after all its readers have released it.
/// - The number of lanes changes only while all are closed. New lanes are closed when they are created. A thread that
///   holds a lane loads the number again.
/// - Only the thread that holds or has closed a lane accesses its buffer.
/// - No thread keeps a reference to any of these after it has released the lane.
///
/// See `WaitingHitTests.lanesGivePolicyTheSameCalls()`, `WaitingHitTests.hitsOfSeveralLanesKeepOrder()`,
/// `WaitingHitTests.bufferedHitsPrecedeRemoval()`, `WaitingHitTests.bufferedHitKeepsItsTime()` and
/// `WaitingHitTests.bufferedHitChangesExpiration()`.
final class MemoryState: @unchecked Sendable {
    private let writers = Mutex(())
    let lanes: HitLanes
    private let state: UnsafeMutablePointer<MemoryCore.State>

    init(_ state: consuming MemoryCore.State, lanes: consuming HitLanes = HitLanes()) {
        self.lanes = lanes
        self.state = .allocate(capacity: 1)
        self.state.initialize(to: state)
    }

    deinit {
        state.deinitialize(count: 1)
        state.deallocate()
    }

    /// Reads and changes the state with exclusive access. The policy has received all earlier hits.
    @inline(__always)
    func withLock<Result: ~Copyable & Sendable, Failure>(
        _ body: (inout MemoryCore.State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try writers.withLock { _ throws(Failure) in
            lanes.close()
            defer { lanes.open() }
            if lanes.anyWaits { serveWaiting() }
            return try body(&state.pointee)
        }
    }

    /// Serves a load: exclusively if there is one lane, otherwise in parallel with other readers if it changes only
    /// what hits change.
    ///
    /// - Returns: the result; `nil` if only ``withLock(_:)`` can serve the load.
    @inline(__always)
    func load(
        _ key: HashedKey, at time: Int64, _ extending: ExpirationExtending, _ categories: [String], _ user: String?,
        _ kind: LookUpKind, removedValues: inout MemoryCore.RemovedValues?, reporting: Bool
    ) -> MemoryCore.Loaded? {
        guard let lane = lanes.enter() ?? enterAny() else { return nil }
        if lanes.isOnly {
            let loaded = state.pointee.load(key, at: time, extending, categories, user, kind)
            removedValues = state.pointee.takeRemovedValues(reporting: reporting)
            lanes.leave(lane)
            return loaded
        }
        let found = read(key, at: time, extending, categories, user, kind, into: &lane.buffer.pointee)
        let isFull = lane.buffer.pointee.isFull
        lanes.leave(lane)
        if isFull { serveAll() }
        return found
    }

    @inline(__always)
    private func read(
        _ key: HashedKey, at time: Int64, _ extending: ExpirationExtending, _ categories: [String], _ user: String?,
        _ kind: LookUpKind, into buffer: inout HitBuffer
    ) -> MemoryCore.Loaded? {
        if buffer.isFull { return nil }
        switch state.pointee.entries.find(
            key, at: time, extending: extending, categories: categories, hasUser: user != nil, kind: kind)
        {
        case .unknown: return nil
        case .nothing:
            if kind != .probe { buffer.miss() }
            return (nil, false)
        case .hit(var hit):
            if let user { hit.user = buffer.number(of: user, state.pointee.entries.users) }
            buffer.append(hit)
            return (state.pointee.values[Int(hit.entry)], false)
        }
    }

    @inline(never)
    private func enterAny() -> HitLanes.Lane? {
        if let count = lanes.crowded { withLock { _ in lanes.grow(from: count) } }
        // The reader does not become a writer although a writer is active: readers that became writers would keep the
        // lanes closed for each other.
        for _ in 0..<16 {
            for _ in 0..<200 {
                if let lane = lanes.enterAny() { return lane }
                halcyon_wait(0)
            }
            // The writer takes long. Wait until it is done.
            writers.withLock { _ in }
        }
        return nil
    }

    @inline(never)
    private func serveAll() { withLock { _ in } }

    /// Uses the maximum number of lanes, as if many threads had competed.
    func takeAllLanes() {
        withLock { _ in
            while lanes.count < lanes.most { lanes.grow(from: lanes.count) }
        }
    }

    /// Forgets which number a user has.
    func forget(user: String) {
        withLock { state in
            lanes.forget(user: user)
            state.entries.forget(user: user)
        }
    }

    /// The number of hits that the policy has not received yet.
    var waiting: Int {
        writers.withLock { _ in
            lanes.close()
            defer { lanes.open() }
            return lanes.waiting
        }
    }

    @inline(never)
    private func serveWaiting() {
        let misses = lanes.takeAll { state.pointee.entries.serve($0) }
        state.pointee.entries.missed(misses)
    }
}
