import HalcyonEviction
import Testing

@testable import HalcyonLearning
@testable import HalcyonPrefetch

@Suite("The prefetch planner learns successors", .timeLimit(.minutes(20)))
struct PrefetchPlannerTests {
    /// Requests in which `2n + 1` follows `2n` every time, while the first of a pair is drawn at random among 200.
    private static func pairs(_ count: Int) -> [UInt32] {
        var generator = SplitMix64(seed: 1)
        return (0..<count / 2).flatMap { _ -> [UInt32] in
            let first = UInt32(generator.next(below: 200)) * 2
            return [first, first + 1]
        }
    }

    private func access(_ object: UInt32, _ index: Int, categories: CategorySetID = 0, user: UInt32 = 0) -> Access {
        Access(entry: object, requestNumber: index, time: Int64(index) * 1_000_000, categories: categories, user: user)
    }

    @Test(
        "A certain successor is proposed first; a random one is not fetched if that needs an eviction"
    )
    func certainSuccessorIsProposedFirst() throws {
        let planner = PrefetchPlanner()
        var (right, all, afterSecond) = (0, 0, 0)
        for (index, object) in Self.pairs(24_000).enumerated() {
            planner.note(access(object, index), isHit: false)
            var plan = PrefetchPlan()
            let outlook = PrefetchOutlook(limit: 1, room: 0) { _ in false }
            planner.plan(after: access(object, index), outlook: outlook, into: &plan)
            guard index > 16_000 else { continue }
            if object % 2 == 0 {
                all += 1
                if let first = plan.proposals.first, first.object == object + 1, (first.probability ?? 0) > 0.5 {
                    right += 1
                }
            } else {
                afterSecond += plan.proposals.count
            }
        }
        #expect(right * 100 > all * 97, "\(right) of \(all)")
        #expect(afterSecond * 50 < all, "\(afterSecond) fetches although the next object is random")
    }

    @Test("Predicted probabilities agree with the observed requests")
    func predictedProbabilitiesAgreeWithRequests() {
        let planner = PrefetchPlanner()
        for (index, object) in Self.pairs(40_000).enumerated() {
            planner.note(access(object, index), isHit: false)
            var plan = PrefetchPlan()
            planner.plan(
                after: access(object, index), outlook: PrefetchOutlook(limit: 2, room: .max) { _ in false },
                into: &plan)
        }
        let bins = planner.calibration
        let predicted = bins.reduce(0) { $0 + Double($1.count) * $1.predicted }
        let observed = bins.reduce(0) { $0 + Double($1.count) * $1.observed }
        #expect(abs(predicted - observed) < 0.1 * observed, "\(predicted) predicted, \(observed) observed")
        // By chance an object is among the next ten requests once in forty plans; a successor nearly always is.
        for bin in bins where bin.count > 300 {
            #expect(bin.from < 0.15 ? bin.observed < 0.06 : true, "\(bin)")
            #expect(bin.from < 0.6 ? true : bin.observed > 0.9, "\(bin)")
        }
        #expect(bins.contains { $0.count > 300 && $0.from >= 0.6 })
    }

