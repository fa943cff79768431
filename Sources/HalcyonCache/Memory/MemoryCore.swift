import CProcessor
import HalcyonEviction
import HalcyonSupport
import Synchronization

/// The implementation of ``MemoryStorage`` for objects of any class: the state, behind a lock that readers share. It is not
/// generic, so that it is compiled once and no call goes through the tables of a generic type.
///
/// There are two ways to access the state:
///
/// - ``withLock(_:)`` has exclusive access.
/// - ``load(_:_:categories:user:kind:)`` takes a lane (``HitLanes``). With one lane, which is the case
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
@usableFromInline
final class MemoryCore: @unchecked Sendable {
    /// A value, whose type only the storage knows.
    @usableFromInline typealias Item = any AnyObject & Sendable

    struct State: ~Copyable {
        var config: MemoryStorageConfig
        var entries: EntryIndex
        var values: [Item?] = []
        var reads = PendingReads()
    }

    /// The removals, and the values of the removed entries. One value alone, the common case, needs no allocation.
    struct RemovedValues: ~Copyable, Sendable {
        private var first: Item?
        private var others: [Item] = []
        var removals: [Removal] = []

        mutating func add(_ value: Item) {
            if first == nil { first = value } else { others.append(value) }
        }
    }

    /// The result of a look-up: the value, or `nil` on a miss; and whether the caller has to ask ``PrefetchMarks``.
    @usableFromInline typealias Loaded = (item: Item?, mayHaveMark: Bool)

    private let writers = Mutex(())
    let lanes = HitLanes()
    private let state: UnsafeMutablePointer<State>
    let clock: any CacheClock
    private let usesSystemClock: Bool
    private let hasher: KeyHasher
    private let sweeper = Sweeper()
    private let onRemoval: (@Sendable ([Removal]) -> Void)?
    private let reportsRemovals: @Sendable () -> Bool

    /// Creates the core of a storage.
    ///
    /// - Parameters:
    ///   - prefetches: whether prefetched entries are kept apart from the policy until their first hit.
    ///   - keepsCalls: whether what the policy learns is to be kept for the next start.
    ///   - reportsRemovals: whether `onRemoval` has to be called for a removal that happens now.
    init(
        _ config: MemoryStorageConfig, _ policy: ConfiguredPolicy, seed: UInt64, clock: any CacheClock,
        users: UserNumbers, prefetches: Bool, keepsCalls: Bool, reportsRemovals: @escaping @Sendable () -> Bool,
        onRemoval: (@Sendable ([Removal]) -> Void)?
    ) {
        self.clock = clock
        usesSystemClock = clock is SystemClock
        (self.onRemoval, self.reportsRemovals) = (onRemoval, reportsRemovals)
        let entries = EntryIndex(
            policy: policy, limits: config.limits, rules: config.categoryRules, usualExpiration: config.expiration,
            seed: seed, users: users, prefetches: prefetches, keepsCalls: keepsCalls)
        hasher = entries.hasher
        state = .allocate(capacity: 1)
        state.initialize(to: State(config: config, entries: entries))
        sweeper.start(
            clock: clock,
            interval: { [weak self] in
                // While sweeping is off, check every 120 s whether it was turned on.
                self.map { core in
                    let span = core.withLock { $0.config.cleanInterval }
                    return span > .zero ? span.microseconds : 120_000_000
                }
            },
            work: { [weak self] in
                guard let self else { return false }
                if withLock({ $0.config.cleanInterval }) > .zero {
                    change { state, now in state.entries.removeExpired(at: now) }
                }
                return true
            })
    }

    /// The time, by a direct call where possible, because a call through the protocol would retain the clock.
    @inline(__always)
    private var now: Int64 { usesSystemClock ? SystemClock().now : clock.now }

    deinit {
        state.deinitialize(count: 1)
        state.deallocate()
    }

    // MARK: - Exclusive access

