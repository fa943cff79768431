import HalcyonAccessLog
import Synchronization

/// What happens in an ``ImageCache``.
public enum CacheEvent: Sendable, Equatable {
    /// A look-up, and where it was answered.
    case lookUp(key: String, CacheType, categories: [String])
    /// A store that was asked for.
    case store(key: String, categories: [String])
    /// A value left a tier.
    case removal(CacheType, Removal)
    /// Cleaning removed files, by their names.
    case cleaned(hashes: [String])
    /// The disk failed; in words.
    case failure(String)
}

/// How often look-ups were answered where.
public struct TierCounts: Sendable, Equatable {
    /// From memory.
    public var memory = 0
    /// From disk.
    public var disk = 0
    /// Not at all.
    public var none = 0

    /// Counts, 0 unless given.
    public init(memory: Int = 0, disk: Int = 0, none: Int = 0) {
        self.memory = memory
        self.disk = disk
        self.none = none
    }

    package mutating func add(_ type: CacheType) {
        switch type {
        case .memory: memory += 1
        case .disk: disk += 1
        case .none: none += 1
        }
    }
}

/// What an ``ImageCache`` counted since it was made.
public struct CacheStatistics: Sendable, Equatable {
    /// The look-ups.
    public var lookUps = TierCounts()
    /// The look-ups by category, as the caller named them.
    public var lookUpsByCategory: [String: TierCounts] = [:]
    /// The stores on disk that failed.
    public var diskFailures = 0
    /// What the memory storage counted: evictions by reason, costs, what is held by category.
    public var memory = StorageStatistics()
    /// What the disk storage counted; its costs are bytes on the disk.
    public var disk = StorageStatistics()
}

extension CacheStatistics {
    /// Adds the hits that the memory storage counted: all, and by the categories that the caller named.
    mutating func add(_ hits: (all: Int, byCategory: [String: Int])) {
        lookUps.memory += hits.all
        for (category, count) in hits.byCategory {
            lookUpsByCategory[category, default: TierCounts()].memory += count
        }
    }
}

/// Counts look-ups and hands events to whoever listens.
///
/// A hit in memory costs it one relaxed load where nobody listens: the memory storage counts hits.
@usableFromInline
package final class CacheEventHub: Sendable {
    /// The most categories for which look-ups are counted; those of further ones are counted in the total only.
    static let mostCategories = 1 << 14

    /// What of each access is to be told.
    private struct Listeners: OptionSet {
        static let stream = Listeners(rawValue: 1)
        static let observer = Listeners(rawValue: 2)
        static let recorder = Listeners(rawValue: 4)

        let rawValue: UInt8
    }

    private struct State {
        var lookUps = TierCounts()
        var byCategory: [String: TierCounts] = [:]
        var failures = 0
        var listeners: [Int: AsyncStream<CacheEvent>.Continuation] = [:]
        var next = 0
    }

    private let state = Mutex(State())
    private let observer = Mutex<(any CacheObserver)?>(nil)
    private let recorder: (any AccessRecorder)?
    private let listeners: Atomic<UInt8>

    init(recorder: (any AccessRecorder)? = nil) {
        self.recorder = recorder
        listeners = Atomic(recorder == nil ? 0 : Listeners.recorder.rawValue)
    }

    private func has(_ some: Listeners) -> Bool { listeners.load(ordering: .relaxed) & some.rawValue != 0 }

    private func set(_ one: Listeners, _ isThere: Bool) {
        if isThere {
            listeners.bitwiseOr(one.rawValue, ordering: .relaxed)
        } else {
            listeners.bitwiseAnd(~one.rawValue, ordering: .relaxed)
        }
    }

    /// Whether nobody is told of accesses: neither a stream of events, nor an observer, nor a recorder.
    @usableFromInline
    var isSilent: Bool { listeners.load(ordering: .relaxed) == 0 }

    /// Whether somebody hears of every access.
    var isObserved: Bool { has(.observer) }

    /// Whether accesses are recorded or observed.
    var isRecorded: Bool { has([.recorder, .observer]) }

    /// Everything from now on; of what nobody takes, the newest `count` are kept.
    package func stream(bufferingNewest count: Int) -> AsyncStream<CacheEvent> {
        AsyncStream(bufferingPolicy: .bufferingNewest(count)) { continuation in
            let number = state.withLock { state in
                state.next += 1
                state.listeners[state.next] = continuation
                set(.stream, true)
                return state.next
            }
            continuation.onTermination = { [weak self] _ in self?.forget(number) }
        }
    }

    private func forget(_ number: Int) {
        // The continuation is destroyed outside of the lock.
        _ = state.withLock { state in
            let removed = state.listeners.removeValue(forKey: number)
            set(.stream, !state.listeners.isEmpty)
            return removed
        }
    }

    /// From now on this one hears of every access, and nobody else.
    package func setObserver(_ new: (any CacheObserver)?) {
        observer.withLock { old in
            old = new
            set(.observer, new != nil)
        }
    }

    func accessed(_ access: RecordedAccess) {
        recorder?.record(access)
        if isObserved { observer.withLock { $0 }?.accessed(access) }
    }

    package func enteredBackground(done: @escaping @Sendable () -> Void) {
        guard let observer = observer.withLock({ $0 }) else { return done() }
        observer.enteredBackground(done: done)
    }

    /// A look-up that memory did not answer; those that it did are counted there.
    func lookedUp(_ key: String, _ type: CacheType, _ categories: [String]) {
        state.withLock { state in
            state.lookUps.add(type)
            for (place, category) in categories.enumerated() where !categories[..<place].contains(category) {
                if state.byCategory[category] == nil && state.byCategory.count >= Self.mostCategories { continue }
                state.byCategory[category, default: TierCounts()].add(type)
            }
        }
        send(.lookUp(key: key, type, categories: categories))
    }

    package func failed(_ error: any Error) {
        state.withLock { $0.failures += 1 }
        send(.failure("\(error)"))
    }

    package func removed(_ type: CacheType, _ removals: [Removal]) {
        for removal in removals { send(.removal(type, removal)) }
        if isObserved { observer.withLock { $0 }?.removed(type, removals) }
    }

    func send(_ event: @autoclosure () -> CacheEvent) {
        guard has(.stream) else { return }
        let listeners = state.withLock { Array($0.listeners.values) }
        let event = event()
        for listener in listeners { listener.yield(event) }
    }

    package var statistics: CacheStatistics {
        state.withLock { state in
            var statistics = CacheStatistics()
            statistics.lookUps = state.lookUps
            statistics.lookUpsByCategory = state.byCategory
            statistics.diskFailures = state.failures
            return statistics
        }
    }

    deinit {
        for listener in state.withLock({ $0.listeners.values }) { listener.finish() }
    }
}

/// Who writes down what an ``ImageCache`` was asked for, such as an access log.
///
/// Each access is told once: a hit when it is looked up, anything else when its value is stored, so that what is recorded
/// replays as the policies saw it. A store ahead of need is no access and is not told. A look-up that misses and is never
/// followed by a store is told by whoever gives up (``ImageCache/recordMiss(forKey:options:)``); a replay takes it for
/// loaded, as everything that is asked for.
public protocol AccessRecorder: Sendable {
    /// Writes an access down. It is called on the caller's path and must return at once.
    func record(_ access: RecordedAccess)
}

extension AccessLog: AccessRecorder {
    /// Records an access to an ``ImageCache``.
    public func record(_ access: RecordedAccess) {
        record(
            access.key, cost: access.cost, categories: access.categories, outcome: access.outcome, user: access.user,
            at: access.time)
    }
}
