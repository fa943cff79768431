import Foundation
import Synchronization

/// An observer of all accesses to an ``ImageCache`` and of all removals, in the order of the cache's decisions. It
/// receives each of them, whereas the stream of ``ImageCache/events(bufferingNewest:)`` can have gaps.
package protocol CacheObserver: AnyObject, Sendable {
    /// Handles an access. Called on the caller's path.
    func accessed(_ access: RecordedAccess)
    /// Handles removals from a tier. Called on the thread that caused them.
    func removed(_ type: CacheType, _ removals: [Removal])
    /// Handles that the app enters the background or is about to end.
    ///
    /// - Parameter done: called once the observer has saved its state.
    func enteredBackground(done: @escaping @Sendable () -> Void)
    /// Forgets all accesses until now.
    func forgetAccesses() async
    /// Forgets the accesses of a user until now.
    func forget(user: String) async throws
    /// Stops, and returns when nothing is in flight and the state is saved.
    func stop() async
    /// The state that the next observer of the same cache starts with.
    var stateForSuccessor: any Sendable { get }
}

/// The slot for a cache's observer, of which there is at most one.
package final class ObserverSlot: Sendable {
    private struct State {
        var observer: (any CacheObserver)?
        /// The task that ends when the previous observer has stopped.
        var ending: Task<Void, Never>?
        /// The state that the previous observer passes on to the next one.
        var stateForSuccessor: (any Sendable)?

        mutating func stop() {
            guard let old = observer else { return }
            stateForSuccessor = old.stateForSuccessor
            observer = nil
            ending = Task { await old.stop() }
        }
    }

    /// The file in the cache's hidden folder that contains recorded accesses.
    package static let accessesFile = "planner-accesses.json"
    /// The file in the cache's hidden folder with the key of the hashes in ``accessesFile``.
    package static let accessesKeyFile = "planner-accesses.key"

    private let state = Mutex(State())
    private let hub: CacheEventHub
    private let isStarted = Atomic<Bool>(false)

    package init(_ hub: CacheEventHub) { self.hub = hub }

    /// Whether there is an observer. This is one relaxed load.
    package var isOn: Bool { isStarted.load(ordering: .relaxed) }

    /// The observer.
    package var observer: (any CacheObserver)? { isOn ? state.withLock { $0.observer } : nil }

    /// Stops the current observer and replaces it.
    ///
    /// - Parameter make: makes the observer. It receives the task that ends when the previous observer has stopped,
    ///   and the previous observer's ``CacheObserver/stateForSuccessor``.
    package func start<Observer: CacheObserver>(_ make: (Task<Void, Never>?, (any Sendable)?) -> Observer) -> Observer {
        state.withLock { state in
            state.stop()
            let new = make(state.ending, state.stateForSuccessor)
            state.observer = new
            hub.setObserver(new)
            isStarted.store(true, ordering: .relaxed)
            return new
        }
    }

    /// Stops the observer, and returns when it has saved its state.
    func end() async {
        stop()
        await state.withLock { $0.ending }?.value
    }

    /// Stops the observer.
    package func stop() {
        state.withLock { state in
            hub.setObserver(nil)
            state.stop()
            isStarted.store(false, ordering: .relaxed)
        }
    }

    /// Removes the accesses that were recorded until now from the observer and from a folder.
    package func forgetAccesses(in folder: URL) async {
        while true {
            let (ending, observer) = state.withLock { ($0.ending, $0.observer) }
            await ending?.value
            await observer?.forgetAccesses()
            for name in [Self.accessesFile, Self.accessesKeyFile] {
                try? FileManager.default.removeItem(at: folder.appendingPathComponent(name))
            }
            // An observer that stopped or started meanwhile may have written or read the file.
            if state.withLock({ $0.ending == ending && $0.observer === observer }) { return }
        }
    }

    /// Removes the accesses of a user from the observer.
    ///
    /// - Parameter removeFromFile: removes them from the file. It is called if there is no observer, which would do that.
    package func forget(user: String, removeFromFile: () async throws -> Void) async throws {
        while true {
            let (ending, observer) = state.withLock { ($0.ending, $0.observer) }
            await ending?.value
            if let observer { try await observer.forget(user: user) } else { try await removeFromFile() }
            // An observer that stopped or started meanwhile may have written or read the file.
            if state.withLock({ $0.ending == ending && $0.observer === observer }) { return }
        }
    }
}