    /// Reads and changes the state with exclusive access. The policy has received all earlier hits.
    @inline(__always)
    func withLock<Result: ~Copyable & Sendable, Failure>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try writers.withLock { _ throws(Failure) in
            lanes.close()
            defer { lanes.open() }
            if lanes.anyWaits { serveWaiting() }
            return try body(&state.pointee)
        }
    }

    @inline(never)
    private func serveWaiting() {
        let misses = lanes.takeAll { state.pointee.entries.serve($0) }
        state.pointee.entries.missed(misses)
    }

    /// Stores a value. A value that was read from a slower tier is dropped if its key was stored or removed after the
    /// read was requested.
    ///
    /// - Returns: whether the value is kept.
    func store(
        _ value: Item, cost: Int, _ key: String, _ expiration: StorageExpiration?, _ keepInBackground: Bool?,
        _ context: AccessContext, endOf ticket: PendingReads.Ticket? = nil
    ) -> Bool {
        let now = now
        var removedValues: RemovedValues?
        let result = hasher.withHashed(key) { hashed in
            withLock { state -> Bool in
                let expiration =
                    expiration ?? state.entries.expiration(ruledFor: context.categories) ?? state.config.expiration
                var isWanted = !expiration.isPast(at: now)
                if let ticket {
                    if !state.reads.end(ticket) { isWanted = false }
                } else {
                    state.reads.void(key)
                }
                if !isWanted {
                    if context.isTiered && !context.isPrefetch { state.entries.requests &+= 1 }
                    return false
                }
                let entry = state.entries.store(
                    key, hashed, cost: max(cost, 0), at: now, expiration: expiration,
                    staysInBackground: keepInBackground ?? state.config.keepWhenEnteringBackground, context: context)
                removedValues = state.takeRemovedValues(reporting: reportsRemovals)
                guard let entry else { return false }
                state.entries.notes[entry].mayHaveMark = context.isPrefetch
                if let old = state.put(value, at: entry) { removedValues.add(old) }
                return true
            }
        }
        report(removedValues)
        return result
    }

    /// Changes the state. The values of removed entries are destroyed after the lock is released.
    @discardableResult
    func change<Result: Sendable>(_ body: (inout State, _ now: Int64) throws -> Result) rethrows -> Result {
        let now = clock.now
        var removedValues: RemovedValues?
        let result = try withLock { state throws -> Result in
            let result = try body(&state, now)
            removedValues = state.takeRemovedValues(reporting: reportsRemovals)
            return result
        }
        report(removedValues)
        return result
    }

    @inline(__always)
    private func report(_ removedValues: consuming RemovedValues?) {
        if let removedValues { report(removedValues) }
    }

    private func report(_ removedValues: consuming RemovedValues) {
        if !removedValues.removals.isEmpty { onRemoval?(removedValues.removals) }
    }

    /// Begins a read from a slower tier. It may end with ``store(_:cost:_:_:_:_:endOf:)``.
    func beginRead(forKey key: String) -> PendingReads.Ticket {
        withLock { $0.reads.begin(key, requestNumber: $0.entries.requests) }
    }

    /// Ends a read that has no value.
    func endRead(_ ticket: PendingReads.Ticket) { withLock { _ = $0.reads.end(ticket) } }

    /// Returns the number of earlier requests. If `counting`, it counts one more: a request of an ``ImageCache`` that
    /// does not end in a store here.
    func nextRequest(counting: Bool) -> Int {
        withLock { state in
            defer { if counting { state.entries.requests &+= 1 } }
            return state.entries.requests
        }
    }

    /// Voids the pending reads of a key, so that their values are not stored in memory.
    func voidReads(forKey key: String) { withLock { $0.reads.void(key) } }

    /// Forgets which number a user has, and returns it.
    func forget(user: String) -> UInt32? {
        withLock { state in
            let number = state.entries.users.known(user)
            lanes.forget(user: user)
            state.entries.forget(user: user, number: number)
            return number
        }
    }

    /// Continues with what the policy had learned in an earlier start. No value was stored or removed before.
    ///
    /// - Returns: the reason why it is not used, if there is one.
    func restore(_ file: KeptCallsFile) -> KeptCallsFile.Fault? {
        guard withLock({ $0.entries.calls != nil }) else { return nil }
        do {
            guard let kept = try file.read() else { return nil }
            return withLock { $0.entries.restore(kept.calls, kept.key, found: []).fault }.map(file.fault)
        } catch { return error }
    }

    // MARK: - Shared access

    /// Looks a key up.
    @usableFromInline @inline(never)
    func load(
        _ key: String, _ extending: ExpirationExtending, categories: [String], user: String?, kind: LookUpKind
    ) -> Loaded {
        let now = now
        if let found = hasher.withHashedAtOnce(key, { load($0, at: now, extending, categories, user, kind) }) {
            return found
        }
        return loadCopied(key, at: now, extending, categories, user, kind)
    }

    @inline(never)
    private func loadCopied(
        _ key: String, at now: Int64, _ extending: ExpirationExtending, _ categories: [String], _ user: String?,
        _ kind: LookUpKind
    ) -> Loaded {
        hasher.withHashed(key) { load($0, at: now, extending, categories, user, kind) }
    }

    /// Serves a load: exclusively if there is one lane, otherwise in parallel with other readers if it changes only
    /// what hits change, or else alone.
    @inline(never)
    private func load(
        _ key: HashedKey, at time: Int64, _ extending: ExpirationExtending, _ categories: [String], _ user: String?,
        _ kind: LookUpKind
    ) -> Loaded {
        guard let lane = lanes.enter() ?? enterAny() else {
            return loadAlone(key, at: time, extending, categories, user, kind)
        }
        if lanes.isOnly {
            let loaded = state.pointee.load(key, at: time, extending, categories, user, kind)
            let removedValues = state.pointee.takeRemovedValues(reporting: reportsRemovals)
            lanes.leave(lane)
            report(removedValues)
            return loaded
        }
        let found = read(key, at: time, extending, categories, user, kind, into: &lane.buffer.pointee)
        let isFull = lane.buffer.pointee.isFull
        lanes.leave(lane)
        if isFull { withLock { _ in } }
        return found ?? loadAlone(key, at: time, extending, categories, user, kind)
    }

    /// Serves a load with exclusive access.
    @inline(never)
    private func loadAlone(
        _ key: HashedKey, at now: Int64, _ extending: ExpirationExtending, _ categories: [String], _ user: String?,
        _ kind: LookUpKind
    ) -> Loaded {
        change { state, _ in state.load(key, at: now, extending, categories, user, kind) }
    }

    /// Serves a load that changes only what hits change; `nil` for another.
    @inline(__always)
    private func read(
        _ key: HashedKey, at time: Int64, _ extending: ExpirationExtending, _ categories: [String], _ user: String?,
        _ kind: LookUpKind, into buffer: inout HitBuffer
    ) -> Loaded? {
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

    /// The number of hits that the policy has not received yet.
    var waiting: Int {
        writers.withLock { _ in
            lanes.close()
            defer { lanes.open() }
            return lanes.waiting
        }
    }
}

