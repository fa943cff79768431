import CoreMetrics
import Foundation
import Synchronization

/// A factory of metrics that keeps their values by label and dimensions: `label{name=value,…}`.
final class RecordingFactory: MetricsFactory {
    private final class Handler: CounterHandler, MeterHandler, RecorderHandler, TimerHandler {
        private let factory: RecordingFactory
        private let name: String

        init(_ factory: RecordingFactory, _ name: String) { (self.factory, self.name) = (factory, name) }

        func increment(by amount: Int64) { factory.sums.withLock { $0[name, default: 0] += amount } }

        func reset() {}

        func set(_ value: Int64) { factory.sums.withLock { $0[name] = value } }

        func set(_ value: Double) { set(Int64(value)) }

        func increment(by amount: Double) {}

        func decrement(by amount: Double) {}

        func record(_ value: Int64) {}

        func record(_ value: Double) {}

        func recordNanoseconds(_ duration: Int64) { factory.times.withLock { $0[name, default: []].append(duration) } }
    }

    private let sums = Mutex<[String: Int64]>([:])
    private let times = Mutex<[String: [Int64]]>([:])

    /// The counts and the present values that are not 0.
    var values: [String: Int64] { sums.withLock { $0.filter { $0.value != 0 } } }

    /// The names of all metrics but timers.
    var names: Set<String> { sums.withLock { Set($0.keys) } }

    /// The durations in nanoseconds.
    var durations: [String: [Int64]] { times.withLock { $0 } }

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
        let pairs = dimensions.filter { $0.0 != "cache" }.map { "\($0.0)=\($0.1)" }
        return Handler(self, pairs.isEmpty ? label : "\(label){\(pairs.joined(separator: ","))}")
    }
}
