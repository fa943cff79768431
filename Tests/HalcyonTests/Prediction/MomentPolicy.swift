import HalcyonEviction
import HalcyonPrefetch
import Synchronization

/// A prefetch policy that proposes the objects from 1 on that are not held, at moments between requests, and
/// records its calls. After accesses it proposes nothing.
final class MomentPolicy: PrefetchPolicy {
    private let notes: ScriptedPolicy.Notes
    private let reach: UInt32
    private let released: [UInt32]
    private let ready: Bool

    /// - Parameters:
    ///   - reach: the number after the last object that it proposes.
    ///   - released: the objects that each plan at a moment releases.
    init(_ notes: ScriptedPolicy.Notes, reach: UInt32 = 8, released: [UInt32] = [], isReady: Bool = true) {
        (self.notes, self.reach, self.released, ready) = (notes, reach, released, isReady)
    }

    var plansBetweenRequests: Bool { true }
    var isReady: Bool { ready }
    var isReadyBetweenRequests: Bool { ready }
    var metadataBytes: Int { 0 }

    func note(_ access: Access, isHit: Bool) {
        notes.add("\(isHit ? "hit" : "miss") \(access.object) by \(Self.name(access.user))")
    }

    func evicted(_ object: UInt32, from user: UInt32) { notes.add("evicted \(object)") }

    func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        notes.add("plan after \(access.object)")
    }

    func plan(at moment: PlanningMoment, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        let free = ready ? (1..<reach).filter { !outlook.holds($0) }.prefix(outlook.limit) : []
        let time = "\(moment.time / 1_000_000)"
        notes.add("\(moment.occasion) of \(Self.name(moment.user)) at \(time), limit \(outlook.limit): \(Array(free))")
        for object in free { plan.propose(object) }
        for object in released { plan.release(object) }
    }

    private static func name(_ user: UInt32) -> String { user == .max ? "nobody" : "\(user)" }
}
