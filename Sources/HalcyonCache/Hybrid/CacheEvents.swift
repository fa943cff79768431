import Synchronization

/// What happens in an ``ImageCache``.
public enum CacheEvent: Sendable, Equatable {
    /// A look-up, and where it was answered.
    case lookUp(key: String, CacheType, categories: [String])
    /// A store that was asked for.
    case store(key: String, categories: [String])
    /// A value left a tier.
    case departure(CacheType, Departure)
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

/// Counts look-ups and hands events to whoever listens.
package final class CacheEventHub: Sendable {
    private struct State {
        var lookUps = TierCounts()
        var byCategory: [String: TierCounts] = [:]
        var failures = 0
        var listeners: [Int: AsyncStream<CacheEvent>.Continuation] = [:]
        var next = 0
    }

    private let state = Mutex(State())
    private let listening = Atomic<Bool>(false)
    private let observer = Mutex<(any CacheObserver)?>(nil)
    private let observed = Atomic<Bool>(false)

    /// Everything from now on; of what nobody takes, the newest `count` are kept.
    package func stream(bufferingNewest count: Int) -> AsyncStream<CacheEvent> {
        AsyncStream(bufferingPolicy: .bufferingNewest(count)) { continuation in
            let number = state.withLock { state in
                state.next += 1
                state.listeners[state.next] = continuation
                listening.store(true, ordering: .relaxed)
                return state.next
            }
            continuation.onTermination = { [weak self] _ in self?.forget(number) }
        }
    }

    private func forget(_ number: Int) {
        // The continuation is destroyed outside of the lock.
        _ = state.withLock { state in
            let gone = state.listeners.removeValue(forKey: number)
            listening.store(!state.listeners.isEmpty, ordering: .relaxed)
            return gone
        }
    }

    /// Whether somebody hears of every access.
    package var isObserved: Bool { observed.load(ordering: .relaxed) }

    /// From now on this one hears of every access, and nobody else.
    package func setObserver(_ new: (any CacheObserver)?) {
        observer.withLock { old in
            old = new
            observed.store(new != nil, ordering: .relaxed)
        }
    }

    package func accessed(_ access: RecordedAccess) {
        if isObserved { observer.withLock { $0 }?.accessed(access) }
    }

    package func enteredBackground(done: @escaping @Sendable () -> Void) {
        guard let observer = observer.withLock({ $0 }) else { return done() }
        observer.enteredBackground(done: done)
    }

    package func lookedUp(_ key: String, _ type: CacheType, _ categories: [String]) {
        state.withLock { state in
            state.lookUps.add(type)
            for category in categories { state.byCategory[category, default: TierCounts()].add(type) }
        }
        send(.lookUp(key: key, type, categories: categories))
    }

    package func failed(_ error: any Error) {
        state.withLock { $0.failures += 1 }
        send(.failure("\(error)"))
    }

    package func departed(_ type: CacheType, _ departures: [Departure]) {
        for departure in departures { send(.departure(type, departure)) }
        if isObserved { observer.withLock { $0 }?.departed(type, departures) }
    }

    package func send(_ event: @autoclosure () -> CacheEvent) {
        guard listening.load(ordering: .relaxed) else { return }
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
