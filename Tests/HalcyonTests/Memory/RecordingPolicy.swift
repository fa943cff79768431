import HalcyonEviction
import Synchronization

/// A FIFO policy that records its calls under the seed of its storage.
struct RecordingPolicy: CataloguedPolicy {
    enum Call: Equatable {
        case hit(Access), insert(Access), remove(EntryID), victim(EntryID)
    }

    static let info = PolicyInfo(name: "recording", summary: "writes down what it is told", source: "these tests")
    private static let calls = Mutex<[UInt64: [Call]]>([:])

    /// Returns the calls to the policy of a seed.
    static func calls(seed: UInt64) -> [Call] { calls.withLock { $0[seed] ?? [] } }
    /// Returns the calls as words, such as `hit 0 at 5`.
    static func words(seed: UInt64) -> [String] {
        calls(seed: seed).map { call in
            switch call {
            case .hit(let access): "hit \(access.entry) at \(access.time / 1_000_000)"
            case .insert(let access): "insert \(access.entry) at \(access.time / 1_000_000)"
            case .remove(let entry): "remove \(entry)"
            case .victim(let entry): "victim \(entry)"
            }
        }
    }

    private let seed: UInt64
    private var queue: [EntryID] = []

    init(_ parameters: NoParameters, context: PolicyContext) { seed = context.seed }

    private func note(_ call: Call) { Self.calls.withLock { $0[seed, default: []].append(call) } }

    mutating func hit(_ access: Access) { note(.hit(access)) }

    mutating func insert(_ access: Access) {
        note(.insert(access))
        queue.append(access.entry)
    }

    mutating func remove(_ entry: EntryID) {
        note(.remove(entry))
        queue.removeAll { $0 == entry }
    }

    mutating func victim(for access: Access) -> EntryID {
        let victim = queue.removeFirst()
        note(.victim(victim))
        return victim
    }
}
