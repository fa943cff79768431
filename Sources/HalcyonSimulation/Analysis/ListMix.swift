import HalcyonTrace

/// What was shown in a trace, and what of it was opened.
///
/// A request opens an item if the last list of its user before it that contains its object has not been opened for this
/// object before. Users who are unknown count as one user.
package struct ListMix: Sendable, Codable, Equatable {
    /// The number of lists.
    package let lists: Int
    /// The number of items of all lists.
    package let items: Int
    /// The number of distinct objects that are shown.
    package let objects: Int
    /// The number of these objects that are never requested.
    package let shownOnly: Int
    /// The median number of items of a list; of two in the middle, the smaller one.
    package let medianSize: Int
    /// The number of items of the longest list.
    package let largestSize: Int
    /// The mean number of distinct categories of a list. Nil without categories.
    package let categoriesPerList: Double?
    /// The share of the lists with an opened item.
    package let listsOpened: Double
    /// The share of the items that are opened.
    package let itemsOpened: Double
    /// The share of the requests whose object a list showed to their user before.
    package let requestsShown: Double
    /// The time from a list to its openings. Nil without openings or without times.
    package let opening: Opening?

    /// The time from lists to openings.
    package struct Opening: Sendable, Codable, Equatable {
        /// The number of opened items.
        package let count: Int
        /// The median time, in microseconds; of two in the middle, the smaller one.
        package let median: Int64
        /// The share of the openings with the time of their list.
        package let simultaneous: Double
    }

    /// Describes the lists of a trace; `nil` if it has none. O(requests + items) expected.
    init?(of trace: Trace) {
        guard let lists = trace.lists, lists.count > 0 else { return nil }
        self.lists = lists.count
        items = lists.itemCount
        let shown = Set(lists.objects)
        objects = shown.count
        shownOnly = shown.count { Int($0) >= trace.objectCount }
        let sizes = (0..<lists.count).map { lists.items(of: $0).count }.sorted()
        medianSize = sizes[(sizes.count - 1) / 2]
        largestSize = sizes[sizes.count - 1]
        if lists.categories.isEmpty {
            categoriesPerList = nil
        } else {
            let distinct = (0..<lists.count).reduce(0) { sum, list in
                sum + Set(lists.items(of: list).flatMap { trace.categorySets[lists.categories[$0]] }).count
            }
            categoriesPerList = Double(distinct) / Double(lists.count)
        }
        // The last list and item that showed an object to a user.
        var last: [UInt64: (list: Int, item: Int)] = [:]
        var isOpened = [Bool](repeating: false, count: lists.itemCount)
        var isListOpened = [Bool](repeating: false, count: lists.count)
        var delays: [Int64] = []
        var preceded = 0
        var next = 0
        for request in 0..<trace.count {
            while next < lists.count, lists.positions[next] <= request {
                let user = UInt64(lists.users[next]) << 32
                for item in lists.items(of: next) { last[user | UInt64(lists.objects[item])] = (next, item) }
                next += 1
            }
            let key = UInt64(trace.user(ofRequest: request)) << 32 | UInt64(trace.entries[request])
            guard let (list, item) = last[key] else { continue }
            preceded += 1
            if isOpened[item] { continue }
            isOpened[item] = true
            isListOpened[list] = true
            delays.append(trace.times[request] - lists.times[list])
        }
        listsOpened = Double(isListOpened.count { $0 }) / Double(lists.count)
        itemsOpened = Double(delays.count) / Double(max(1, lists.itemCount))
        requestsShown = Double(preceded) / Double(max(1, trace.count))
        if delays.isEmpty || trace.report.noTimes {
            opening = nil
        } else {
            delays.sort()
            opening = Opening(
                count: delays.count, median: delays[(delays.count - 1) / 2],
                simultaneous: Double(delays.count { $0 == 0 }) / Double(delays.count))
        }
    }
}
