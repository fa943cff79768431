import HalcyonSupport

extension Trace {
    /// Returns the trace with the lists of each user joined that begin within a time of the first of them, as one list at the time of
    /// that. O(items).
    ///
    /// A log of single exposures, such as those of a feed that shows one video after the other, has no lists of more than one item. If
    /// the app receives a whole page in advance, the items of a page are one list, and a time stands for the page. That the app knows
    /// all of them at the first is then assumed.
    ///
    /// - Parameter time: the time from the first list on; 0 joins nothing.
    package func joiningLists(within time: TimeSpan) -> Trace {
        guard let lists, time.microseconds > 0 else { return self }
        var joined: [ShownLists.Element] = []
        // The list of each user that is being joined, by its place in `joined`.
        var open: [UInt32: Int] = [:]
        for list in lists.elements {
            if let place = open[list.user], list.time - joined[place].time < time.microseconds {
                joined[place].objects += list.objects
                joined[place].categories += list.categories
            } else {
                open[list.user] = joined.count
                joined.append(list)
            }
        }
        return part(Array(0..<count), lists: joined)
    }
}
