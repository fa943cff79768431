import HalcyonModel
import Synchronization

extension HalcyonManager {
    /// Begins to fetch what will be wanted, as the learned planner says unless told otherwise; what ran before is stopped.
    @discardableResult
    public func startPredicting(_ prediction: PrefetchPrediction = PrefetchPrediction()) -> PredictivePrefetcher {
        let (toMemory, cache) = (prediction.toMemory, cache)
        let surroundings = ForesightSurroundings(
            holds: { [weak cache] in cache?.isCached(forKey: $0) ?? true },
            hasRoom: { [weak cache] cost in cache?.memoryStorage.hasRoom(for: cost) ?? false },
            reconsider: { [weak cache] in cache?.reconsider($0, isLikely: $1) },
            fileName: { [weak cache] in cache?.hash(forKey: $0) },
            plannerFile: { [weak cache] in cache?.diskStorage.map { PlannerFile(folder: $0.files.folder.hidden) } },
            fetch: { [weak self] resource, options in
                guard let self else { return .cancelled }
                do {
                    let loaded = try await prefetch(resource, options, toMemory: toMemory)
                    return loaded.map { .loaded(bytes: $0.bytes, cost: $0.cost) } ?? .wasThere
                } catch {
                    return error.isCancellation ? .cancelled : .failed
                }
            })
        let prefetcher = PredictivePrefetcher(
            prediction, surroundings, options: defaultOptions, clock: cache.clock,
            settleCache: { [weak cache] in _ = await cache?.onDisk(changing: true) { _ in } })
        replacePredictive(by: prefetcher)
        return prefetcher
    }

    /// Fetches nothing more ahead of need but what an app asks for. What was fetched stays.
    public func stopPredicting() { replacePredictive(by: nil) }

    /// What predicts, if that was started.
    public var predictive: PredictivePrefetcher? { predicting.prefetcher }

    private func replacePredictive(by new: PredictivePrefetcher?) {
        let old = predicting.replace(by: new)
        cache.hub.setObserver(new)
        if let old { Task { await old.stop() } }
    }
}

/// The prefetcher of a manager, which hears what is asked for.
final class PredictingSlot: Sendable {
    private let held = Mutex<PredictivePrefetcher?>(nil)
    private let isOn = Atomic<Bool>(false)

    /// The prefetcher; one relaxed load where there is none.
    @inline(__always)
    var prefetcher: PredictivePrefetcher? { isOn.load(ordering: .relaxed) ? held.withLock { $0 } : nil }

    /// Puts another in its place, and returns the old one.
    func replace(by new: PredictivePrefetcher?) -> PredictivePrefetcher? {
        held.withLock { held in
            defer { held = new }
            isOn.store(new != nil, ordering: .relaxed)
            return held
        }
    }
}
