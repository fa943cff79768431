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
            make: { PrefetchPlanner(context: $0) })
    ]

    /// The entry of that name, if there is one.
    public static func entry(named name: String) -> Entry? { entries.first { $0.name == name } }
}
