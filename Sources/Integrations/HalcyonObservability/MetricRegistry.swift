import CoreMetrics
import Synchronization

/// Makes the metrics of a factory when they are first reported. The factory's code runs outside the lock.
final class MetricRegistry: Sendable {
    /// A metric: its label, and its dimensions without those that all metrics share.
    struct Key: Hashable, Sendable {
        let label: String
        let dimensions: [String: String]

        init(_ label: String, _ dimensions: [String: String]) {
            self.label = label
            self.dimensions = dimensions
        }
    }

    /// A change of a metric.
    enum Report: Sendable {
        /// Adds to a counter.
        case increment(Key, Int)
        /// Sets a meter.
        case value(Key, Int)
        /// Records a duration in nanoseconds.
        case duration(Key, Int64)
    }

    private struct State {
        var counters: [Key: any CounterHandler] = [:]
        var meters: [Key: any MeterHandler] = [:]
        var timers: [Key: any TimerHandler] = [:]
    }

    private let factory: any MetricsFactory
    private let shared: [(String, String)]
    private let state = Mutex(State())

    /// - Parameter dimensions: the dimensions that all metrics share.
    init(_ factory: any MetricsFactory, dimensions: [(String, String)]) {
        self.factory = factory
        shared = dimensions
    }

    deinit {
        let state = state.withLock { $0 }
        for counter in state.counters.values { factory.destroyCounter(counter) }
        for meter in state.meters.values { factory.destroyMeter(meter) }
        for timer in state.timers.values { factory.destroyTimer(timer) }
    }

    /// Applies a change.
    func report(_ report: Report) {
        switch report {
        case .increment(let key, let count):
            handler(key, \.counters) { factory.makeCounter(label: $0, dimensions: $1) }.increment(by: Int64(count))
        case .value(let key, let value):
            handler(key, \.meters) { factory.makeMeter(label: $0, dimensions: $1) }.set(Int64(value))
        case .duration(let key, let nanoseconds):
            let timer = handler(key, \.timers) { label, dimensions in
                let timer = factory.makeTimer(label: label, dimensions: dimensions)
                timer.preferDisplayUnit(.seconds)
                return timer
            }
            timer.recordNanoseconds(nanoseconds)
        }
    }

    private func handler<Handler>(
        _ key: Key, _ path: WritableKeyPath<State, [Key: Handler]> & Sendable,
        _ make: (String, [(String, String)]) -> Handler
    ) -> Handler {
        if let known = state.withLock({ Handoff($0[keyPath: path][key]) }).value { return known }
        let own = key.dimensions.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        let new = Handoff(make(key.label, shared + own))
        return state.withLock { state in
            // A factory returns the same handler for the same label and dimensions, or one that adds to the same sum.
            let handler = state[keyPath: path][key] ?? new.value
            state[keyPath: path][key] = handler
            return Handoff(handler)
        }.value
    }

    /// Carries a handler across the lock.
    ///
    /// Handlers are `Sendable`, as their protocols require; the generic parameter does not express it for existentials.
    private struct Handoff<Value>: @unchecked Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }
}
