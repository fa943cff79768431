import Foundation
import HalcyonSupport
import Synchronization

/// The owner of a cache's directory: it opens the storage, runs all operations on it in the order of ``DiskSchedule``,
/// and closes it.
///
/// Operations run on a concurrent queue, never on the threads of tasks. Operations on different keys run in parallel.
/// Values are serialized before the operation waits for others. No lock is held while serializers, completions and
/// events are called.
///
/// The serialized bytes that wait to be written are bounded: a serialization starts only while fewer than
/// ``preparedLimit`` wait. The values that are not serialized yet stay in memory. See
/// `DiskOwnerTests.bytesThatWaitAreBounded()`.
///
/// A synchronous read runs on its caller's thread. If it must wait for changes of its key, the caller's thread runs
/// those that no other thread has started, so that it never waits for a free thread.
///
/// If the directory cannot be opened, the next operation that needs it tries again, at most every ten seconds. These
/// attempts do not wait for a lock on the directory.
///
/// See `ImageCacheTests.unavailableDiskIsRetried()` and `CacheFaultTests.lookUpOpensUnavailableDisk()`.
package final class DiskOwner: Sendable {
    package typealias Schedule = DiskSchedule<ByteName>

    struct Job {
        /// Makes the bytes of a store, and returns their number, or `nil` if this failed; `nil` once a thread has
        /// taken it.
        var prepare: (@Sendable () -> Int?)?
        var run: @Sendable () -> Void
        /// Removes the file in place of a store.
        var replacement: (@Sendable () -> Void)?
        let complete: @Sendable (Schedule.Ending?) -> Void
        /// Whether it needs the complete listing of the folder. It is then started after the listing, so that no
        /// thread waits for that.
        let needsListing: Bool
        /// The number of bytes that were made of a store and are not written yet.
        var preparedSize = 0
        /// Whether it is a writer. The number of writers that run at a time is limited.
        var isWriter: Bool { needsListing && !isUnlimited }
        /// Whether it does not wait for the writers: a settle operation, which may take long, and a removal of many
        /// keys, for which reads may wait.
        var isUnlimited = false
        /// Whether its caller waits on its own thread.
        var isSynchronous = false
    }

    struct State {
        var schedule = Schedule()
        var jobs: [Schedule.Ticket: Job] = [:]
        var last: Schedule.Ticket = 0
        /// The semaphores of synchronous readers that wait for a change of the state.
        var waiting: [Schedule.Ticket: DispatchSemaphore] = [:]
        /// The writers that were ready and wait for another writer to end, in order. Some have ended meanwhile.
        var queued = Queue<Schedule.Ticket>()
        var writerCount = 0
        /// The bytes that were made of stores and are not written yet.
        var preparedSize = 0
        /// The number of stores whose bytes are being made.
        var preparing = 0
        /// The stores whose bytes are made once fewer wait, with their queues, in order.
        var unprepared = Queue<(ticket: Schedule.Ticket, queue: DispatchQueue)>()
        /// The number of reads of free keys that run or whose completions run. The schedule does not know them.
        var freeReads = 0
        /// Whether the schedule has ended, so that the directory is closed once no free read runs.
        var isScheduleClosed = false
        var isClosed = false
        var closing: [CheckedContinuation<Void, Never>] = []

        /// Whether the bytes of another store may be made. If nothing else would free room, one more may: an
        /// operation whose bytes wait can itself wait for a store whose bytes were not made.
        var mayPrepare: Bool { preparedSize < preparedLimit || writerCount == 0 && preparing == 0 }
    }

    enum Access {
        case open(DiskStorage)
        case failed(any Error, lastTry: Int64, isTrying: Bool)
        case closed
    }

    /// The time between two attempts to open the directory.
    static let retryInterval = Duration.seconds(10)

    /// The bytes that may wait to be written before another store is serialized: 32 MB.
    static let preparedLimit = 32 << 20

    /// The maximum number of operations that write at a time. More would wait for each other in the file system.
    static let writerLimit = 2

    /// The queue of the operations; a test may suspend it.
    let queue = DispatchQueue(label: "halcyon.disk.owner", qos: .userInitiated, attributes: .concurrent)
    let state = Mutex(State())
    let access: Mutex<Access>
    private let clock: any CacheClock
    private let open: @Sendable (_ patience: Duration) throws -> DiskStorage
    private let onFailure: @Sendable (any Error) -> Void

    /// Opens a directory.
    ///
    /// - Parameters:
    ///   - open: opens the storage; waits up to `patience` for another storage that uses the directory.
    ///   - onFailure: called each time that a later attempt fails.
    init(
        clock: any CacheClock, open: @escaping @Sendable (_ patience: Duration) throws -> DiskStorage,
        onFailure: @escaping @Sendable (any Error) -> Void
    ) {
        (self.clock, self.open, self.onFailure) = (clock, open, onFailure)
        do {
            access = Mutex(.open(try open(.seconds(1))))
        } catch {
            access = Mutex(.failed(error, lastTry: clock.now, isTrying: false))
        }
    }

    // MARK: - The storage

    /// The storage, if it is open and ``close()`` was not called. This does not try to open it.
    var storage: DiskStorage? { isClosing ? nil : openStorage }

    /// Whether ``close()`` was called.
    var isClosing: Bool { state.withLock { $0.schedule.isClosing } }

    /// Whether no change of an entry's key is pending, nor one of many keys that may concern it.
    func isFree(_ key: EntryKey) -> Bool { state.withLock { $0.schedule.isFree(ByteName(key.computed)) } }

    /// Whether there may be a file of an entry, or a change of its key that is pending. It is `false` without a disk, and
    /// once ``close()`` was called.
    func mayHaveFile(of key: EntryKey) -> Bool {
        guard let storage = openStorage else { return false }
        let isFree = state.withLock { $0.schedule.isClosing ? nil : $0.schedule.isFree(ByteName(key.computed)) }
        return isFree.map { !$0 || storage.mayContain(key.computed) } ?? false
    }

    /// Returns whether an entry has a file once the pending changes have ended; `nil` if that depends on the disk.
    func pendingFile(of key: EntryKey) -> Bool? {
        state.withLock { $0.schedule.pendingFile(of: ByteName(key.computed), key.forcedExtension) }
    }

    /// The storage, if it is open, also while it is being closed: for the pending operations.
    var openStorage: DiskStorage? {
        access.withLock { access in
            if case .open(let storage) = access { return storage }
            return nil
        }
    }

    /// Whether the directory is open, and if not, the reason.
    var diskState: DiskState {
        access.withLock { access in
            switch access {
            case .open: .open
            case .failed(let error, _, _): .unavailable(error)
            case .closed: .closed
            }
        }
    }

    /// Returns the storage. If it is not open, it tries to open it, unless another thread is doing so.
    ///
    /// - Throws: ``CacheError/diskUnavailable(underlying:)`` or ``CacheError/closed``.
    func get() throws -> DiskStorage {
        if let storage = openStorage { return storage }
        let now = clock.now
        let isDue = access.withLock { access in
            guard case .failed(let error, let lastTry, false) = access,
                now - lastTry >= Self.retryInterval.microseconds || now < lastTry
            else { return false }
            access = .failed(error, lastTry: now, isTrying: true)
            return true
        }
        if isDue {
            let result = Result { try open(.zero) }
            let isWanted = access.withLock { access in
                // The directory was closed meanwhile.
                guard case .failed(_, _, true) = access else { return false }
                switch result {
                case .success(let storage): access = .open(storage)
                case .failure(let error): access = .failed(error, lastTry: now, isTrying: false)
                }
                return true
            }
            switch result {
            case .success(let storage): if !isWanted { storage.closeNow() }
            case .failure(let error): onFailure(error)
            }
        }
        switch access.withLock({ $0 }) {
        case .open(let storage): return storage
        case .failed(let error, _, _): throw CacheError.diskUnavailable(underlying: error)
        case .closed: throw CacheError.closed
        }
    }

    // MARK: - Operations

    /// Runs an operation on the storage when the schedule allows it.
    ///
    /// - Parameters:
    ///   - absent: returns the result of a read of a key that certainly has no file, without reading the disk; `nil` if there may be
    ///     one. It and `done` are then called on the caller's thread. By default each read goes to the queue.
    ///   - done: called once, on any thread; on the caller's thread if the disk is closed.
    /// - Returns: the ticket, by which a waiting read can be cancelled; `nil` for a read that does not wait.
    @discardableResult
    func perform<Value: Sendable>(
        _ operation: Schedule.Operation, absent: (DiskStorage) -> Value? = { _ in nil },
        _ work: @escaping @Sendable (DiskStorage) throws -> Value,
        done: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) -> Schedule.Ticket? {
        if case .read(let key) = operation, beginFreeRead(key) {
            if let result = openStorage.flatMap(absent) {
                freeRead({ _ in result }, done)
            } else {
                queue.async { [self] in freeRead(work, done) }
            }
            return nil
        }
        var job = job(work, isRead: operation.isRead, done)
        switch operation {
        case .settle, .removeAll: job.isUnlimited = true
        default: break
        }
        return request(operation, job)
    }

    /// Runs a read of a key on the caller's thread.
    ///
    /// - Parameter done: called once, on the caller's thread, before this returns.
    func performNow<Value: Sendable>(
        reading key: EntryKey, _ work: @escaping @Sendable (DiskStorage) throws -> Value,
        done: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        if beginFreeRead(ByteName(key.computed)) { return freeRead(work, done) }
        var job = job(work, isRead: true, done)
        job.isSynchronous = true
        let semaphore = DispatchSemaphore(value: 0)
        let ticket = request(.read(key), job, waiting: semaphore)
        while true {
            switch nextWork(before: ticket) {
            case .over: return
            case .run(let next, let run):
                run()
                take(.finished(next), on: next == ticket ? .callerOf(ticket) : .caller)
                if next == ticket { return }
            case .prepare(let next, let prepare):
                finishPreparing(next, prepare(), on: .caller)
            case .wait: semaphore.wait()
            }
        }
    }

    /// Stores the bytes of an entry.
    ///
    /// - Parameters:
    ///   - context: has the properties of the value by which removals find it.
    ///   - preparation: the queue on which the bytes are made; `nil` for the owner's.
    ///   - bytes: makes the bytes; called at any time, in parallel with others.
    ///   - write: writes the bytes to the storage.
    ///   - done: called once, after the completions of earlier changes of the key.
    func store(
        _ key: EntryKey, _ context: AccessContext = AccessContext(), preparation: DispatchQueue? = nil,
        bytes: @escaping @Sendable () throws -> Data,
        write: @escaping @Sendable (DiskStorage, Data) throws -> Void,
        done: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        let (prepared, written) = (Outcome<Data>(), Outcome<Void>())
        let ticket = request(
            .store(key, context),
            Job(
                prepare: {
                    prepared.set(Result(catching: bytes))
                    return prepared.size(\.count)
                },
                run: { [self] in
                    written.set(Result { try write(try get(), try prepared.take().get()) })
                },
                replacement: { [self] in try? get().remove(forKey: key) },
                complete: { ending in
                    switch ending {
                    case .finished: done(written.take())
                    case .unprepared: done(prepared.take().map { _ in })
                    case .void: done(.success(()))
                    case .cancelled: done(.failure(CancellationError()))
                    case nil: done(.failure(CacheError.closed))
                    }
                }, needsListing: true))
        let queue = preparation ?? queue
        queue.async { [self] in prepare(ticket, on: queue) }
    }

    /// Cancels a read that has not started.
    func cancel(_ ticket: Schedule.Ticket) { take(.cancel(ticket), on: .caller) }

    /// Closes the directory. Pending operations end and their completions return. Later operations fail with
    /// ``CacheError/closed``. Then all changes are written, and another storage can use the directory.
    ///
    /// A second call only waits. A completion must not wait for this method.
    func close() async {
        await withCheckedContinuation { continuation in
            let (isClosed, actions) = state.withLock { state -> (Bool, [Schedule.Action]) in
                if state.isClosed { return (true, []) }
                state.closing.append(continuation)
                return (false, state.schedule.handle(.close))
            }
            if isClosed { continuation.resume() }
            if actions == [.closed] { scheduleClosed() }
        }
    }
}

/// Whether an ``ImageCache`` uses its directory, and if not, the reason.
public enum DiskState: Sendable {
    /// The directory is in use by this cache.
    case open
    /// The directory could not be opened for this reason, such as ``CacheError/directoryInUse(_:)``. The cache uses
    /// memory alone and tries again.
    case unavailable(any Error)
    /// The cache was closed.
    case closed

    /// Whether values can be stored on disk.
    public var isOpen: Bool {
        if case .open = self { true } else { false }
    }
}
