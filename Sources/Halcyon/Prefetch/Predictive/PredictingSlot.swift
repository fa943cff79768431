import Foundation
import Synchronization

/// The prefetcher of a cache, which hears of what is in it, and of what is asked for from the managers over it.
final class PredictingSlot: Sendable {
    private struct State {
        var prefetcher: PredictivePrefetcher?
        /// Ends once the one before has kept what it learnt.
        var ending: Task<Void, Never>?
        /// How the device was when the one before was stopped.
        var conditions: PrefetchConditions = []

        mutating func stop() {
            guard let old = prefetcher else { return }
            conditions = old.conditions
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
    /// - Parameter make: is given what ends once the one before has kept what it learnt. The device is taken to be as the one before was
    ///   told last.
    func start(_ make: (Task<Void, Never>?) -> PredictivePrefetcher) -> PredictivePrefetcher {
        state.withLock { state in
            state.stop()
            let new = make(state.ending)
            if !state.conditions.isEmpty { new.conditions = state.conditions }
            state.prefetcher = new
            hub.setObserver(new)
            isOn.store(true, ordering: .relaxed)
            return new
        }
    }

    /// Removes the accesses that were kept in a folder, and has what is there keep none of those until now.
    func forgetAccesses(in folder: URL) async {
        while true {
            let (ending, prefetcher) = state.withLock { ($0.ending, $0.prefetcher) }
            await ending?.value
            await prefetcher?.forgetAccesses()
            try? KeptAccessesFile(folder: folder).remove()
            // Whoever was stopped meanwhile may have kept what it had heard before, and whoever started may have read it.
            if state.withLock({ $0.ending == ending && $0.prefetcher === prefetcher }) { return }
        }
    }

    /// Stops what is there, and returns when it has kept what it learnt.
    func end() async {
        stop()
        await state.withLock { $0.ending }?.value
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
