/// The prefetch policies by name.
public enum PrefetchCatalogue {
    /// A prefetch policy of the catalogue.
    public struct Entry: Sendable {
        /// The name, in kebab case.
        public let name: String
        /// The policy's method, in a few words.
        public let summary: String
        /// The paper that the policy follows; empty if there is none.
        public let source: String
        /// The inputs that its plans depend on beside the accesses.
        public let traits: PrefetchTraits
        /// Creates an instance that has recorded nothing.
        public let make: @Sendable (PrefetchContext) -> any PrefetchPolicy
    }

    /// All prefetch policies. `none`, which prefetches nothing, is not one of them.
    public static let entries: [Entry] = [
        Entry(
            name: "planner",
            summary:
                "learned: objects that the user will probably request, fetched after requests; with visits=on between visits, too",
            source: "", traits: [.isRandomised, .usesCategories, .learns],
            make: { PrefetchPlanner(context: $0) }),
        Entry(
            name: "lists", summary: "learned: what the user will probably open of a list; the planner on lists alone",
            source: "", traits: [.isRandomised, .usesCategories, .learns, .usesLists],
            make: { PrefetchPlanner(.listsOnly, context: $0) }),
        Entry(
            name: "list-order", summary: "of a list that is shown: the first items", source: "",
            traits: [.usesLists], make: { ListOrderPrefetch(.shown, $0) }),
        Entry(
            name: "list-random", summary: "of a list that is shown: any items", source: "",
            traits: [.isRandomised, .usesLists], make: { ListOrderPrefetch(.random, $0) }),
        Entry(
            name: "list-newest", summary: "of a list that is shown: the items that appeared last", source: "",
            traits: [.usesLists], make: { ListOrderPrefetch(.newest, $0) }),
        Entry(
            name: "list-popular", summary: "of a list that is shown: the items that were requested most of late",
            source: "", traits: [.usesLists], make: { ListOrderPrefetch(.popular, $0) }),
        Entry(
            name: "list-last-opened", summary: "of a list that is shown: the items that the user requested last",
            source: "", traits: [.usesLists], make: { ListOrderPrefetch(.lastOpened, $0) }),
        Entry(
            name: "list-affinity",
            summary: "of a list that is shown: the items of the categories that the user requested most", source: "",
            traits: [.usesCategories, .usesLists], make: { ListOrderPrefetch(.affinity, $0) }),
        Entry(
            name: "markov", summary: "the most frequent successors of the object, over all users",
            source: "Joseph, Grunwald 1997", traits: [], make: { MarkovPrefetch($0) }),
        Entry(
            name: "markov-user", summary: "the most frequent successors of the object, for the same user",
            source: "Joseph, Grunwald 1997", traits: [], make: { MarkovPrefetch($0, isPerUser: true) }),
        Entry(
            name: "popular", summary: "the most popular objects", source: "", traits: [],
            make: { PopularPrefetch($0) }),
        Entry(
            name: "category-popular",
            summary: "the popular objects of the categories that the user is likely to request next",
            source: "", traits: [.usesCategories], make: { CategoryPopularPrefetch($0) }),
        Entry(
            name: "visit-refill",
            summary:
                "at the end of a visit: the objects that the user requested often and lately, in place of the others",
            source: "", traits: [], make: { VisitRefill($0) }),
        Entry(
            name: "mithril", summary: "the objects that were repeatedly requested together", source: "Yang et al. 2017",
            traits: [], make: { MithrilPrefetch($0) }),
        Entry(
            name: "announced", summary: "the first objects of the announced list that the cache lacks", source: "",
            traits: [.usesAnnouncements], make: { AnnouncedPrefetch(AnnouncedParameters(), $0) }),
        Entry(
            name: "next-key", summary: "the object whose key is the next number, whether or not it exists",
            source: "Smith 1978", traits: [.usesKeys],
            make: { NextKeyPrefetch($0) }),
    ]

    /// Returns the entry with that name, if there is one.
    public static func entry(named name: String) -> Entry? { entries.first { $0.name == name } }
}

/// The inputs that a prefetch policy depends on, beside the accesses that it is given.
///
/// They decide which runs repeat each other: the identity of a stored result has the seed, the labels and the keys only
/// where they matter.
public struct PrefetchTraits: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The policy draws random numbers from ``PrefetchContext/seed``.
    public static let isRandomised = PrefetchTraits(rawValue: 1 << 0)
    /// The policy uses the categories of objects.
    public static let usesCategories = PrefetchTraits(rawValue: 1 << 1)
    /// The policy uses the keys of objects, in ``PrefetchContext/nextByKey``.
    public static let usesKeys = PrefetchTraits(rawValue: 1 << 2)
    /// The policy trains a model.
    public static let learns = PrefetchTraits(rawValue: 1 << 3)
    /// The policy proposes objects of lists that are shown.
    public static let usesLists = PrefetchTraits(rawValue: 1 << 5)
    /// The policy proposes announced objects only.
    public static let usesAnnouncements = PrefetchTraits(rawValue: 1 << 4)
}
