import HalcyonEviction
import HalcyonLearning
import HalcyonSupport
import Testing

@testable import HalcyonPrefetch

@Suite("The planner on lists", .timeLimit(.minutes(20)))
struct OnListsTests {
    private static let minute: Int64 = 60_000_000

    /// Users with a taste each are shown ten new objects an hour, and open one of the category that they like.
    private struct Feed {
        var planner: PrefetchPlanner
        var random = SplitMix64(seed: 5)
        var nextObject: UInt32 = 0
        var time: Int64 = 0

        init(_ parameters: PlannerParameters, from start: PretrainedPlanner? = nil) {
            planner = start.map { PrefetchPlanner($0, parameters: parameters) } ?? PrefetchPlanner(parameters)
            for set in UInt32(1)...5 { planner.define(categorySet: set, members: [set]) }
        }

        /// Shows a list to a user who likes a category, and returns what was proposed and what is opened.
        mutating func turn(user: UInt32, likes liked: UInt32, limit: Int = 2, room: Int = .max) -> (
            proposed: [UInt32], opened: UInt32
        ) {
            time += 60 * minute
            var items: [ShownList.Item] = []
            for place in 0..<10 {
                items.append(ShownList.Item(object: nextObject, categories: UInt32(place % 5 + 1)))
                nextObject += 1
            }
            for place in stride(from: 9, to: 0, by: -1) { items.swapAt(place, random.next(below: place + 1)) }
            var plan = PrefetchPlan()
            planner.plan(
                on: ShownList(user: user, time: time, items: items),
                outlook: PrefetchOutlook(limit: limit, room: room, holds: { _ in false }), into: &plan)
            let opened = items.filter { $0.categories == liked }[random.next(below: 2)]
            planner.note(
                Access(entry: 0, time: time + 1_000_000, categories: liked, user: user, object: opened.object),
                isHit: plan.proposals.contains { $0.object == opened.object })
            return (plan.proposals.map(\.object), opened.object)
        }

        /// The share of the openings of 100 turns of a user that were proposed.
        mutating func hits(user: UInt32, likes liked: UInt32) -> Double {
            let hits = (0..<100).count { _ in
                let (proposed, opened) = turn(user: user, likes: liked)
                return proposed.contains(opened)
            }
            return Double(hits) / 100
        }

        mutating func train(_ turns: Int = 300) {
            for number in 0..<turns { _ = turn(user: UInt32(number % 5), likes: UInt32(number % 5 + 1)) }
        }
    }

    private func parameters(_ text: [String: String] = [:]) throws -> PlannerParameters {
        let settings = text.sorted { $0.key < $1.key }.map { PolicySpec.Setting($0.key, $0.value) }
        return try PlannerParameters.listsOnly.applying(settings, policy: "lists")
    }

    @Test("Before it has learned from 500 items, the first of a list are fetched")
    func firstItemsAreFetchedAtFirst() throws {
        var feed = Feed(try parameters())
        for _ in 0..<50 {
            let first = feed.nextObject
            let (proposed, _) = feed.turn(user: 1, likes: 2, limit: 10)
            #expect(Set(proposed) == Set(first..<first + 10) && proposed.count == 10)
        }
        // The outcome of the last list is not known yet: 49 lists of 10 items were learned from.
        #expect(!feed.planner.isReady)
        _ = feed.turn(user: 1, likes: 2)
        #expect(feed.planner.isReady)
    }

