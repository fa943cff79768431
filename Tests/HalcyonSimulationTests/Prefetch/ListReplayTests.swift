import HalcyonEviction
import HalcyonPrefetch
import HalcyonSupport
import HalcyonTestSupport
import HalcyonTraceTestSupport
import Testing

@testable import HalcyonSimulation
@testable import HalcyonTrace

@Suite("Replays of lists that are shown", .timeLimit(.minutes(20)))
struct ListReplayTests {
    private static let second: Int64 = 1_000_000

    /// Lists of 8 objects of 4 users, and requests some seconds after them: mostly for an object of the user's last list, some for an
    /// object of no list. Objects from 60 on are only shown.
    private static func trace(lists count: Int = 400, seed: UInt64 = 3) -> Trace {
        var random = SplitMix64(seed: seed)
        var (entries, users, times, sets): ([UInt32], [UInt32], [Int64], [UInt32]) = ([], [], [], [])
        var lists = ShownLists(shownOnlySizes: Array(repeating: 1, count: 20))
        // Every object below 60 is requested, in the order of its number.
        for object in UInt32(0)..<60 {
            entries.append(object)
            users.append(object % 4)
            times.append(Int64(object) * second)
            sets.append(object % 3)
        }
        var time: Int64 = 100 * second
        for _ in 0..<count {
            let user = UInt32(random.next(below: 4))
            let objects = (0..<8).map { _ in UInt32(random.next(below: 80)) }
            lists.append(
                position: entries.count, time: time, user: user, objects: objects, categories: objects.map { $0 % 3 })
            for _ in 0..<random.next(below: 3) {
                time += Int64(random.next(below: 4)) * second + second / 2
                let opened =
                    random.next(below: 4) == 0 ? UInt32(random.next(below: 60)) : objects[random.next(below: 8)]
                guard opened < 60 else { continue }
                entries.append(opened)
                users.append(user)
                times.append(time)
                sets.append(opened % 3)
            }
            time += 20 * second
        }
        var numbered = CategorySets()
        for set in [[0], [1]] as [[UInt32]] { _ = numbered.number(of: set) }
        return Trace(
            entries: entries, times: TimeColumn(times), users: users, objectSizes: Array(repeating: 1, count: 60),
            objectCategories: (0..<60).map { UInt32($0) % 3 }, categorySets: numbered, categoryCount: 2, userCount: 4,
            lists: lists)
    }

    private func job(
        _ policy: String, budget: String = "2/list", knowledge: Knowledge = .device, mode: ReplayMode = .perUser,
        latency: Int64 = second, capacity: Int = 1_000, announce: String? = nil, warmup: Int = 0
    ) throws -> ReplayJob {
        let options = ReplayOptions(
            warmup: .requests(warmup), seed: 7,
            prefetch: try PrefetchOptions(
                policy: policy, budget: PrefetchBudget(parsing: budget), latency: .fixed(latency)),
            announcements: try announce.map { try AnnouncementOptions(parsing: $0) })
        var job = ReplayJob(
            policy: try PolicyCatalogue.standard.policy("lru"), capacity: .number(capacity), mode: mode,
            options: options)
        job.knowledge = knowledge
        return job
    }

    private func result(
        _ policy: String, of trace: Trace, budget: String = "2/list", knowledge: Knowledge = .device,
        mode: ReplayMode = .perUser, latency: Int64 = second, capacity: Int = 1_000, announce: String? = nil,
        warmup: Int = 0
    ) throws -> RunResult {
        try job(
            policy, budget: budget, knowledge: knowledge, mode: mode, latency: latency, capacity: capacity,
            announce: announce, warmup: warmup
        ).run(over: ReplayInput(trace))
    }

    /// The hits of caches without a bound, in which the first `count` objects of each list that a cache lacks arrive after `latency`.
    private func expected(
        _ trace: Trace, count: Int, latency: Int64, isShared: Bool = false
    ) throws -> (hits: Int, openings: Int, openingHits: Int, fetched: Int) {
        let lists = try #require(trace.lists)
        var held: [UInt32: [UInt32: Int64]] = [:]
        var lastShown: [UInt32: Set<UInt32>] = [:]
        var (hits, openings, openingHits, fetched, list) = (0, 0, 0, 0, 0)
        for position in 0...trace.count {
            while list < lists.count, lists.positions[list] <= position {
                let (time, user) = (lists.times[list], isShared ? 0 : lists.users[list])
                let objects = lists.items(of: list).map { lists.objects[$0] }
                var left = count
                for object in objects where left > 0 && held[user]?[object] == nil {
                    held[user, default: [:]][object] = time + latency
                    (left, fetched) = (left - 1, fetched + 1)
                }
                lastShown[lists.users[list]] = Set(objects)
                list += 1
            }
            guard position < trace.count else { break }
            let (time, object) = (trace.times[position], trace.entries[position])
            let (owner, user) = (trace.users[position], isShared ? 0 : trace.users[position])
            // A fetch that ends at the time of the request may have ended later.
            let isHit = held[user]?[object].map { $0 < time || $0 == .min } ?? false
            hits += isHit ? 1 : 0
            if lastShown[owner]?.remove(object) != nil {
                openings += 1
                openingHits += isHit ? 1 : 0
            }
            held[user, default: [:]][object] = .min
        }
        return (hits, openings, openingHits, fetched)
    }

