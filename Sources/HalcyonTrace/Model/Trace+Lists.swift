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

    /// Returns the trace with those requests alone that open an item of the list last shown to their user for the first time since then.
    /// O(items + requests) expected.
    ///
    /// The hit ratio of such a trace is the share of openings that are hits. A log may repeat an opening, such as one for each picture of
    /// a hotel, and have requests for objects that no list showed.
    package func keepingOpenings() -> Trace {
        guard let lists else { return self }
        var shown: [UInt32: Set<UInt32>] = [:]
        var list = 0
        let kept = (0..<count).filter { request in
            while list < lists.count, lists.positions[list] <= request {
                shown[lists.users[list]] = Set(lists.objects[lists.items(of: list)])
                list += 1
            }
            return shown[user(ofRequest: request)]?.remove(entries[request]) != nil
        }
        return part(kept, lists: placed(lists.elements, among: kept))
    }
}
