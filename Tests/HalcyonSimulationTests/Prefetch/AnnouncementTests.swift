import HalcyonEviction
import HalcyonPrefetch
import HalcyonSupport
import HalcyonTestSupport
import HalcyonTraceTestSupport
import Testing

@testable import HalcyonSimulation
@testable import HalcyonTrace

@Suite("Announcements to devices", .timeLimit(.minutes(20)))
struct AnnouncementTests {
    private static let hour: Int64 = 3_600_000_000

    @Test("Announcements are parsed, and described with every value")
    func announcementsAreParsed() throws {
        let standard = try AnnouncementOptions(parsing: "popular")
        #expect(standard == AnnouncementOptions())
        #expect("\(standard)" == "popular(count=100,every=1h,counts=off,entry-bytes=64)")
        let given = try AnnouncementOptions(parsing: "popular(count=3, every=90min, counts=on, entry-bytes=10)")
        #expect(given == AnnouncementOptions(count: 3, period: 90 * 60_000_000, hasCounts: true, entryBytes: 10))
        #expect(try AnnouncementOptions(parsing: "\(given)") == given)
        let rates = try AnnouncementOptions(parsing: "rates(every=1d)")
        #expect(rates.content == .rates && "\(rates)" == "rates(every=1d,entry-bytes=64)")
    }

    @Test(
        "Other announcements are refused in one sentence with the range",
        arguments: [
            ("popular(count=0)", "count=0 is no number of entries of a list: give 1 to 10000."),
            ("popular(count=-5)", "count=-5 is no number of entries of a list: give 1 to 10000."),
            ("popular(count=1000000)", "count=1000000 is no number of entries of a list: give 1 to 10000."),
            ("popular(entry-bytes=0)", "entry-bytes=0 is no number of bytes of an entry: give 1 to 10000."),
            ("popular(every=0s)", "every=0s is no period of announcements: give 1s to 366d, such as 1h."),
            ("popular(every=-1h)", "every=-1h is no period of announcements: give 1s to 366d, such as 1h."),
            ("popular(every=9999999d)", "every=9999999d is no period of announcements: give 1s to 366d, such as 1h."),
            ("popular(counts=yes)", "counts=yes is neither on nor off."),
            (
                "popular(count=1,count=2)",
                "The announcements 'popular(count=1,count=2)' state 'count' twice: state it once."
            ),
        ])
    func otherAnnouncementsAreRefused(text: String, sentence: String) {
        #expect(throws: ReplayError.usage(sentence)) { try AnnouncementOptions(parsing: text) }
    }

    @Test(
        "Text of another form names the form",
        arguments: ["", "newest", "popular(", "popular(size=3)", "rates(count=3)"])
    func otherFormsAreRefused(text: String) {
        let sentence =
            "'\(text)' describes no announcements: write popular(count=100, every=1h, counts=off, "
            + "entry-bytes=64) or rates(every=1h, entry-bytes=64)."
        #expect(throws: ReplayError.usage(sentence)) { try AnnouncementOptions(parsing: text) }
    }

    /// Requests of 9 users for 40 objects in 3 category sets, some hours apart.
    private static func trace(count: Int = 2_000, seed: UInt64 = 7) -> Trace {
        var random = SplitMix64(seed: seed)
        var (entries, users, times, sets): ([UInt32], [UInt32], [Int64], [CategorySetID]) = ([], [], [], [])
        var time: Int64 = 5_000
        for number in 0..<count {
            time += number % 50 == 0 ? Int64(random.next(below: 4)) * hour : Int64(random.next(below: 60_000_000))
            let unit = random.nextUnit()
            entries.append(UInt32(40 * unit * unit))
            users.append(UInt32(random.next(below: 9)))
            sets.append(CategorySetID(random.next(below: 3)))
            times.append(time)
        }
        var numbered = CategorySets()
        for set in [[0], [1, 2]] as [[UInt32]] { _ = numbered.number(of: set) }
        return Trace(
            entries: entries, times: TimeColumn(times), users: users, objectSizes: (0..<40).map { UInt64(1 + $0 % 5) },
            requestCategories: sets, categorySets: numbered, categoryCount: 3, userCount: 9, sizeUnit: .bytes)
    }

