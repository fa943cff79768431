/// What was shown together, list by list, in order of time: a page of a feed, a grid, search results.
///
/// A list is no request. The requests of a trace, and the numbers of their objects, are the same with its lists and
/// without. An object that was shown and never requested has a number from ``Trace/objectCount`` on, in the order in which
/// such objects were shown first. In the same way, users who make no request have numbers from ``Trace/userCount`` on, and
/// categories that no request has have numbers from ``Trace/categoryCount`` on.
///
/// An item takes 4 bytes, and 4 more if there are categories; a list takes 28 and an object that was only shown 8.
public struct ShownLists: Sendable, Equatable {
    /// The number of requests of the trace before each list.
    public private(set) var positions: [Int] = []
    /// The time of each list, in microseconds.
    public private(set) var times: [Int64] = []
    /// The user of each list; ``Trace/noUser`` where unknown.
    public private(set) var users: [UInt32] = []
    /// The end of each list among the items.
    private var ends: [Int] = []
    /// The object of each item, list by list.
    public private(set) var objects: [UInt32] = []
    /// The category set of each item; empty if the trace has no categories.
    public private(set) var categories: [UInt32] = []
    /// The size of each object that was only shown, in the unit of the trace.
    public let shownOnlySizes: [UInt64]
    /// The names of the objects, users and categories that occur in lists alone, in the order of their numbers. A table is empty
    /// unless ``TraceLoadOptions/names`` requested it.
    public let names: TraceNames

    /// The largest number of items of a list that a reader keeps. Further items are left out and counted in
    /// ``LoadReport/itemsBeyondLimit``.
    public static let mostItems = 100_000

    /// Creates an empty table.
    ///
    /// - Parameters:
    ///   - shownOnlySizes: the sizes of the objects that are only shown.
    ///   - names: the names of what occurs in lists alone.
    public init(shownOnlySizes: [UInt64] = [], names: TraceNames = TraceNames()) {
        self.shownOnlySizes = shownOnlySizes
        self.names = names
    }

    /// The number of lists.
    public var count: Int { ends.count }
    /// The number of items of all lists.
    public var itemCount: Int { objects.count }

    /// Returns the items of a list, as indices of ``objects`` and ``categories``, in the order in which they were shown. O(1).
    public func items(of list: Int) -> Range<Int> { (list == 0 ? 0 : ends[list - 1])..<ends[list] }

    /// Whether two lists in succession of one user have one time. O(lists).
    var hasSimultaneous: Bool {
        var latest: [UInt32: Int64] = [:]
        return zip(users, times).contains { latest.updateValue($1, forKey: $0) == $1 }
    }

    /// One list, with the items in the order in which they were shown.
    package struct Element: Sendable, Equatable {
        /// The number of requests before the list.
        package var position: Int
        /// The time in microseconds.
        package var time: Int64
        /// The user; ``Trace/noUser`` where unknown.
        package var user: UInt32
        package var objects: [UInt32]
        /// The category set of each item; empty if the trace has no categories.
        package var categories: [UInt32]
    }

    /// Returns the same lists with other category sets, one for each item. O(items).
    package func relabelled(_ categories: [UInt32]) -> ShownLists {
        precondition(categories.isEmpty || categories.count == itemCount, "a category set for each item")
        var lists = self
        lists.categories = categories
        return lists
    }

    /// The lists in order. O(items).
    package var elements: [Element] {
        (0..<count).map { list in
            let items = items(of: list)
            return Element(
                position: positions[list], time: times[list], user: users[list], objects: Array(objects[items]),
                categories: categories.isEmpty ? [] : Array(categories[items]))
        }
    }

    /// Creates a table of lists, which are in order of position and time. O(items).
    package init(_ elements: [Element], shownOnlySizes: [UInt64], names: TraceNames) {
        self.init(shownOnlySizes: shownOnlySizes, names: names)
        for list in elements {
            append(
                position: list.position, time: list.time, user: list.user, objects: list.objects,
                categories: list.categories)
        }
    }

    /// Appends a list.
    ///
    /// - Precondition: `position` and `time` are at least those of the list before. Either all lists have categories, one
    ///   for each item, or none has.
    public mutating func append(
        position: Int, time: Int64, user: UInt32, objects: some Collection<UInt32>,
        categories: some Collection<UInt32>
    ) {
        precondition(position >= positions.last ?? 0 && time >= times.last ?? .min, "lists are in order of time")
        precondition(categories.isEmpty || categories.count == objects.count, "categories for each item, or none")
        positions.append(position)
        times.append(time)
        users.append(user)
        self.objects.append(contentsOf: objects)
        self.categories.append(contentsOf: categories)
        precondition(self.categories.isEmpty || self.categories.count == self.objects.count, "all lists alike")
        ends.append(self.objects.count)
    }
}
