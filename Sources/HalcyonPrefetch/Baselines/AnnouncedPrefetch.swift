import HalcyonEviction

/// Prefetches announced objects in the order of their list: the first ones that the cache lacks.
///
/// The last list replaces the ones before. An object that was announced without a rank is appended. Of a list, the first
/// ``AnnouncedParameters/first`` objects are kept. An evicted object is fetched again.
///
/// A plan is O(objects of the list), an announcement and an access are O(1). Bytes: 4 an object of the list.
public final class AnnouncedPrefetch: PrefetchPolicy {
    private var list: [UInt32] = []
    private let longest: Int

    /// Creates a policy that knows no object.
    public init(_ parameters: AnnouncedParameters, _ context: PrefetchContext) {
        longest = parameters.first
    }

    public func announce(_ object: AnnouncedObject) {
        if object.rank == 0 { list.removeAll(keepingCapacity: true) }
        if list.count < longest { list.append(object.object) }
    }

    public func note(_ access: Access, isHit: Bool) {}

    public func plan(after access: Access, outlook: PrefetchOutlook, into plan: inout PrefetchPlan) {
        var left = outlook.limit
        for object in list {
            if left == 0 { return }
            if outlook.holds(object) || object == access.object { continue }
            // An object may be announced twice without a rank.
            if plan.proposals.contains(where: { $0.object == object }) { continue }
            plan.propose(object)
            left -= 1
        }
    }

    public var metadataBytes: Int { list.capacity * MemoryLayout<UInt32>.stride }
}

/// The parameters of ``AnnouncedPrefetch``.
public struct AnnouncedParameters: PolicyParameters, Equatable {
    /// The number of objects of a list that may be fetched, from the first on. Default: 10,000, all of the longest list.
    public var first = AnnouncedObject.longestList

    /// Creates the default parameters.
    public init() {}

    /// The name, range and meaning of each parameter.
    public static let table: [Parameter<AnnouncedParameters>] = [
        .integer(
            "first", \.first, in: 1...AnnouncedObject.longestList,
            "the number of objects of a list that may be fetched, from the first on")
    ]
}
