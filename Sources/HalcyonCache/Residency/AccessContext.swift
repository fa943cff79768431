/// What an app tells with a store or a load, beside the key: what a policy may learn from and rules go by.
public struct AccessContext: Sendable, Equatable {
    /// The categories of the object; the first one decides where only one can. Empty on a load: as they were at the store.
    public var categories: [String]
    /// Who asks: a user or a profile.
    public var user: String?
    /// How many requests came before this one, where several tiers serve the same requests; `nil`: the storage counts.
    var requestNumber: Int?
    /// Whether nobody has asked for it yet: it is stored, or taken into memory, ahead of need.
    var isPrefetch = false

    /// Nothing is told, unless given.
    public init(categories: [String] = [], user: String? = nil) {
        self.categories = categories
        self.user = user
    }
}
