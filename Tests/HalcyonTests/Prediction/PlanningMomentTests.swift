import Foundation
import Halcyon
import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTestSupport
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction

@Suite("Predictive prefetcher: plans between requests", .timeLimit(.minutes(20)))
struct PlanningMomentTests: PredictiveTests {
    let notes = ScriptedPolicy.Notes()
    private static let day = 86_400.0
    /// Noon of a day.
    private static let noon = 100.5 * day

    private func moments(
        released: [UInt32] = [], isReady: Bool = true, _ change: (inout PrefetchConfiguration) -> Void = { _ in }
    ) -> PrefetchConfiguration {
        var configuration = PrefetchConfiguration { [notes] _ in
            MomentPolicy(notes, released: released, isReady: isReady)
        }
        configuration.maxConcurrent = 1
        change(&configuration)
        return configuration
    }

    private func fixture(
        _ transport: FakeTransport, folder: TemporaryFolder? = nil, at seconds: Double = noon,
        triggers: [any CacheTrigger] = []
    ) throws -> ManagerFixture {
        try ManagerFixture(transport, folder: folder, clock: ManualClock(seconds: seconds), triggers: triggers)
    }

    /// Waits until there was a plan at a moment, and returns the notes up to it.
    private func heardUntilMoment() async -> [String] {
        var heard: [String] = []
        while heard.last?.contains(" at ") != true, !Task.isCancelled {
            heard += notes.take()
            await Task.yield()
        }
        return heard
    }

