import HalcyonEviction

@testable import HalcyonPrefetch

/// A prefetch policy that proposes the first objects of a shown list that are not held, in the list's order, and records its
/// calls. After accesses it proposes nothing.
final class ListPolicy: PrefetchPolicy {
    private let notes: ScriptedPolicy.Notes

    init(_ notes: ScriptedPolicy.Notes) { self.notes = notes }

    var plansOnLists: Bool { true }
    var metadataBytes: Int { 0 }

    func announce(_ object: AnnouncedObject) {
        let (rank, count) = (object.rank.map { "\($0)" } ?? "none", object.count.map { "\($0)" } ?? "none")
        notes.add("announced \(object.object) in \(object.categories), rank \(rank), count \(count)")
    }

    func announce(_ rates: CategoryRates) {
        let counts = rates.categories.sorted { $0.key < $1.key }.map {
            "\($0.key): \($0.value.opened[0])/\($0.value.shown[0])"
        }
        notes.add("rates \(counts.joined(separator: ", ")) of \(rates.total.opened[0])/\(rates.total.shown[0])")
    }

    func note(_ access: Access, isHit: Bool) {
        notes.add("\(isHit ? "hit" : "miss") \(access.object) in \(access.categories) by \(Self.name(access.user))")
    }

    func dropped(_ object: UInt32) { notes.add("dropped \(object)") }

    func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {}

    func plan(on list: ShownList, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        let items = list.items.map { "\($0.object)/\($0.categories)/\($0.size)" }.joined(separator: " ")
        notes.add("list of \(Self.name(list.user)) at \(list.time / 1_000_000), limit \(outlook.limit): \(items)")
        for item in list.items.filter({ !outlook.holds($0.object) }).prefix(outlook.limit) { plan.propose(item.object) }
    }

    private static func name(_ user: UInt32) -> String { user == .max ? "nobody" : "\(user)" }
}
