import Halcyon
import Synchronization

/// Writes down who left.
final class Removals: Sendable {
    private let list = Mutex<[Removal]>([])

    var all: [Removal] { list.withLock { $0 } }
    var keys: [String] { all.map(\.key) }

    func note(_ removals: [Removal]) { list.withLock { $0 += removals } }
}