    @Test(
        "The first items of each list are fetched, on a device, on a server and into one cache", arguments: [1, 2, 5])
    func firstItemsAreFetched(count: Int) throws {
        let trace = Self.trace()
        for latency in [0, Self.second, 3 * Self.second] {
            let expected = try expected(trace, count: count, latency: latency)
            #expect(expected.openings > 100 && expected.openingHits > 20)
            for knowledge in [Knowledge.device, .server] {
                let result = try result(
                    "list-order", of: trace, budget: "\(count)/list", knowledge: knowledge, latency: latency)
                let lists = try #require(result.prefetch?.lists)
                #expect(result.hits == expected.hits, "\(knowledge), \(latency)")
                #expect(lists.lists == 400 && lists.items == 3_200)
                #expect((lists.openings, lists.hits) == (expected.openings, expected.openingHits))
                #expect((lists.fetched, result.prefetch?.fetched) == (expected.fetched, expected.fetched))
            }
            let shared = try self.expected(trace, count: count, latency: latency, isShared: true)
            let result = try result(
                "list-order", of: trace, budget: "\(count)/list", mode: .shared, latency: latency)
            #expect(result.hits == shared.hits && result.prefetch?.lists?.hits == shared.openingHits)
        }
    }

    @Test("Lists change nothing for policies that do not plan on them")
    func listsChangeNothingElse() throws {
        let trace = Self.trace()
        let without = Trace(
            entries: trace.entries, times: trace.times, users: trace.users, objectSizes: trace.objectSizes,
            objectCategories: trace.objectCategories, categorySets: trace.categorySets,
            categoryCount: trace.categoryCount, userCount: trace.userCount)
        for policy in ["planner", "markov"] {
            let (one, other) = (
                try result(policy, of: trace, budget: "2/request", capacity: 10),
                try result(policy, of: without, budget: "2/request", capacity: 10)
            )
            #expect(one.hits == other.hits && one.prefetch?.fetched == other.prefetch?.fetched)
            #expect(one.prefetch?.lists == nil)
        }
        // Without lists there is nothing to plan on.
        let result = try result("lists", of: without)
        #expect(result.prefetch?.fetched == 0 && result.prefetch?.lists == nil)
    }

    /// Keeps an object if the last list that it received has it.
    private struct OfLastList: CataloguedPolicy {
        static let info = PolicyInfo(
            name: "of-last-list", summary: "what was shown last", source: "a test", traits: [.usesLists, .hasAdmission])
        private var last: Set<UInt32> = []

        init(_ parameters: NoParameters, context: PolicyContext) {}

        mutating func hit(_ access: Access) {}
        mutating func admit(_ access: Access) -> Bool { last.contains(access.object) }
        mutating func insert(_ access: Access) {}
        mutating func victim(for access: Access) -> EntryID { access.entry }
        mutating func remove(_ entry: EntryID) {}
        mutating func shown(_ objects: [UInt32]) { last = Set(objects) }
    }

    @Test("An eviction policy receives each list before the requests that follow it: all of them, or its user's")
    func evictionPolicyReceivesLists() throws {
        let trace = Self.trace()
        let lists = try #require(trace.lists)
        for mode in [ReplayMode.shared, .perUser] {
            var (held, last): ([UInt32: Set<UInt32>], [UInt32: Set<UInt32>]) = ([:], [:])
            var (hits, list) = (0, 0)
            for position in 0..<trace.count {
                while list < lists.count, lists.positions[list] <= position {
                    last[mode == .shared ? 0 : lists.users[list]] = Set(lists.items(of: list).map { lists.objects[$0] })
                    list += 1
                }
                let (cache, object) = (mode == .shared ? 0 : trace.users[position], trace.entries[position])
                if held[cache]?.contains(object) == true {
                    hits += 1
                } else if last[cache]?.contains(object) == true {
                    held[cache, default: []].insert(object)
                }
            }
            #expect(hits > 50)
            let policy = ConfiguredPolicy(OfLastList.self, parameters: NoParameters())
            for knowledge in mode == .shared ? [Knowledge.device] : [.device, .server] {
                var job = ReplayJob(policy: policy, capacity: .number(1_000), mode: mode)
                job.knowledge = knowledge
                #expect(try job.run(over: ReplayInput(trace)).hits == hits, "\(mode), \(knowledge)")
                // With a prefetch policy it receives them, too, but not with one that does not plan on lists.
                job.options.prefetch = try PrefetchOptions(
                    policy: "list-order", budget: PrefetchBudget(parsing: "0/list"), latency: .fixed(0))
                #expect(try job.run(over: ReplayInput(trace)).hits == hits, "prefetching, \(mode), \(knowledge)")
                job.options.prefetch = try PrefetchOptions(
                    policy: "markov", budget: PrefetchBudget(parsing: "0/request"), latency: .fixed(0))
                #expect(try job.run(over: ReplayInput(trace)).hits == 0)
            }
        }
    }

