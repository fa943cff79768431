import HalcyonEviction
import HalcyonPrefetch
import HalcyonTrace

/// The list of each period of a trace; see ``AnnouncementOptions``. O(requests × log(count)), and bytes for each entry of each list.
struct AnnouncedLists {
    private var lists: [Int: [AnnouncedObject]] = [:]
    private let start: Int64
    private let period: Int64

    init(_ options: AnnouncementOptions, _ trace: Trace) {
        start = trace.times.first ?? 0
        period = options.period
        var counts = [Int](repeating: 0, count: trace.objectCount)
        var (firstTimes, last) = ([Int64?](repeating: nil, count: trace.objectCount), counts)
        var requested: [UInt32] = []
        var current = 0
        let unit = CacheUnit(trace)
        for position in 0..<trace.count {
            let (time, object) = (trace.times[position], trace.entries[position])
            let period = self.period(of: time)
            if period > current {
                lists[current + 1] = requested.sorted {
                    (counts[Int($1)], $0) < (counts[Int($0)], $1)
                }.prefix(options.count).enumerated().map { rank, object in
                    let position = last[Int(object)]
                    return AnnouncedObject(
                        object: object, categories: trace.hasCategories ? trace.categorySet(ofRequest: position) : 0,
                        size: unit.size(ofRequest: position, in: trace), time: firstTimes[Int(object)] ?? 0, rank: rank,
                        count: options.hasCounts ? counts[Int(object)] : nil)
                }
                for object in requested { counts[Int(object)] = 0 }
                requested.removeAll(keepingCapacity: true)
                current = period
            }
            if counts[Int(object)] == 0 { requested.append(object) }
            counts[Int(object)] += 1
            last[Int(object)] = position
            if firstTimes[Int(object)] == nil { firstTimes[Int(object)] = time }
        }
    }

    /// Returns the number of the period that has a time; the first request's is 0. Times before it belong to it, too.
    func period(of time: Int64) -> Int {
        let (passed, overflows) = time.subtractingReportingOverflow(start)
        return overflows ? Int.max - 1 : Int(max(0, passed) / period)
    }

    /// Returns the list that is announced in a period; empty if nothing was requested in the last one.
    subscript(period: Int) -> [AnnouncedObject] { lists[period] ?? [] }
}
