import HalcyonEviction

/// The objects that are shown to a user together, before any of them is opened: a page of a feed, a grid, search results.
///
/// To open an object is to request it. An object that is shown may have been requested before, or may never be.
public struct ShownList: Sendable, Equatable {
    /// An object of a list.
    public struct Item: Sendable, Equatable {
        /// The object's number.
        public var object: UInt32
        /// The object's categories.
        public var categories: CategorySetID
        /// The capacity that the object takes: bytes, or 1. 0 if it is not known.
        public var size: Int

        /// Creates an item.
        public init(object: UInt32, categories: CategorySetID = 0, size: Int = 1) {
            (self.object, self.categories, self.size) = (object, categories, size)
        }
    }

    /// The most items that a list may have; those behind them are ignored.
    public static let longest = 1_000

    /// The user.
    public var user: UInt32
    /// The time at which the list is shown, in microseconds.
    public var time: Int64
    /// The items, in the order in which they are shown.
    public var items: [Item]

    /// Creates a list of the first ``longest`` items.
    public init(user: UInt32, time: Int64, items: some Sequence<Item>) {
        (self.user, self.time, self.items) = (user, time, Array(items.prefix(Self.longest)))
    }
}