    @Test("A new user gets the popular objects of the requested category")
    func newUserGetsThePopularObjectsOfTheCategory() {
        let planner = PrefetchPlanner()
        planner.define(categorySet: 1, members: [1])
        planner.define(categorySet: 2, members: [2])
        var generator = SplitMix64(seed: 9)
        var index = 0
        var (plans, empty, foreign) = (0, 0, 0)
        // Many users, each with requests for objects of one of two categories.
        for user in UInt32(0)..<1_500 {
            let category = UInt32(1 + generator.next(below: 2))
            for object in (0..<8).map({ UInt32($0) }).shuffled(using: &generator).prefix(5) {
                let access = access(category * 100 + object, index, categories: category, user: user)
                planner.note(access, isHit: false)
                var plan = PrefetchPlan()
                planner.plan(
                    after: access, outlook: PrefetchOutlook(limit: 2, room: .max) { $0 == access.object },
                    into: &plan)
                if user > 1_000 {
                    plans += 1
                    foreign += plan.proposals.contains { $0.object / 100 != category } ? 1 : 0
                    empty += plan.proposals.isEmpty ? 1 : 0
                }
                index += 1
            }
        }
        // The threshold follows the best candidates of other plans. So in a few plans no candidate exceeds it, or one
        // of another category does.
        #expect(
            plans == 2_495 && empty < 25 && foreign < 25, "\(empty) plans are empty, \(foreign) name another category")
    }

    @Test("A prefetch that costs more than it gains is not made")
    func prefetchThatCostsMoreThanItGainsIsNotMade() {
        func fetches(
            _ parameters: PlannerParameters, room: Int, capacity: Int = .max, size: Int = 1, regret: Bool = false,
            isHit: Bool = false
        ) -> Int {
            let planner = PrefetchPlanner(parameters)
            var count = 0
            for (index, object) in Self.pairs(12_000).enumerated() {
                if regret { planner.evicted(object, from: 0) }
                var access = access(object, index)
                access.size = size
                planner.note(access, isHit: isHit)
                var plan = PrefetchPlan()
                let outlook = PrefetchOutlook(limit: 2, room: room, capacity: capacity) { _ in false }
                planner.plan(after: access, outlook: outlook, into: &plan)
                if index > 8_000 { count += plan.proposals.count }
            }
            return count
        }
        var dear = PlannerParameters()
        dear.price = 1
        #expect(fetches(dear, room: 0) == 0 && fetches(dear, room: .max) == 0)
        #expect(fetches(PlannerParameters(), room: 0) > 1_500)
        // Each evicted object is requested at once: the eviction cost is the highest possible.
        #expect(fetches(PlannerParameters(), room: 0, regret: true) == 0)
        // The same if a prefetch has brought it back, since that prefetch gained nothing.
        #expect(fetches(PlannerParameters(), room: 0, regret: true, isHit: true) == 0)
        #expect(fetches(PlannerParameters(), room: 0, isHit: true) > 1_500)
        // With enough room nothing is evicted, and an object larger than the cache is not admitted.
        #expect(fetches(PlannerParameters(), room: 3, size: 3, regret: true) > 1_500)
        #expect(fetches(PlannerParameters(), room: 2, size: 3, regret: true) == 0)
        #expect(fetches(PlannerParameters(), room: 3, capacity: 2, size: 3) == 0)
    }

    @Test("An unused prefetch is likely only while it is the successor of the last object")
    func unusedPrefetchIsLikelyOnlyAsTheNextSuccessor() {
        let planner = PrefetchPlanner()
        var generator = SplitMix64(seed: 2)
        // By whether it is the successor of the last object.
        var (likely, all): ([Bool: Int], [Bool: Int]) = ([:], [:])
        for (index, object) in Self.pairs(24_000).enumerated() {
            // One in ten evicted objects returns, so that there is an eviction cost.
            if index % 10 == 0 { planner.evicted(object, from: 0) } else { planner.evicted(9_999, from: 0) }
            planner.note(access(object, index), isHit: false)
            let follows = object % 2 == 0
            let unused = follows ? object + 1 : UInt32(generator.next(below: 200)) * 2 + 1
            var plan = PrefetchPlan()
            let outlook = PrefetchOutlook(limit: 1, room: 0, unused: [unused]) { $0 == unused }
            planner.plan(after: access(object, index), outlook: outlook, into: &plan)
            guard index > 16_000 else { continue }
            #expect(
                plan.reconsiderations.map(\.object) == [unused] && !plan.proposals.contains { $0.object == unused })
            all[follows, default: 0] += 1
            likely[follows, default: 0] += plan.reconsiderations[0].isLikely ? 1 : 0
        }
        #expect(likely[true, default: 0] * 100 > all[true, default: 0] * 97, "\(likely) of \(all)")
        #expect(likely[false, default: 0] * 10 < all[false, default: 0], "\(likely) of \(all)")
    }

    @Test(
        "An announced object is fetched before its first request, beside more popular objects",
        arguments: [true, false]
    )
    func announcedObjectIsFetchedBeforeItsFirstRequest(hasCategories: Bool) {
        let planner = PrefetchPlanner()
        planner.define(categorySet: 1, members: [1])
        let set: CategorySetID = hasCategories ? 1 : 0
        var generator = SplitMix64(seed: 4)
        var (news, predicted, proposed) = (0, 0, Set<UInt32>())
        for index in 0..<12_000 {
            // Twelve objects are requested all the time. After every tenth request a new one is announced, and the
            // fifth request after that is for it.
            let new = UInt32(100 + index / 10)
            if index % 10 == 0 { planner.announce(AnnouncedObject(object: new, categories: set)) }
            let isNew = index % 10 == 5
            let object = isNew ? new : UInt32(generator.next(below: 12))
            if isNew && index >= 6_000 {
                news += 1
                if proposed.contains(new) { predicted += 1 }
            }
            let access = access(object, index, categories: set, user: UInt32(index / 40))
            planner.note(access, isHit: false)
            var plan = PrefetchPlan()
            planner.plan(
                after: access, outlook: PrefetchOutlook(limit: 2, room: .max) { proposed.contains($0) }, into: &plan)
            proposed.formUnion(plan.proposals.map(\.object).filter { $0 >= 100 })
        }
        #expect(news == 600 && predicted > 500, "\(predicted) of \(news)")
    }

    @Test(
        "An object that is requested before a fetch completes is not fetched", arguments: [0, 5_000_000] as [Int64])
    func objectRequestedBeforeTheFetchEndsIsNotFetched(fetchLatency: Int64) {
        // One second apart, always in the same order: the next object is predicted, and is requested within a second.
        let planner = PrefetchPlanner(context: PrefetchContext(fetchLatency: fetchLatency))
        var (plans, soon) = (0, 0)
        for index in 0..<8_000 {
            let access = access(UInt32(index % 40), index, categories: 0, user: 1)
            planner.note(access, isHit: false)
            var plan = PrefetchPlan()
            planner.plan(after: access, outlook: PrefetchOutlook(limit: 2, room: .max) { _ in false }, into: &plan)
            if index < 4_000 { continue }
            plans += 1
            // Objects that are requested within the time of a fetch.
            if plan.proposals.contains(where: { ($0.object + 40 - access.object) % 40 < 5 }) { soon += 1 }
        }
        if fetchLatency == 0 { #expect(soon == plans) } else { #expect(soon * 20 < plans, "\(soon) of \(plans)") }
    }

    @Test("A planner's file restores its network; a foreign, damaged, older or newer one throws")
    func fileRestoresTheNetworkAndOtherFilesThrow() throws {
        let planner = PrefetchPlanner()
        #expect(planner.snapshot(producer: "1") == nil)
        for (index, object) in Self.pairs(12_000).enumerated() {
            planner.note(access(object, index), isHit: false)
            var plan = PrefetchPlan()
            planner.plan(
                after: access(object, index), outlook: PrefetchOutlook(limit: 2, room: .max) { _ in false },
                into: &plan)
        }
        let learnt = try #require(planner.snapshot(producer: "1.2"))
        let data = try learnt.data()
        #expect(try PretrainedPlanner(parsing: data) == learnt)
        #expect(learnt.producer == "1.2" && learnt.trainingSteps > 100)
        let again = PrefetchPlanner(learnt)
        #expect(again.snapshot(producer: "1.2") == learnt)
        #expect(throws: ModelFileError.self) { try PretrainedPlanner(parsing: data.dropLast(9)) }
        #expect(throws: ModelFileError.self) { try PretrainedModel(parsing: data) }
        var newer = try SafeTensors(parsing: data)
        let known = PretrainedPlanner.formatVersion
        newer.metadata["format_version"] = String(known + 1)
        let bytes = try newer.data()
        #expect(throws: ModelFileError(reason: .newer(version: known + 1, known: known))) {
            try PretrainedPlanner(parsing: bytes)
        }
        // The planners of earlier versions had other inputs.
        newer.metadata["format_version"] = String(known - 1)
        let older = try newer.data()
        #expect(throws: ModelFileError(reason: .older(version: known - 1, oldest: known))) {
            try PretrainedPlanner(parsing: older)
        }
        var other = try SafeTensors(parsing: data)
        other.metadata["result_version"] = "\(Halcyon.resultVersion - 1)"
        let otherBytes = try other.data()
        #expect(
            throws: ModelFileError(
                reason: .otherResults(version: Halcyon.resultVersion - 1, known: Halcyon.resultVersion))
        ) { try PretrainedPlanner(parsing: otherBytes) }
        var old = try SafeTensors(parsing: data)
        old.metadata["training_steps"] = "9223372036854775807"
        let oldBytes = try old.data()
        #expect(throws: ModelFileError.self) { try PretrainedPlanner(parsing: oldBytes) }
        var short = try SafeTensors(parsing: data)
        short.tensors["calibration"]?.shape = [1]
        short.tensors["calibration"]?.values = [1]
        let shortBytes = try short.data()
        #expect(throws: ModelFileError.self) { try PretrainedPlanner(parsing: shortBytes) }
    }
}
