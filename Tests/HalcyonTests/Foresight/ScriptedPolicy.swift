import HalcyonEviction
import HalcyonModel
import Synchronization

/// A prefetch policy that proposes the objects whose numbers come next, and writes down what it is told.
final class ScriptedPolicy: PrefetchPolicy {
    /// What it was told, in order.
    final class Notes: Sendable {
        private let lines = Mutex<[String]>([])

        func add(_ line: String) { lines.withLock { $0.append(line) } }

        /// What was told since this was asked last.
        func take() -> [String] {
            lines.withLock { lines in
                defer { lines = [] }
                return lines
            }
        }
    }

    private let notes: Notes
    private let reach: UInt32

    /// - Parameter reach: how many it proposes at most, were there no limit.
    init(_ notes: Notes, reach: UInt32 = 8) { (self.notes, self.reach) = (notes, reach) }

    func define(categorySet: CategorySetID, members: [UInt32]) { notes.add("set \(categorySet) = \(members)") }

    func announce(_ object: AnnouncedObject) {
        notes.add("announced \(object.object) in \(object.categories) costs \(object.cost)")
    }

    func note(_ access: Access, isHit: Bool) {
        let user = access.user == .max ? "nobody" : "\(access.user)"
        notes.add("\(isHit ? "hit" : "miss") \(access.object) in \(access.categories) by \(user)")
    }

    func evicted(_ object: UInt32, from user: UInt32) { notes.add("evicted \(object)") }

    func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout [PrefetchProposal]) {
        let free = (access.object + 1..<access.object + 1 + reach).filter { !outlook.holds($0) }
        let chosen = free.prefix(outlook.limit)
        notes.add("plan after \(access.object): \(Array(chosen))")
        plan += chosen.map { PrefetchProposal(object: $0) }
    }

    var metadataBytes: Int { 0 }
}
