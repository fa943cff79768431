/// The prefetch policies that can be asked for by name.
public enum PrefetchCatalogue {
    /// One of them.
    public struct Entry: Sendable {
        /// The name it is asked for by, in kebab case.
        public let name: String
        /// What it does, in a few words.
        public let summary: String
        /// The paper it follows; empty where there is none.
        public let source: String
        /// An instance that has seen nothing yet.
        public let make: @Sendable (PrefetchContext) -> any PrefetchPolicy
    }

    /// All of them; `none`, which fetches nothing, is no policy.
    public static let entries: [Entry] = [
        Entry(
            name: "planner", summary: "learned: probable objects of probable categories, where worth the fetch",
            source: "",
            make: { PrefetchPlanner(context: $0) }),
        Entry(
            name: "markov", summary: "what followed most often on the object, over all users",
            source: "Joseph, Grunwald 1997", make: { MarkovPrefetch($0) }),
        Entry(
            name: "markov-user", summary: "what followed most often on the object, for the same user",
            source: "Joseph, Grunwald 1997", make: { MarkovPrefetch($0, isPerUser: true) }),
        Entry(
            name: "popular", summary: "what is asked for most", source: "", make: { PopularPrefetch($0) }),
        Entry(
            name: "category-popular", summary: "what is popular in the categories the user is likely to ask for next",
            source: "", make: { CategoryPopularPrefetch($0) }),
        Entry(
            name: "mithril", summary: "what was asked for together each time", source: "Yang et al. 2017",
            make: { MithrilPrefetch($0) }),
        Entry(
            name: "next-key", summary: "the object whose key is the next number", source: "Smith 1978",
            make: { NextKeyPrefetch($0) }),
    ]

    /// The entry of that name, if there is one.
    public static func entry(named name: String) -> Entry? { entries.first { $0.name == name } }
}
