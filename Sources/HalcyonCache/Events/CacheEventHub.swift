import HalcyonAccessLog
import HalcyonSupport
import Synchronization

/// An event of an ``ImageCache``.
public enum CacheEvent: Sendable, Equatable {
    /// A look-up, and the tier that answered it.
    case lookUp(key: String, CacheType, categories: [String])
    /// A requested store.
    case store(key: String, categories: [String])
    /// A value was removed from a tier.
    case removal(CacheType, Removal)
    /// A cleaning removed files, given by their names.
    case cleaned(hashes: [String])
    /// The disk failed, with a description.
    case failure(String)
}

/// Counts look-ups and distributes events to listeners.
///
/// Without listeners, a hit in memory costs one relaxed load here, because the memory storage counts hits.
@usableFromInline
package final class CacheEventHub: Sendable {
    /// The maximum number of categories for which look-ups are counted. Look-ups of further categories count in the
    /// total only.
    static let mostCategories = 1 << 14

    /// The kinds of listeners to accesses.
    private struct Listeners: OptionSet {
        static let stream = Listeners(rawValue: 1)
        static let observer = Listeners(rawValue: 2)
        static let recorder = Listeners(rawValue: 4)
        /// Streams of notable events alone.
        static let notable = Listeners(rawValue: 8)
        /// The listeners to look-ups.
        static let lookUps: Listeners = [.stream, .observer, .recorder]

        let rawValue: UInt8
    }

    private struct State {
        var lookUps = TierCounts()
        var byCategory: [ByteName: TierCounts] = [:]
        var failures = 0
        var policyFault: String?
        var streams: [Int: (continuation: AsyncStream<CacheEvent>.Continuation, onlyNotable: Bool)] = [:]
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

    /// Whether there are no listeners to look-ups: no stream of all events, no observer and no recorder.
    @usableFromInline
    var isSilent: Bool { !has(.lookUps) }

    /// Whether there is an observer.
    var isObserved: Bool { has(.observer) }

    /// Whether accesses are recorded or observed.
    var isRecorded: Bool { has([.recorder, .observer]) }

    /// Returns a stream of events from now on. It buffers the newest `count` events that were not read yet.
    ///
    /// - Parameter onlyNotable: whether the stream has failures and cleanings only.
    package func stream(bufferingNewest count: Int, onlyNotable: Bool = false) -> AsyncStream<CacheEvent> {
        AsyncStream(bufferingPolicy: .bufferingNewest(count)) { continuation in
            let number = state.withLock { state in
                state.next += 1
                state.streams[state.next] = (continuation, onlyNotable)
                set(onlyNotable ? .notable : .stream, true)
                return state.next
            }
            continuation.onTermination = { [weak self] _ in self?.forget(number) }
        }
    }

    private func forget(_ number: Int) {
        // The continuation is destroyed after the lock is released.
        _ = state.withLock { state in
            let removed = state.streams.removeValue(forKey: number)
            set(.stream, state.streams.values.contains { !$0.onlyNotable })
            set(.notable, state.streams.values.contains { $0.onlyNotable })
            return removed
        }
    }

    /// Replaces the observer.
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

    /// Passes an event to the recorder. Without one, the event is not made.
    func recorded(_ event: @autoclosure () -> RecordedEvent) {
        if has(.recorder) { recorder?.record(event()) }
    }

    /// Passes a list to the recorder. Without one, the list is not made.
    func recorded(list: @autoclosure () -> RecordedList) {
        if has(.recorder) { recorder?.record(list()) }
    }

    /// Removes the accesses of a user from the recorder, if it can forget users.
    func forget(user: String) async throws { try await (recorder as? any UserForgetting)?.forget(user: user) }

    package func enteredBackground(done: @escaping @Sendable () -> Void) {
        guard let observer = observer.withLock({ $0 }) else { return done() }
        observer.enteredBackground(done: done)
    }

    /// Counts and reports a look-up that memory did not answer. The memory storage counts the others.
    func lookedUp(_ key: String, _ type: CacheType, _ categories: [String]) {
        state.withLock { state in
            state.lookUps.add(type)
            for (place, category) in categories.enumerated() where !categories[..<place].containsBytes(of: category) {
                if state.byCategory[category] == nil && state.byCategory.count >= Self.mostCategories { continue }
                state.byCategory[category, default: TierCounts()].add(type)
            }
        }
        send(.lookUp(key: key, type, categories: categories))
    }

    package func failed(_ error: any Error) {
        state.withLock { $0.failures += 1 }
        send(.failure("\(error)"), isNotable: true)
    }

    /// Reports that what a policy had learned is not used, or cannot be written.
    func failed(keeping fault: any Error) {
        state.withLock { $0.policyFault = "\(fault)" }
        send(.failure("\(fault)"), isNotable: true)
    }

    package func removed(_ type: CacheType, _ removals: [Removal]) {
        for removal in removals { send(.removal(type, removal)) }
        if isObserved { observer.withLock { $0 }?.removed(type, removals) }
    }

    /// Sends an event to the streams.
    ///
    /// - Parameter isNotable: whether it is also sent to the streams of notable events.
    func send(_ event: @autoclosure () -> CacheEvent, isNotable: Bool = false) {
        guard has(isNotable ? [.stream, .notable] : .stream) else { return }
        let streams = state.withLock { $0.streams.values.filter { isNotable || !$0.onlyNotable } }
        let event = event()
        for stream in streams { stream.continuation.yield(event) }
    }

    package var statistics: CacheStatistics {
        state.withLock { state in
            var statistics = CacheStatistics()
            statistics.lookUps = state.lookUps
            statistics.lookUpsByCategory = Dictionary(
                state.byCategory.map { ($0.key.text, $0.value) }, uniquingKeysWith: +)
            statistics.diskFailures = state.failures
            statistics.policyFault = state.policyFault
            return statistics
        }
    }

    deinit {
        for stream in state.withLock({ $0.streams.values }) { stream.continuation.finish() }
    }
}
