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
        /// Creates an instance that has recorded nothing.
        public let make: @Sendable (PrefetchContext) -> any PrefetchPolicy
    }

    /// All prefetch policies. `none`, which prefetches nothing, is not one of them.
    public static let entries: [Entry] = [
        Entry(
            name: "planner", summary: "learned: objects whose predicted probability exceeds a threshold",
            source: "",
            make: { PrefetchPlanner(context: $0) }),
        Entry(
            name: "markov", summary: "the most frequent successors of the object, over all users",
            source: "Joseph, Grunwald 1997", make: { MarkovPrefetch($0) }),
        Entry(
            name: "markov-user", summary: "the most frequent successors of the object, for the same user",
            source: "Joseph, Grunwald 1997", make: { MarkovPrefetch($0, isPerUser: true) }),
        Entry(
            name: "popular", summary: "the most popular objects", source: "", make: { PopularPrefetch($0) }),
        Entry(
            name: "category-popular",
            summary: "the popular objects of the categories that the user is likely to request next",
            source: "", make: { CategoryPopularPrefetch($0) }),
        Entry(
            name: "visit-planner",
            summary:
                "learned: the objects that each user will probably request in the next visit, fetched between visits",
            source: "", make: { VisitPlanner(context: $0) }),
        Entry(
            name: "visit-refill",
            summary:
                "at the end of a visit: the objects that the user requested often and lately, in place of the others",
            source: "", make: { VisitRefill($0) }),
        Entry(
            name: "mithril", summary: "the objects that were repeatedly requested together", source: "Yang et al. 2017",
            make: { MithrilPrefetch($0) }),
        Entry(
            name: "next-key", summary: "the object whose key is the next number, whether or not it exists",
            source: "Smith 1978",
            make: { NextKeyPrefetch($0) }),
    ]

    /// Returns the entry with that name, if there is one.
    public static func entry(named name: String) -> Entry? { entries.first { $0.name == name } }
}