    @Test(
        "Each list is what all users requested most in the last period, by an independent count",
        arguments: [1, 4, 100])
    func listsAreThoseOfAnIndependentCount(count: Int) {
        let trace = Self.trace()
        let options = AnnouncementOptions(count: count, period: Self.hour, hasCounts: true)
        let lists = AnnouncedLists(options, trace)
        let hours = (0..<trace.count).map { Int((trace.times[$0] - trace.times[0]) / Self.hour) }
        var (compared, empty) = (0, 0)
        for hour in 0...hours[trace.count - 1] {
            let last = (0..<trace.count).filter { hours[$0] == hour - 1 }
            let counts = Dictionary(last.map { (trace.entries[$0], 1) }, uniquingKeysWith: +)
            let expected = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(count)
            let list = lists[hour]
            #expect(list.map(\.object) == expected.map(\.key) && list.map(\.count) == expected.map(\.value))
            #expect(list.map(\.rank) == Array(0..<list.count))
            for entry in list {
                let positions = last.filter { trace.entries[$0] == entry.object }
                #expect(entry.categories == trace.categorySet(ofRequest: positions[positions.count - 1]))
                #expect(entry.size == 1 + Int(entry.object) % 5)
                #expect(entry.time == trace.times[trace.entries.firstIndex(of: entry.object) ?? 0])
            }
            compared += list.count
            empty += list.isEmpty ? 1 : 0
        }
        #expect(compared >= 20 * min(count, 5) && empty > 3)
        #expect(AnnouncedLists(AnnouncementOptions(), trace)[1].allSatisfy { $0.count == nil })
    }

