import Foundation
import Synchronization

/// The prefetcher of a cache, which hears of what is in it, and of what is asked for from the managers over it.
final class PredictingSlot: Sendable {
    private struct State {
        var prefetcher: PredictivePrefetcher?
        /// Ends once the one before has kept what it learnt.
        var ending: Task<Void, Never>?

        mutating func stop() {
            guard let old = prefetcher else { return }
            prefetcher = nil
            ending = Task { await old.stop() }
        }
    }

    private let state = Mutex(State())
    private let hub: CacheEventHub
    private let isOn = Atomic<Bool>(false)

    init(_ hub: CacheEventHub) { self.hub = hub }

    /// The prefetcher; one relaxed load where there is none.
    @inline(__always)
    var prefetcher: PredictivePrefetcher? { isOn.load(ordering: .relaxed) ? state.withLock { $0.prefetcher } : nil }

    /// Stops what is there, and puts another in its place.
    ///
    /// - Parameter make: is given what ends once the one before has kept what it learnt.
    func start(_ make: (Task<Void, Never>?) -> PredictivePrefetcher) -> PredictivePrefetcher {
        state.withLock { state in
            state.stop()
            let new = make(state.ending)
            state.prefetcher = new
            hub.setObserver(new)
            isOn.store(true, ordering: .relaxed)
            return new
        }
    }

    /// Removes the accesses that were kept in a folder, and has what is there keep none of those until now.
    func forgetAccesses(in folder: URL) async {
        await state.withLock { $0.ending }?.value
        try? KeptAccessesFile(folder: folder).remove()
        // Whoever starts from here on finds none.
        await prefetcher?.forgetAccesses()
    }

    /// Stops what is there.
    func stop() {
        state.withLock { state in
            hub.setObserver(nil)
            state.stop()
            isOn.store(false, ordering: .relaxed)
        }
    }
}