    @Test("It learns each user's taste: two of ten are enough; without categories it cannot tell")
    func tasteIsLearned() throws {
        var feed = Feed(try parameters(["list-price": "0"]))
        feed.train()
        for user in UInt32(0)..<5 { #expect(feed.hits(user: user, likes: user + 1) > 0.9, "user \(user)") }
        var blind = Feed(try parameters(["list-price": "0", "categories": "off"]))
        blind.train()
        #expect(abs(blind.hits(user: 0, likes: 1) - 0.2) < 0.12)
        // Of users who come in any order, what all of them open says nothing of the next one.
        var pooled = Feed(try parameters(["list-price": "0", "profile": "pooled"]))
        var hits = 0
        for number in 0..<800 {
            let user = UInt32(pooled.random.next(below: 5))
            let (proposed, opened) = pooled.turn(user: user, likes: user + 1)
            if number >= 300, proposed.contains(opened) { hits += 1 }
        }
        #expect(hits < 200, "\(hits) of 500")
    }

    @Test("What it has learned over all users serves another from the first list on that shows its taste")
    func snapshotServesAnotherUser() throws {
        let parameters = try parameters(["list-price": "0"])
        var feed = Feed(parameters)
        feed.train()
        let snapshot = try #require(feed.planner.snapshot(producer: "1.2"))
        let read = try PretrainedPlanner(parsing: try snapshot.data())
        #expect(read == snapshot && read.trainingSteps > 2_000)
        var next = Feed(parameters, from: read)
        for _ in 0..<5 { _ = next.turn(user: 9, likes: 3) }
        #expect(next.hits(user: 9, likes: 3) > 0.9)
        #expect(PrefetchPlanner(parameters).snapshot(producer: "") == nil)
    }

    @Test("Rates of a server take the place of what was seen")
    func announcedRatesAreUsed() throws {
        let parameters = try parameters(["list-price": "0", "profile": "pooled"])
        var feed = Feed(parameters)
        // All users like the same category, so the network learns to trust the pooled profile.
        for number in 0..<300 { _ = feed.turn(user: UInt32(number % 5), likes: 2) }
        let snapshot = try #require(feed.planner.snapshot(producer: ""))
        var device = Feed(parameters, from: snapshot)
        var rates = CategoryRates()
        for number in 0..<500 {
            rates.noteShown([UInt32(number % 5 + 1)], at: 0)
            if number % 5 == 3 { rates.noteOpened([4], at: 0) }
        }
        device.planner.announce(rates)
        #expect(rates.count == 5)
        #expect(device.hits(user: 0, likes: 4) > 0.9, "the device has seen nothing, and the server knows")
    }

    @Test(
        "Counts of a server are learned: the item that all users requested most is fetched; another list replaces them")
    func announcedCountsAreLearned() throws {
        let planner = PrefetchPlanner(try parameters())
        var random = SplitMix64(seed: 9)
        /// Announces counts, shows ten new objects, opens the one with the highest count, and returns whether it was proposed.
        func turn(_ number: Int, isAnnounced: Bool = true) -> Bool {
            let objects = (0..<10).map { UInt32(number * 10 + $0) }
            let popular = objects[random.next(below: 10)]
            if isAnnounced {
                for (rank, object) in objects.enumerated() {
                    planner.announce(AnnouncedObject(object: object, rank: rank, count: object == popular ? 90 : 3))
                }
            }
            var plan = PrefetchPlan()
            planner.plan(
                on: ShownList(
                    user: 0, time: Int64(number) * 60 * Self.minute, items: objects.map { .init(object: $0) }),
                outlook: PrefetchOutlook(limit: 1, room: .max, holds: { _ in false }), into: &plan)
            planner.note(
                Access(entry: 0, time: Int64(number) * 60 * Self.minute + 1, user: 0, object: popular), isHit: false)
            return plan.proposals.first?.object == popular
        }
        for number in 0..<300 { _ = turn(number) }
        #expect((300..<400).count { turn($0) } > 95)
        #expect((400..<500).count { turn($0, isAnnounced: false) } < 30, "the counts are of other objects")
    }

    @Test("An item counts as opened until another list is shown after the idle time, or for a day")
    func lateOpeningsCount() throws {
        for (hours, isOpened) in [(0, true), (9, true), (23, true), (25, false)] {
            let planner = PrefetchPlanner(try parameters())
            var plan = PrefetchPlan()
            let outlook = PrefetchOutlook(limit: 0, room: .max, holds: { _ in false })
            func show(_ object: UInt32, at time: Int64) {
                planner.plan(
                    on: ShownList(user: 0, time: time, items: [ShownList.Item(object: object)]), outlook: outlook,
                    into: &plan)
            }
            show(1, at: 0)
            let opening = Int64(hours) * 60 * Self.minute
            planner.note(Access(entry: 0, time: opening, user: 0, object: 1), isHit: false)
            show(2, at: opening + 40 * Self.minute)
            let outcomes = try #require(planner.lists?.outcomes.list)
            // An outcome decays a little as soon as it is noted.
            let requested = outcomes[OutcomesByProbability.bins...].reduce(0, +).rounded()
            #expect(outcomes[..<OutcomesByProbability.bins].reduce(0, +).rounded() == 1)
            #expect(requested == (isOpened ? 1 : 0), "\(hours) hours")
        }
    }

    @Test("A higher price fetches less, and more of it is opened")
    func priceBoundsWhatIsFetched() throws {
        var last = (fetched: Int.max, share: 0.0)
        for price in ["0", "0.2"] {
            var feed = Feed(try parameters(["list-price": price]))
            feed.train()
            var (fetched, used) = (0, 0)
            for number in 0..<200 {
                let (proposed, opened) = feed.turn(user: UInt32(number % 5), likes: UInt32(number % 5 + 1), limit: 8)
                fetched += proposed.count
                used += proposed.contains(opened) ? 1 : 0
            }
            let share = Double(used) / Double(max(fetched, 1))
            #expect(fetched < last.fetched && share > last.share, "price \(price): \(fetched), \(share)")
            last = (fetched, share)
        }
    }

    @Test("An item that needs an eviction must be worth it: evicted objects that come back raise the cost")
    func evictionCostIsPaid() throws {
        var feed = Feed(try parameters(["list-price": "0.01"]))
        feed.train()
        #expect(!feed.turn(user: 0, likes: 1, room: 0).proposed.isEmpty)
        for number in 0..<3_000 {
            feed.planner.evicted(UInt32(number), from: 0)
            feed.planner.note(
                Access(entry: 0, time: feed.time, categories: 1, user: 0, object: UInt32(number)), isHit: false)
        }
        #expect(feed.turn(user: 0, likes: 1, room: 0).proposed.isEmpty)
        #expect(!feed.turn(user: 0, likes: 1).proposed.isEmpty, "with room nothing is evicted")
    }

    @Test("An object too large for the cache, or beyond the bound of numbers, is not fetched")
    func impossibleItemsAreSkipped() throws {
        let planner = PrefetchPlanner(try parameters())
        var plan = PrefetchPlan()
        let items = [
            ShownList.Item(object: 1, size: 50), ShownList.Item(object: 1 << 24, size: 1),
            ShownList.Item(object: 2, size: 5), ShownList.Item(object: 2, size: 5),
        ]
        planner.plan(
            on: ShownList(user: 0, time: 0, items: items),
            outlook: PrefetchOutlook(limit: 9, room: 10, capacity: 20, holds: { _ in false }), into: &plan)
        #expect(plan.proposals.map(\.object) == [2])
    }

    @Test("A planner of several moments plans after requests as one without lists does")
    func otherMomentsDoNotChange() throws {
        var parameters = PlannerParameters()
        let alone = PrefetchPlanner(parameters)
        parameters.lists = .on
        let both = PrefetchPlanner(parameters)
        for policy in [alone, both] { policy.define(categorySet: 1, members: [3]) }
        var random = SplitMix64(seed: 4)
        for number in 0..<2_000 {
            let object = UInt32(random.next(below: 30))
            let access = Access(
                entry: 0, requestNumber: number, time: Int64(number) * 1_000_000, categories: 1, user: 2,
                object: object)
            var plans = [PrefetchPlan(), PrefetchPlan()]
            for (place, policy) in [alone, both].enumerated() {
                policy.note(access, isHit: false)
                policy.plan(
                    after: access, outlook: PrefetchOutlook(limit: 2, room: 5, holds: { $0 == object }),
                    into: &plans[place])
            }
            #expect(plans[0] == plans[1])
        }
        #expect(both.snapshot(producer: "")?.requests == alone.snapshot(producer: "")?.requests)
    }
}