    @Test("The lists of a prefix do not depend on later requests")
    func listsAreCausal() {
        let (trace, options) = (Self.trace(), AnnouncementOptions(count: 5))
        let whole = AnnouncedLists(options, trace)
        let prefix = Self.trace(count: 1_200)
        #expect(trace.entries.prefix(1_200) == prefix.entries[...])
        let lists = AnnouncedLists(options, prefix)
        let last = lists.period(of: prefix.times[prefix.count - 1])
        #expect(last > 10)
        for period in 0...last { #expect(lists[period] == whole[period]) }
        #expect(lists[last + 1].isEmpty && !whole[last + 1].isEmpty, "the last period of the prefix is not complete")
    }

    private func job(
        _ prefetch: String, _ announcements: AnnouncementOptions?, budget: String = "2/request", capacity: Int = 4
    ) throws -> ReplayJob {
        var options = ReplayOptions(announcements: announcements)
        options.prefetch = try PrefetchOptions(
            policy: prefetch, budget: PrefetchBudget(parsing: budget), latency: .fixed(1_000_000))
        return ReplayJob(
            policy: try PolicyCatalogue.standard.policy("lru"), capacity: .number(capacity), mode: .perUser,
            options: options)
    }

    @Test("A list arrives at the first request of a period, is fetched in its order, and costs its bytes")
    func listIsFetchedInItsOrder() throws {
        // In hour 0, object 0 is requested three times, 1 twice and 2 once. In hour 1, user 3 requests 9, then 0, 1 and 2.
        let requests: [(user: UInt32, object: UInt32, minute: Int64)] = [
            (0, 2, 0), (0, 1, 1), (1, 0, 2), (1, 1, 3), (2, 0, 4), (2, 0, 5),
            (3, 3, 61), (3, 0, 62), (3, 1, 63), (3, 2, 64),
        ]
        let trace = Trace(
            entries: requests.map(\.object), times: TimeColumn(requests.map { $0.minute * 60_000_000 }),
            users: requests.map(\.user), objectSizes: [1, 1, 1, 1], userCount: 4)
        let announcements = AnnouncementOptions(count: 2, entryBytes: 10)
        func run(_ announcements: AnnouncementOptions, budget: String = "2/request") throws -> RunResult {
            try job("announced", announcements, budget: budget).run(over: ReplayInput(trace))
        }
        let two = try run(announcements)
        let sent = try #require(two.prefetch?.announcements)
        // Users 0 to 2 have no list: nothing was requested before hour 0. User 3 gets 0 and 1, and misses 2.
        #expect((sent.lists, sent.entries, sent.bytes) == (1, 2, 20))
        #expect(two.prefetch?.fetched == 2 && two.prefetch?.used == 2)
        #expect(two.hits == 1 + 2, "user 2 requests 0 twice")
        // One fetch a request: 0 is there at minute 62, and 1, fetched after that, at minute 63.
        let one = try run(announcements, budget: "1/request")
        #expect(one.hits == 3 && one.prefetch?.fetched == 2)
        let three = try run(AnnouncementOptions(count: 3, entryBytes: 10))
        #expect(three.hits == 4 && three.prefetch?.announcements?.bytes == 30)
        // Objects are counted, so that bytes of lists are no part of the traffic: 10 requests, and a fetch for each hit.
        #expect(three.prefetch?.traffic == 6 + 3)
        // A period of two hours is not complete.
        #expect(try run(AnnouncementOptions(count: 3, period: 2 * Self.hour)).prefetch?.announcements?.lists == 0)
    }

    @Test("With sizes in bytes, the bytes of the lists are part of the traffic; the warm-up is not counted")
    func bytesOfListsAreTraffic() throws {
        var job = try self.job("announced", AnnouncementOptions(count: 5, entryBytes: 7), capacity: 8)
        let result = try job.run(over: ReplayInput(Self.trace()))
        let prefetch = try #require(result.prefetch)
        let sent = try #require(prefetch.announcements)
        #expect(sent.bytes == 7 * sent.entries && sent.lists > 100 && sent.entries <= 5 * sent.lists)
        #expect(prefetch.traffic > result.bytesFetched + sent.bytes)
        job.options.warmup = 0.5
        let half = try #require(try job.run(over: ReplayInput(Self.trace())).prefetch?.announcements)
        #expect(half.lists > 20 && half.lists < sent.lists - 20)
    }

    @Test(
        "Each device has the hits and lists of its part of the users",
        arguments: ["announced", "announced(first=2)", "planner"])
    func partsOfTheUsersAddUp(policy: String) throws {
        var job = try self.job(policy, AnnouncementOptions(count: 5), capacity: 8)
        let input = ReplayInput(Self.trace())
        let whole = try job.run(over: input)
        var (hits, bytes, fetched) = (0, 0, 0)
        for part in ["1/3", "2/3", "3/3"] {
            job.users = try UserPart(parsing: part)
            let result = try job.run(over: input)
            hits += result.hits
            bytes += result.prefetch?.announcements?.bytes ?? 0
            fetched += result.prefetch?.fetched ?? 0
        }
        #expect(hits == whole.hits && bytes == whole.prefetch?.announcements?.bytes && bytes > 0)
        #expect(fetched == whole.prefetch?.fetched && (fetched > 0 || policy == "planner"))
    }

    @Test("A learner of a device serves announced objects with categories that it has not seen")
    func learnersServeAnnouncedObjects() throws {
        var job = try self.job("announced", AnnouncementOptions(count: 5), capacity: 8)
        job.policy = try PolicyCatalogue.standard.policy("learned")
        let result = try job.run(over: ReplayInput(Self.trace()))
        #expect(result.hits > 0 && (result.prefetch?.used ?? 0) > 0)
    }

    @Test("Announcements without a device's prefetch policy, and announced policies without announcements, are refused")
    func announcementsNeedDevices() throws {
        let (trace, announcements) = (Self.trace(count: 100), AnnouncementOptions())
        func sentence(_ change: (inout ReplayJob) throws -> Void) throws -> String {
            var changed = try self.job("announced", announcements)
            try change(&changed)
            let refused = changed
            let error = #expect(throws: ReplayError.self) { try refused.run(over: ReplayInput(trace)) }
            return error?.description ?? ""
        }
        let needsDevice = "Announcements are sent to the prefetch policy of each user's device: "
        #expect(try sentence { $0.mode = .shared }.hasPrefix(needsDevice))
        #expect(try sentence { $0.knowledge = .server }.hasPrefix(needsDevice))
        #expect(try sentence { $0.options.prefetch = nil }.hasPrefix(needsDevice))
        #expect(
            try sentence { $0.options.announcements = nil }
                == "announced fetches announced objects, and nothing is announced: add --per user and --announce "
                + "'popular(count=100, every=1h)'.")
        let job = try self.job("announced", announcements)
        #expect(throws: ReplayError.self) {
            try StreamReplay(path: "t.csv", load: TraceLoadOptions(), jobs: [job])
        }
    }
}
