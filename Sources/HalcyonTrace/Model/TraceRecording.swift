import HalcyonAccessLogReading
import HalcyonSupport

/// What an access log has beside the accesses of a trace: the durations of fetches, and the events of prefetching.
///
/// Objects are those of the trace. An object that was prefetched and neither requested nor shown is numbered after them.
public struct TraceRecording: Sendable {
    /// An event among the requests.
    package struct Event: Sendable, Equatable {
        /// The number of requests before it.
        package var position: Int
        /// Its time, in microseconds.
        package var time: Int64
        /// What happened.
        package var kind: RecordedEvent.Kind
        /// The object; `UInt32.max` for none.
        package var object: UInt32
        /// The user, or ``Trace/noUser``.
        package var user: UInt32
        /// The size in bytes of what arrived; 0 if it is not known.
        package var size: Int
        /// Whether the next request has waited for this arrival: its object was fetched for it, and arrived right before.
        package var isJoined = false
    }

    /// The events in the order in which they were recorded.
    package let events: [Event]
    /// The durations of fetches, on demand and ahead.
    package let fetches: MeasuredFetches

    init(events: [Event], fetches: MeasuredFetches) {
        self.events = events
        self.fetches = fetches
    }

    /// Reads what belongs to a trace of a log. O(rows of the log).
    ///
    /// - Parameter trace: the first accesses of the log, in its order.
    init(ofLog path: String, for trace: Trace) throws(AccessLogError) {
        var objects: [ByteName: UInt32] = [:]
        var users: [ByteName: UInt32] = [:]
        let reader = try AccessLogReader(path: path, limit: trace.count)
        var durations: [UInt32: [Int64]] = [:]
        /// Whether each access was fetched for.
        var isFetched: [Bool] = []
        var listCount = 0
        while true {
            let batch = try reader.next()
            for list in reader.lists {
                guard let shown = trace.lists, listCount < shown.count else { break }
                for (place, item) in zip(shown.items(of: listCount), list.items) {
                    objects[ByteName(item.key)] = shown.objects[place]
                }
                if let name = list.user { users[name] = shown.users[listCount] }
                listCount += 1
            }
            if batch.isEmpty { break }
            for access in batch {
                let (object, user) = (trace.entries[isFetched.count], trace.user(ofRequest: isFetched.count))
                guard objects.updateValue(object, forKey: ByteName(access.key)) ?? object == object else {
                    throw AccessLogError(path, .locked, "was changed while it was read; read it again")
                }
                if let name = access.user { users[name] = user }
                if let duration = access.duration { durations[object, default: []].append(duration) }
                isFetched.append(access.outcome == .network)
            }
        }
        var events: [Event] = []
        for event in try reader.events() {
            var object = UInt32.max
            if let key = event.key {
                object = objects[key] ?? UInt32(clamping: objects.count)
                objects[key] = object
            }
            if event.kind == .prefetchArrival, let duration = event.duration {
                durations[object, default: []].append(duration)
            }
            let next = event.position
            let isJoined =
                event.kind == .prefetchArrival && next < trace.count && isFetched[next] && trace.entries[next] == object
            events.append(
                Event(
                    position: next, time: event.time, kind: event.kind, object: object,
                    user: event.user.flatMap { users[$0] } ?? Trace.noUser, size: event.cost,
                    isJoined: isJoined))
        }
        self.events = events
        fetches = MeasuredFetches(durations)
    }
}

/// The measured durations of the fetches of a trace's objects, in microseconds.
public struct MeasuredFetches: Sendable, Equatable {
    /// The median over all fetches; `nil` if none was measured.
    public let median: Int64?
    /// The number of measured fetches.
    public let count: Int
    private let medians: [UInt32: Int64]

    /// Creates the medians of measured durations by object. O(n log n).
    package init(_ durations: [UInt32: [Int64]]) {
        medians = durations.compactMapValues(Self.median)
        let all = durations.values.flatMap { $0 }
        count = all.count
        median = Self.median(all)
    }

    /// Returns the duration of a fetch of an object: the median of its own, and of all if it was never measured. O(1).
    package func duration(ofObject object: UInt32) -> Int64 { medians[object] ?? median ?? 0 }

    /// The lower of the two middle values of an even number.
    private static func median(_ values: [Int64]) -> Int64? {
        values.isEmpty ? nil : values.sorted()[(values.count - 1) / 2]
    }
}
