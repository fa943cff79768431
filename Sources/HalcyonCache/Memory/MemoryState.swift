import CProcessor
import HalcyonEviction
import Synchronization

/// What a memory storage knows, behind a lock that those who only read share.
///
/// There are two ways in. ``withLock(_:)`` has everything to itself. ``load(_:at:_:_:_:_:removedValues:reporting:)`` takes a lane
/// (``HitLanes``). As long as there is but one, which is until two threads want it at once, that has everything to itself, too, and
/// serves the load there and then. Among several lanes it only reads: the hit stays in its lane until the policy is told of it, and what
/// needs more than reading is left to `withLock`. That tells the policy of all hits that wait, in the order in which they were, before it
/// does anything else; so whatever is asked or changed finds what it would have found had every hit been told at once. Policies that may
/// evict for a hit (`mayOverflow`) are told of each at once.
///
/// Sendable without the compiler's proof. `state` is written by who has closed all lanes, under `writers`, or holds the only lane; it is
/// read by them and by who holds any lane. A lane is taken and closed by an exchange that acquires, and let go by a store that
/// releases; so each who comes to a lane sees what was written by those who had it closed before, and who closes it has seen all
/// its readers leave. The number of lanes changes while all are closed, the new ones from their start, and is read again by who holds
/// one. A lane's buffer belongs to who holds the lane or has closed it. Nobody keeps a reference to any of these beyond that.
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

    /// Reads and changes the state, with nobody else about. Every hit until now has been told.
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

    /// Serves a load: alone under the only lane, otherwise beside other readers if it changes nothing but what hits change.
    ///
    /// - Returns: what it found; `nil` if only ``withLock(_:)`` can serve it.
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
        // Not as a writer, though one is there: readers who became writers for that would keep the lanes closed for each other.
        for _ in 0..<16 {
            for _ in 0..<200 {
                if let lane = lanes.enterAny() { return lane }
                halcyon_wait(0)
            }
            // It takes long: until it is done.
            writers.withLock { _ in }
        }
        return nil
    }

    @inline(never)
    private func serveAll() { withLock { _ in } }

    /// Takes all lanes that there may be, as if many threads had wanted them.
    func takeAllLanes() {
        withLock { _ in
            while lanes.count < lanes.most { lanes.grow(from: lanes.count) }
        }
    }

    /// How many hits the policy has not been told of yet.
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