extension MemoryCore.State {
    /// Serves a load.
    @inline(__always)
    mutating func load(
        _ key: HashedKey, at now: Int64, _ extending: ExpirationExtending, _ categories: [String], _ user: String?,
        _ kind: LookUpKind
    ) -> MemoryCore.Loaded {
        let entry = entries.load(
            key, at: now, extending: extending, categories: categories, user: user, kind: kind)
        guard let entry else { return (nil, false) }
        let mayHaveMark = entries.notes[entry].mayHaveMark
        if mayHaveMark { entries.notes[entry].mayHaveMark = false }
        return (values[Int(entry)], mayHaveMark)
    }

    /// Stores a value at an entry's number, and returns the value that it replaces.
    mutating func put(_ value: MemoryCore.Item, at entry: EntryID) -> MemoryCore.Item? {
        let place = Int(entry)
        if place == values.count {
            values.append(value)
            return nil
        }
        while values.count <= place { values.append(nil) }
        var value: MemoryCore.Item? = value
        swap(&values[place], &value)
        return value
    }

    /// Takes the values of removed entries; `nil` if no entry was removed. The caller must destroy them after the
    /// lock is released.
    @inline(__always)
    mutating func takeRemovedValues(reporting: () -> Bool) -> MemoryCore.RemovedValues? {
        entries.removed.isEmpty ? nil : takeRemovedValues(reporting())
    }

    private mutating func takeRemovedValues(_ reporting: Bool) -> MemoryCore.RemovedValues {
        var removedValues = MemoryCore.RemovedValues()
        for removed in entries.removed {
            if let value = values[Int(removed.entry)].take() { removedValues.add(value) }
            if reporting { removedValues.removals.append(entries.removal(of: removed)) }
        }
        entries.forgetRemoved()
        return removedValues
    }
}

extension Optional<MemoryCore.RemovedValues> where Wrapped: ~Copyable {
    /// Adds a value that is to be destroyed after the lock is released.
    fileprivate mutating func add(_ value: MemoryCore.Item) {
        if self == nil { self = MemoryCore.RemovedValues() }
        self?.add(value)
    }
}
