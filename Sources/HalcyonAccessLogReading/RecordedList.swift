/// The images that were shown to a user together, before any of them was opened: a page of a feed, a grid, search results.
///
/// A list is no access. To open an image is to access it.
public struct RecordedList: Sendable, Equatable {
    /// An image of a list.
    public struct Item: Sendable, Equatable {
        /// The computed key. Read from a log that keeps hashes, the 32 hexadecimal digits of its hash.
        public var key: String
        /// The size in bytes, as that of an access; 0 is unknown.
        public var cost: Int
        /// The categories, in the order in which they were given.
        public var categories: [String]

        /// Creates an image of a list.
        public init(key: String, cost: Int = 0, categories: [String] = []) {
            (self.key, self.cost, self.categories) = (key, cost, categories)
        }
    }

    /// The most items that a list has; those behind them are left out.
    public static let longest = 1_000

    /// When it was shown, in microseconds since 1970.
    public var time: Int64
    /// The images, in the order in which they were shown.
    public var items: [Item]
    /// The user or profile; `nil` where unknown.
    public var user: String?
    /// The number of accesses that were recorded before, of those that a reader reads. 0 for a list that is in no log.
    public var position = 0

    /// Creates a list of the first ``longest`` items.
    public init(time: Int64, items: some Sequence<Item>, user: String? = nil) {
        (self.time, self.items, self.user) = (time, Array(items.prefix(Self.longest)), user)
    }
}
