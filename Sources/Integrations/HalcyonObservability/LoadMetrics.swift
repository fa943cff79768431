import HalcyonNetworking
@_spi(Observation) import HalcyonPipeline
import Synchronization

/// Counts and times the loads of a manager that memory does not answer at once.
final class LoadMetrics: LoadObserver {
    private let registry: MetricRegistry
    private let nanoseconds: @Sendable () -> Int64
    private let running = Atomic<Int>(0)

    init(_ registry: MetricRegistry, nanoseconds: @escaping @Sendable () -> Int64) {
        self.registry = registry
        self.nanoseconds = nanoseconds
    }

    /// The number of loads that have not ended.
    var inProgress: Int { running.load(ordering: .relaxed) }

    func started(_ resource: Resource, isPrefetch: Bool) -> any LoadObservation {
        running.add(1, ordering: .relaxed)
        return Load(self, start: nanoseconds(), kind: isPrefetch ? "prefetch" : "request")
    }

    private final class Load: LoadObservation {
        private let metrics: LoadMetrics
        private let start: Int64
        private let kind: String

        init(_ metrics: LoadMetrics, start: Int64, kind: String) {
            self.metrics = metrics
            self.start = start
            self.kind = kind
        }

        func started(_ stage: LoadStage) {}

        func ended(_ stage: LoadStage, _ error: (any Error)?) {}

        func ended(_ result: Result<ImageOrigin, any Error>) {
            metrics.running.subtract(1, ordering: .relaxed)
            let key = MetricRegistry.Key("halcyon_load_duration_seconds", ["kind": kind, "outcome": result.outcome])
            metrics.registry.report(.duration(key, max(metrics.nanoseconds() - start, 0)))
        }
    }
}

extension Result where Success == ImageOrigin, Failure == any Error {
    /// The value of the label `outcome`: the place from which the image came, `failed` or `cancelled`.
    var outcome: String {
        switch self {
        case .success(let origin): origin.rawValue
        case .failure(let error): error.isCancellation ? "cancelled" : "failed"
        }
    }
}
