import Halcyon
import Synchronization

/// Writes down who left.
final class Departures: Sendable {
    private let list = Mutex<[Departure]>([])

    var all: [Departure] { list.withLock { $0 } }
    var keys: [String] { all.map(\.key) }

    func note(_ departures: [Departure]) { list.withLock { $0 += departures } }
}
