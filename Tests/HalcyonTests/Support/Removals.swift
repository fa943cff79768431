import Halcyon
import Synchronization

/// Records the removals from a storage.
final class Removals: Sendable {
    private let list = Mutex<[Removal]>([])

    var all: [Removal] { list.withLock { $0 } }
    var keys: [String] { all.map(\.key) }

    func note(_ removals: [Removal]) { list.withLock { $0 += removals } }
}
