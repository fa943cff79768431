import CoreMetrics
import Synchronization

/// A factory of metrics that renders them in Prometheus's text format: counters, gauges, and timers as summaries of sum
/// and count in seconds.
///
/// It is a minimum for this example. A server uses a package such as swift-prometheus.
final class PrometheusRegistry: MetricsFactory {
    private struct State {
        var values: [Name: Value] = [:]
    }

    private struct Name: Hashable {
        let label: String
        let dimensions: String
    }

    fileprivate enum Value {
        case counter(Int64)
        case gauge(Double)
        case summary(count: Int, nanoseconds: Int64)
    }

    private final class Handler: CounterHandler, MeterHandler, RecorderHandler, TimerHandler {
        private let registry: PrometheusRegistry
        private let name: Name

        init(_ registry: PrometheusRegistry, _ name: Name) { (self.registry, self.name) = (registry, name) }

        func increment(by amount: Int64) {
            registry.update(name) { value in
                if case .counter(let count)? = value { .counter(count + amount) } else { .counter(amount) }
            }
        }

        func reset() { registry.update(name) { _ in .counter(0) } }

        func set(_ value: Int64) { set(Double(value)) }

        func set(_ value: Double) { registry.update(name) { _ in .gauge(value) } }

        func increment(by amount: Double) { add(amount) }

        func decrement(by amount: Double) { add(-amount) }

        func record(_ value: Int64) { set(Double(value)) }

        func record(_ value: Double) { set(value) }

        func recordNanoseconds(_ duration: Int64) {
            registry.update(name) { value in
                guard case .summary(let count, let sum)? = value else {
                    return .summary(count: 1, nanoseconds: duration)
                }
                return .summary(count: count + 1, nanoseconds: sum + duration)
            }
        }

        private func add(_ amount: Double) {
            registry.update(name) { value in
                if case .gauge(let old)? = value { .gauge(old + amount) } else { .gauge(amount) }
            }
        }
    }

    private let state = Mutex(State())

    /// All metrics, sorted by name and labels.
    var text: String {
        let values = state.withLock { $0.values }
        var lines: [String] = []
        for (label, group) in Dictionary(grouping: values, by: \.key.label).sorted(by: { $0.key < $1.key }) {
            for (number, (name, value)) in group.sorted(by: { $0.key.dimensions < $1.key.dimensions }).enumerated() {
                if number == 0 { lines.append("# TYPE \(label) \(value.kind)") }
                lines += value.lines(label, name.dimensions.isEmpty ? "" : "{\(name.dimensions)}")
            }
        }
        return lines.joined(separator: "\n")
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        handler(label, dimensions)
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { handler(label, dimensions) }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        handler(label, dimensions)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { handler(label, dimensions) }

    func destroyCounter(_ handler: any CounterHandler) {}

    func destroyMeter(_ handler: any MeterHandler) {}

    func destroyRecorder(_ handler: any RecorderHandler) {}

    func destroyTimer(_ handler: any TimerHandler) {}

    private func handler(_ label: String, _ dimensions: [(String, String)]) -> Handler {
        func escaped(_ text: String) -> String {
            text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
        }
        let pairs = dimensions.map { "\($0.0)=\"\(escaped($0.1))\"" }
        return Handler(self, Name(label: label, dimensions: pairs.joined(separator: ",")))
    }

    private func update(_ name: Name, _ change: (Value?) -> Value) {
        state.withLock { state in state.values[name] = change(state.values[name]) }
    }
}

extension PrometheusRegistry.Value {
    fileprivate var kind: String {
        switch self {
        case .counter: "counter"
        case .gauge: "gauge"
        case .summary: "summary"
        }
    }

    fileprivate func lines(_ label: String, _ dimensions: String) -> [String] {
        switch self {
        case .counter(let count): ["\(label)\(dimensions) \(count)"]
        case .gauge(let value): ["\(label)\(dimensions) \(Int(value))"]
        case .summary(let count, let nanoseconds):
            ["\(label)_sum\(dimensions) \(Double(nanoseconds) / 1e9)", "\(label)_count\(dimensions) \(count)"]
        }
    }
}
