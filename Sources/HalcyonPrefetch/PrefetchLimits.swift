/// The limits of a prefetch policy's tables, by the numbers of objects, users and categories from 0; `nil` for none.
public struct PrefetchLimits: Sendable, Equatable {
    /// The first object number that the policy ignores: it neither learns from such an object nor proposes it.
    public let objects: Int?
    /// The number of users that the policy distinguishes; others share statistics.
    public let users: Int?
    /// The number of categories that the policy distinguishes; others share statistics or are ignored.
    public let categories: Int?

    /// Returns the limits of a policy of ``PrefetchCatalogue``; `nil` for an unknown name.
    public init?(policy name: String) {
        let (objects, users, categories) = (
            Int(BaselineBounds.objects), Int(BaselineBounds.users), Int(BaselineBounds.categories)
        )
        switch name {
        case "planner":
            // One number stands for requests of unknown users.
            self.init(
                objects: Int(PlannerObjects.bound), users: Int(PlannerUsers.bound) - 1,
                categories: Int(PlannerCategories.bound))
        case "lists": self.init(objects: objects, users: users - 1)
        case "markov", "markov-user": self.init(users: users - 1)
        case "popular", "mithril": self.init(objects: objects)
        case "visit-refill": self.init(objects: objects, users: users - 1)
        case "category-popular": self.init(objects: objects, users: users - 1, categories: categories)
        case "next-key", "announced", "list-order", "list-random", "list-newest", "list-popular", "list-last-opened",
            "list-affinity":
            self.init()
        default: return nil
        }
    }

    private init(objects: Int? = nil, users: Int? = nil, categories: Int? = nil) {
        self.objects = objects
        self.users = users
        self.categories = categories
    }
}