    @Test("A list may spend its own budget, or that of a request; and a day's with it")
    func listsSpendTheirBudget() throws {
        let trace = Self.trace()
        let own = try result("list-order", of: trace, budget: "3/list")
        let asRequest = try result("list-order", of: trace, budget: "3/request")
        #expect(own.prefetch?.fetched == asRequest.prefetch?.fetched && own.hits == asRequest.hits)
        let none = try result("list-order", of: trace, budget: "9/request,0/list")
        #expect(none.prefetch?.fetched == 0 && none.prefetch?.lists?.lists == 400)
        let few = try result("list-order", of: trace, budget: "3/list,10/total")
        #expect(few.prefetch?.fetched == 40, "ten for each of four devices")
    }

    @Test("Lists and openings of the warm-up are learned from and not counted")
    func warmupIsNotCounted() throws {
        let trace = Self.trace()
        let lists = try #require(trace.lists)
        let warmup = 200
        let result = try result("list-order", of: trace, warmup: warmup)
        #expect(result.prefetch?.lists?.lists == lists.positions.count { $0 >= warmup })
    }

    @Test("On a device, a user's lists are planned as in a trace of this user alone")
    func devicesAreAlone() throws {
        let trace = Self.trace()
        let all = try result("lists", of: trace, capacity: 30)
        var (hits, fetched) = (0, 0)
        for number in 1...7 {
            var job = try job("lists", capacity: 30)
            job.users = try UserPart(parsing: "\(number)/7")
            let part = try job.run(over: ReplayInput(trace))
            hits += part.hits
            fetched += part.prefetch?.fetched ?? 0
        }
        #expect(all.hits == hits && all.prefetch?.fetched == fetched && fetched > 100)
    }

    @Test("Rates of a server are those of all lists and requests before the period")
    func ratesAreThoseOfEarlierPeriods() throws {
        let trace = Self.trace()
        let lists = try #require(trace.lists)
        let rates = AnnouncedRates(try AnnouncementOptions(parsing: "rates(every=1min)"), trace)
        let start = trace.times[0]
        #expect(rates.latest(at: start) == nil)
        for time in stride(from: start, through: trace.times[trace.count - 1], by: 7_000_000) {
            let end = start + (time - start) / 60_000_000 * 60_000_000
            var expected = CategoryRates()
            var events: [(time: Int64, order: Int, apply: (inout CategoryRates) -> Void)] = []
            for position in 0..<trace.count where trace.times[position] < end {
                let (set, time) = (trace.categorySet(ofRequest: position), trace.times[position])
                events.append((time, 1, { $0.noteOpened(trace.categorySets[set], at: time) }))
            }
            for list in 0..<lists.count where lists.times[list] < end {
                for item in lists.items(of: list) {
                    let (set, time) = (lists.categories[item], lists.times[list])
                    events.append((time, 0, { $0.noteShown(trace.categorySets[set], at: time) }))
                }
            }
            for event in events.sorted(by: { ($0.time, $0.order) < ($1.time, $1.order) }) { event.apply(&expected) }
            let latest = rates.latest(at: time)?.rates ?? CategoryRates()
            #expect(latest == expected, "\(time)")
        }
    }

    @Test("Announced rates reach each device, count as traffic, and change what is fetched from a pooled profile")
    func ratesReachDevices() throws {
        let trace = Self.trace()
        let policy = "lists(profile=pooled,list-price=0)"
        let with = try result(policy, of: trace, announce: "rates(every=1min,entry-bytes=8)")
        let sent = try #require(with.prefetch?.announcements)
        #expect(sent.announcements == "rates(every=1min,entry-bytes=8)" && sent.entries == 2 * sent.lists)
        #expect(sent.bytes == 8 * sent.entries && sent.lists > 100)
    }
}