    @Test("A visit ends after 30 idle minutes; day starts follow as the absence doubles")
    func visitEndsAndDaysStartOnTimers() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try fixture(transport)
        let predictive = fixture.manager.startPredicting(moments())
        predictive.announce(["a", "b", "c"].map { resource($0) })
        _ = try await fixture.manager.image(for: resource("a"))
        await predictive.settle()
        fixture.clock.advance(by: 1_200)
        _ = try await fixture.manager.image(for: resource("a"))
        await predictive.settle()
        #expect(notes.take() == ["miss 0 by 0", "plan after 0", "hit 0 by 0", "plan after 0"])
        // The time at which the visit of the first access would have ended.
        fixture.clock.advance(by: 700)
        await predictive.settle()
        #expect(notes.take() == [])
        #expect(started(transport) == ["a"])
        await fixture.clock.waitForSleeper(within: 1_100_000_000)
        fixture.clock.advance(by: 1_100)
        let end = Int(Self.noon) + 3_000
        #expect(await heardUntilMoment() == ["visitEnd of 0 at \(end), limit 4: [1, 2]"])
        await predictive.settle()
        #expect(started(transport) == ["a", "b", "c"])
        for (wait, day) in [(Self.day / 2 - 3_000, 101), (Self.day, 102), (2 * Self.day, 104), (4 * Self.day, 108)] {
            fixture.clock.advance(by: wait - 1)
            await predictive.settle()
            #expect(notes.take() == [])
            await fixture.clock.waitForSleeper(within: 1_000_000)
            fixture.clock.advance(by: 1)
            #expect(await heardUntilMoment() == ["dayStart of 0 at \(day * Int(Self.day)), limit 2: []"])
        }
        let statistics = await predictive.statistics
        #expect(statistics.plansByOccasion == [.visitEnd: 1, .dayStart: 4])
        #expect(statistics.plans == 7 && statistics.proposed == 2 && statistics.fetched == 2)
        #expect(statistics.emptyPlans == [.nothingLikely: 6])
    }

    @Test("Each user has timers, and a moment's plan is for its user")
    func eachUserHasOwnTimers() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try fixture(transport)
        let predictive = fixture.manager.startPredicting(moments { $0.budget = .unlimited })
        func ask(_ user: String?) async throws {
            _ = try await fixture.manager.image(for: Resource(fake("a"), cacheKey: "a", user: user))
            await predictive.settle()
        }
        try await ask("u")
        fixture.clock.advance(by: 600)
        try await ask("v")
        fixture.clock.advance(by: 600)
        try await ask(nil)
        _ = notes.take()
        let noon = Int(Self.noon)
        let most = PrefetchSpending.maxObjectsLeft
        for (user, end) in [("0", noon + 1_800), ("1", noon + 2_400), ("nobody", noon + 3_000)] {
            fixture.clock.set(Int64(end) * 1_000_000)
            #expect(await heardUntilMoment() == ["visitEnd of \(user) at \(end), limit \(most): []"])
            await predictive.settle()
        }
        try await predictive.forget(user: "u")
        fixture.clock.set(Int64(101 * Self.day) * 1_000_000)
        await predictive.settle()
        let midnight = 101 * Int(Self.day)
        #expect(
            notes.take() == [
                "dayStart of 1 at \(midnight), limit \(most): []",
                "dayStart of nobody at \(midnight), limit \(most): []",
            ])
    }

    @Test("Entering the background plans at once, before the state is saved")
    func backgroundPlansBeforeSaving() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let trigger = ManualTrigger()
        let fixture = try fixture(transport, triggers: [trigger])
        let predictive = fixture.manager.startPredicting(moments())
        predictive.announce(["a", "b", "c", "d"].map { resource($0) })
        // Before the first request there is no plan.
        await trigger.enterBackground()
        #expect(notes.take() == [])
        _ = try await fixture.manager.image(for: resource("a"))
        await trigger.enterBackground()
        let noon = Int(Self.noon)
        #expect(notes.take() == ["miss 0 by 0", "plan after 0", "background of 0 at \(noon), limit 2: [1, 2]"])
        let account = PrefetchAccountFile(folder: try #require(fixture.cache.diskStorage).folder.hidden)
        var spending = PrefetchSpending(.unlimited)
        spending.begin(request: fixture.clock.now)
        spending.resume(try #require(account.read()), at: fixture.clock.now)
        #expect(spending.objectsSpent >= 1, "what the plan began is in the account")
        #expect(spending.visit(of: .max)?.lastMoment == fixture.clock.now)
        await predictive.settle()
        #expect(started(transport) == ["a", "b", "c"])
        #expect(await predictive.statistics.plansByOccasion == [.background: 1])
    }

    @Test(
        "The end of a condition that prevented fetches plans at once",
        arguments: [PrefetchConditions.lowDataMode, .lowBattery, .meteredNetwork])
    func endOfConditionPlansAtOnce(condition: PrefetchConditions) async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try fixture(transport)
        let predictive = fixture.manager.startPredicting(
            moments { $0.meteredBudget = PrefetchBudget(inTotal: .init(objects: 0)) })
        predictive.announce(["a", "b"].map { resource($0) })
        // The condition prevented no fetch.
        predictive.conditions = condition
        predictive.conditions = []
        await predictive.settle()
        #expect(notes.take() == [])
        predictive.conditions = condition
        _ = try await fixture.manager.image(for: resource("a"))
        await predictive.settle()
        #expect(notes.take() == ["miss 0 by 0", "plan after 0"])
        predictive.conditions = condition.union(.meteredNetwork)
        predictive.conditions = condition
        await predictive.settle()
        fixture.clock.advance(by: 10)
        predictive.conditions = []
        await predictive.settle()
        let now = Int(Self.noon) + 10
        #expect(notes.take() == ["connected of 0 at \(now), limit 2: [1]"])
        #expect(started(transport) == ["a", "b"])
        let statistics = await predictive.statistics
        #expect(statistics.plansByOccasion == [.connected: 1])
        #expect(statistics.emptyPlans == [condition == .meteredNetwork ? .noBudget : .paused: 1])
    }

    @Test("A pause cancels fetches in flight, and its end plans them again")
    func endOfPauseFetchesAgain() async throws {
        let transport = FakeTransport()
        let fixture = try fixture(transport)
        let predictive = fixture.manager.startPredicting(moments())
        predictive.announce(["a", "b"].map { resource($0) })
        transport.answer("a", try EncodedPicture().file)
        _ = try await fixture.manager.image(for: resource("a"))
        fixture.clock.advance(by: 1_800)
        await transport.waitForCalls(2)
        predictive.conditions = [.lowBattery]
        await predictive.settle()
        _ = notes.take()
        transport.answer("b", try EncodedPicture().file)
        predictive.conditions = []
        await predictive.settle()
        #expect(notes.take().map { $0.prefix(9) } == ["connected"])
        #expect(started(transport) == ["a", "b", "b"])
    }

    @Test(
        "A moment missed while the process was gone is planned once, within the visit's remaining budget",
        arguments: [true, false])
    func missedMomentIsPlannedOnceAfterRestart(isEndPlanned: Bool) async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let folder = try TemporaryFolder()
        let names = ["a", "b", "c", "d", "e"]
        func start(at seconds: Double) throws -> (ManagerFixture, LivePrefetcher) {
            let fixture = try fixture(transport, folder: folder, at: seconds)
            let predictive = fixture.manager.startPredicting(
                moments {
                    $0.keepsURLs = true
                    $0.budget = PrefetchBudget(perRequest: .init(objects: 1))
                })
            return (fixture, predictive)
        }
        do {
            let (fixture, predictive) = try start(at: Self.noon)
            predictive.announce(names.map { resource($0) })
            for _ in 0..<3 {
                _ = try await fixture.manager.image(for: resource("a"))
                await predictive.settle()
                fixture.clock.advance(by: 10)
            }
            if isEndPlanned {
                fixture.clock.advance(by: 1_800)
                await predictive.settle()
                #expect(notes.take().last == "visitEnd of 0 at \(Int(Self.noon) + 1_830), limit 3: [1, 2, 3]")
            } else {
                _ = notes.take()
            }
            await fixture.manager.predictive?.stop()
        }
        let after = Self.noon + (isEndPlanned ? 7_200 : 20 * Self.day)
        for round in 0..<2 {
            let (fixture, predictive) = try start(at: after + Double(round))
            predictive.announce(names.map { resource($0) })
            await predictive.save()
            await fixture.clock.waitForSleeper(within: isEndPlanned || round > 0 ? 8_640_000_000_000 : 50_000)
            fixture.clock.advance(by: 0.05)
            await predictive.settle()
            var heard = notes.take()
            #expect(heard.prefix(3) == ["miss 0 by 0", "hit 0 by 0", "hit 0 by 0"])
            heard.removeFirst(3)
            if isEndPlanned {
                // The policy receives the planned moment to learn from, and proposes nothing.
                #expect(heard == ["visitEnd of 0 at \(Int(Self.noon) + 1_830), limit 0: []"])
            } else if round == 0 {
                #expect(heard == ["dayStart of 0 at \(Int(after)), limit 3: [1, 2, 3]"])
            } else {
                #expect(heard == ["visitEnd of 0 at \(Int(after)), limit 0: []"])
            }
            let statistics = await predictive.statistics
            #expect(statistics.plansByOccasion == (round == 0 && !isEndPlanned ? [.dayStart: 1] : [:]))
            await predictive.stop()
        }
        #expect(started(transport) == ["a", "b", "c", "d"])
    }

    @Test("A visit's end gets two objects per request of the visit, up to the visit's limit")
    func visitEndGetsRemainingBudget() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try fixture(transport)
        let predictive = fixture.manager.startPredicting(
            moments { $0.budget = PrefetchBudget(perRequest: .init(objects: 2), perVisit: .init(objects: 5)) })
        let noon = Int(Self.noon)
        var ends: [String] = []
        var time = 0
        for requests in [1, 2, 3] {
            for _ in 0..<requests {
                _ = try await fixture.manager.image(for: resource("a"))
                await predictive.settle()
            }
            fixture.clock.advance(by: 1_800)
            await predictive.settle()
            time += 1_800
            ends.append("visitEnd of 0 at \(noon + time), limit \([2, 4, 5][requests - 1]): []")
        }
        #expect(notes.take().filter { $0.contains(" at ") } == ends)
        #expect(PrefetchConfiguration().budget.description == "2/request,4/list,20/visit,50MB/day")
    }

    @Test("A moment processed after the user's next access proposes nothing")
    func overtakenMomentProposesNothing() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try fixture(transport)
        let predictive = fixture.manager.startPredicting(moments())
        predictive.announce(["a", "b", "c"].map { resource($0) })
        let access = RecordedAccess(
            time: fixture.clock.now, key: "a", cost: 1, categories: [], user: "u", outcome: .memory)
        predictive.accessed(access)
        await predictive.settle()
        // The process slept, and the access arrives before the timer.
        predictive.accessed(
            RecordedAccess(
                time: fixture.clock.now + 1_800_000_000, key: "b", cost: 1, categories: [], user: "u", outcome: .network
            ))
        await predictive.settle()
        #expect(
            notes.take() == [
                "hit 0 by 0", "plan after 0", "visitEnd of 0 at \(Int(Self.noon) + 1_800), limit 0: []", "miss 1 by 0",
                "plan after 1",
            ])
        let statistics = await predictive.statistics
        #expect(statistics.plansByOccasion == [.visitEnd: 1])
        #expect(statistics.emptyPlans == [.nothingLikely: 2, .neverIdle: 1])
        #expect(started(transport) == [])
    }

    @Test("Learning, no budget and no idle time are separate reasons of empty plans")
    func emptyPlansHaveReasons() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let learning = try fixture(transport)
        let young = learning.manager.startPredicting(moments(isReady: false))
        _ = try await learning.manager.image(for: resource("a"))
        await young.settle()
        learning.clock.advance(by: 1_800)
        await young.settle()
        #expect(await young.statistics.emptyPlans == [.learning: 2])

        let spent = try fixture(transport)
        let poor = spent.manager.startPredicting(moments { $0.budget = PrefetchBudget(inTotal: .init(objects: 0)) })
        _ = try await spent.manager.image(for: resource("a"))
        await poor.settle()
        #expect(await poor.statistics.emptyPlans == [.noBudget: 1])

        let busy = try fixture(transport)
        let never = busy.manager.startPredicting(
            moments { ($0.quiet, $0.patience) = (.milliseconds(50), .milliseconds(100)) })
        _ = notes.take()
        for _ in 0..<3 {
            _ = try await busy.manager.image(for: resource("a"))
            await never.save()
            await busy.clock.waitForSleeper(within: 50_000)
            busy.clock.advance(by: 0.04)
        }
        _ = await heardUntilPlan()
        while await never.statistics.plans == 0, !Task.isCancelled { await Task.yield() }
        #expect(await never.statistics.emptyPlans == [.neverIdle: 1])
    }

    @Test("The residents that a plan releases are evicted first, against the eviction policy's order")
    func releasedResidentsAreEvictedFirst() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport(answerAtOnce: sample.file)
        // Room for three.
        let fixture = try ManagerFixture(
            transport, clock: ManualClock(seconds: Self.noon),
            memory: .lasting(cost: sample.picture.cacheCost * 7 / 2))
        var inMemory = ImageOptions()
        inMemory.cacheMemoryOnly = true
        let predictive = fixture.manager.startPredicting(
            moments(released: [9, 2]) { $0.budget = PrefetchBudget(perRequest: .init(objects: 0)) })
        for name in ["a", "b", "c"] {
            _ = try await fixture.manager.image(for: resource(name), options: inMemory)
            await predictive.settle()
        }
        fixture.clock.advance(by: 1_800)
        await predictive.settle()
        func held() -> [String] { ["a", "b", "c", "d", "e"].filter { fixture.cache.isCached(forKey: $0) } }
        #expect(held() == ["a", "b", "c"])
        _ = try await fixture.manager.image(for: resource("d"), options: inMemory)
        #expect(held() == ["a", "b", "d"], "the last of the three, not the least recently used")
        await predictive.settle()
        #expect(notes.take().contains("evicted 2"))
        _ = try await fixture.manager.image(for: resource("e"), options: inMemory)
        #expect(held() == ["b", "d", "e"], "the plan after the request names none")
    }

    @Test("A cache shared by users has no plans between requests")
    func sharedCacheHasNoPlansBetweenRequests() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try fixture(transport)
        var configuration = PrefetchConfiguration()
        configuration.servesOneUser = false
        let predictive = fixture.manager.startPredicting(configuration)
        _ = try await fixture.manager.image(for: resource("a"))
        await predictive.settle()
        fixture.clock.advance(by: 3 * Self.day)
        await fixture.cache.enterBackground()
        await predictive.settle()
        let statistics = await predictive.statistics
        #expect(statistics.plans == 1 && statistics.plansByOccasion == [:])
        #expect(statistics.emptyPlans == [.learning: 1])
    }

    @Test("Timers are kept for a bounded number of users, those with the latest accesses")
    func timersAreKeptForLatestUsers() {
        let driver = PrefetchDriver(
            MomentPolicy(notes), budget: .unlimited, idleTime: 10, timers: VisitTimers(idleTime: 10),
            maxTimedUsers: LivePrefetcher.maxTimedUsers, servesOneUser: true)
        let count = UInt32(LivePrefetcher.maxTimedUsers + 2)
        for number in 0..<count {
            _ = driver.access(
                Access(entry: 0, time: Int64(number), user: number, object: 0), by: "u\(number)", isHit: false)
        }
        let timed = (0..<count).filter { driver.spending.visit(of: $0) != nil }
        #expect(timed == Array(2..<count))
        #expect(driver.nextMoment == 12)
        #expect(driver.dueMoments(by: 12).map(\.moment) == [PlanningMoment(.visitEnd, user: 2, time: 12)])
        driver.forget("u3", number: 3)
        #expect(driver.nextMoment == 14)
    }
}
