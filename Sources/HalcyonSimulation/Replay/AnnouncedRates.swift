import HalcyonPrefetch
import HalcyonTrace

/// How often all users of a trace had opened what they were shown before each period, by category; see ``AnnouncementOptions``.
///
/// O(requests + items); some 100 bytes a category in each period that follows one with a request or a list.
struct AnnouncedRates {
    private let start: Int64
    private let period: Int64
    /// The periods with rates, in order.
    private var periods: [(number: Int, rates: CategoryRates)] = []

    init(_ options: AnnouncementOptions, _ trace: Trace) {
        let lists = trace.lists ?? ShownLists()
        start = min(trace.times.first ?? 0, lists.times.first ?? .max)
        period = options.period
        var rates = CategoryRates()
        var (list, current) = (0, 0)
        func members(_ set: UInt32) -> ArraySlice<UInt32> { trace.categorySets[set] }
        for position in 0...trace.count {
            while list < lists.count, lists.positions[list] <= position {
                close(before: lists.times[list], &current, rates)
                for item in lists.items(of: list) {
                    rates.noteShown(
                        members(lists.categories.isEmpty ? 0 : lists.categories[item]), at: lists.times[list])
                }
                list += 1
            }
            guard position < trace.count else { break }
            close(before: trace.times[position], &current, rates)
            rates.noteOpened(members(trace.categorySet(ofRequest: position)), at: trace.times[position])
        }
    }

    private mutating func close(before time: Int64, _ current: inout Int, _ rates: CategoryRates) {
        let number = Int((time - start) / period)
        guard number > current else { return }
        periods.append((current + 1, rates))
        current = number
    }

    /// Returns the rates that a device has received at a time, and the number of their period; `nil` before the first.
    func latest(at time: Int64) -> (period: Int, rates: CategoryRates)? {
        let number = Int((time - start) / period)
        var (low, high) = (0, periods.count)
        while low < high {
            let middle = (low + high) / 2
            if periods[middle].number <= number { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? (periods[low - 1].number, periods[low - 1].rates) : nil
    }
}
