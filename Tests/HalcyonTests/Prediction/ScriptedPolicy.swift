import HalcyonEviction
import HalcyonPrefetch
import Synchronization

/// A prefetch policy that proposes the objects with the next numbers, and records its calls.
final class ScriptedPolicy: PrefetchPolicy {
    /// The calls of a policy, in order.
    final class Notes: Sendable {
        private let lines = Mutex<[String]>([])

        func add(_ line: String) { lines.withLock { $0.append(line) } }

        /// Returns the calls since the last `take()`.
        func take() -> [String] {
            lines.withLock { lines in
                defer { lines = [] }
                return lines
            }
        }
    }

    private let notes: Notes
    private let reach: UInt32
    private let unlikely: Set<UInt32>?

    /// - Parameters:
    ///   - reach: the most objects that it proposes without a limit.
    /// - unlikely: the unused prefetches that it declares unlikely, and all others likely; `nil` if it declares
    /// none.
    init(_ notes: Notes, reach: UInt32 = 8, unlikely: Set<UInt32>? = nil) {
        (self.notes, self.reach, self.unlikely) = (notes, reach, unlikely)
    }

    func define(categorySet: CategorySetID, members: [UInt32]) { notes.add("set \(categorySet) = \(members)") }

    func announce(_ object: AnnouncedObject) {
        notes.add("announced \(object.object) in \(object.categories) costs \(object.size)")
    }

    func note(_ access: Access, isHit: Bool) {
        let user = access.user == .max ? "nobody" : "\(access.user)"
        notes.add("\(isHit ? "hit" : "miss") \(access.object) in \(access.categories) by \(user)")
    }

    func evicted(_ object: UInt32, from user: UInt32) { notes.add("evicted \(object)") }

    func dropped(_ object: UInt32) { notes.add("dropped \(object)") }

    func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        let free = (access.object + 1..<access.object + 1 + reach).filter { !outlook.holds($0) }
        let chosen = free.prefix(outlook.limit)
        notes.add("plan after \(access.object): \(Array(chosen))")
        for object in chosen { plan.propose(object) }
        guard let unlikely else { return }
        for object in outlook.unused {
            notes.add("\(object) waits")
            plan.reconsider(object, isLikely: !unlikely.contains(object))
        }
    }

    var metadataBytes: Int { 0 }
}
