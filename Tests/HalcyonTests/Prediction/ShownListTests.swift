import Foundation
import Halcyon
import HalcyonAccessLog
import HalcyonCurl
import HalcyonLearning
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction
@testable import HalcyonPrefetch

@Suite("Predictive prefetcher: lists that are shown", .timeLimit(.minutes(20)))
struct ShownListTests: PredictiveTests {
    let notes = ScriptedPolicy.Notes()

    private func lists(_ budget: String = "4/list", _ change: (inout PrefetchConfiguration) -> Void = { _ in }) throws
        -> PrefetchConfiguration
    {
        var configuration = PrefetchConfiguration { [notes] _ in ListPolicy(notes) }
        (configuration.budget, configuration.maxConcurrent) = (try PrefetchBudget(parsing: budget), 1)
        change(&configuration)
        return configuration
    }

    /// Answers the only transfer in flight and waits until it has ended.
    private func answer(_ transport: FakeTransport, _ name: String, _ predictive: LivePrefetcher) async throws {
        let before = await predictive.statistics.fetched
        transport.answer(name, try EncodedPicture().file)
        while !Task.isCancelled, await predictive.statistics.fetched == before { await Task.yield() }
    }

    @Test("The policy receives each list once, with categories, known sizes and its user; images need no announcement")
    func policyReceivesEachList() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try ManagerFixture(transport, clock: ManualClock(seconds: 60))
        let manager = fixture.manager
        let predictive = manager.startPredicting(try lists("2/list"))
        _ = try await manager.image(for: resource("b", "x"))
        await predictive.settle()
        let cost = try EncodedPicture().picture.cacheCost
        manager.show(
            list: [resource("a", "x"), resource("b", "x"), resource("c"), resource("d", "y", "x")], in: "home")
        await predictive.settle()
        // "b" is held; the size of an unknown image is the mean.
        #expect(
            notes.take() == [
                "miss 0 in 1 by 0", "list of 0 at 60, limit 2: 1/1/\(cost) 0/1/\(cost) 2/0/\(cost) 3/2/\(cost)",
            ])
        #expect(started(transport) == ["b", "a", "c"])
        #expect(transport.calls.suffix(2) == [.start("a", .veryLow), .start("c", .veryLow)])
        // A page that is appended is a list of its own.
        manager.append(list: [resource("e")], in: "home")
        await predictive.settle()
        #expect(notes.take() == ["list of 0 at 60, limit 2: 4/0/\(cost)"])
        manager.append(list: [], in: "home")
        manager.show(list: [], in: "home")
        await predictive.settle()
        #expect(notes.take() == [])
        #expect(
            fixture.recorder.lists == [
                RecordedList(
                    time: 60_000_000,
                    items: [("a", ["x"]), ("b", ["x"]), ("c", []), ("d", ["y", "x"])].map {
                        RecordedList.Item(key: $0.0, categories: $0.1)
                    }, user: "u"),
                RecordedList(time: 60_000_000, items: [RecordedList.Item(key: "e")], user: "u"),
            ])
        var expected = ListStatistics()
        (expected.lists, expected.shown, expected.prefetched) = (2, 5, 3)
        #expect(await predictive.statistics.lists == expected)
        #expect(await predictive.statistics.plans == 3)
    }

    @Test(
        "A list is planned once; a list in its place, or hiding it, ends what has not started; fetches in flight go on")
    func listIsPlannedOnceAndReplaced() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let predictive = fixture.manager.startPredicting(try lists())
        func show(_ names: String..., in place: String = "home") async {
            fixture.manager.show(list: names.map { resource($0) }, in: place)
            await predictive.plan()
        }
        await show("a", "b", "c")
        await transport.waitForCalls(1)
        await predictive.plan()
        await predictive.plan()
        #expect(started(transport) == ["a"] && notes.take().count == 1)
        await show("c", "d", "e")
        #expect(transport.calls == [.start("a", .veryLow)])
        try await answer(transport, "a", predictive)
        await transport.waitForCalls(2)
        #expect(started(transport) == ["a", "c"])
        // Another place, or another user's list, is hidden.
        fixture.manager.hide(list: "search")
        fixture.manager.hide(list: "home", user: "v")
        await predictive.processEvents()
        try await answer(transport, "c", predictive)
        await transport.waitForCalls(3)
        #expect(started(transport) == ["a", "c", "d"])
        fixture.manager.hide(list: "home", user: "u")
        await predictive.processEvents()
        try await answer(transport, "d", predictive)
        await predictive.waitUntilIdle()
        #expect(started(transport) == ["a", "c", "d"])
        // An empty list hides its place, too.
        await show("f", "g")
        await transport.waitForCalls(4)
        await show()
        await predictive.processEvents()
        try await answer(transport, "f", predictive)
        await predictive.waitUntilIdle()
        #expect(started(transport) == ["a", "c", "d", "f"])
        #expect(!transport.calls.contains { if case .cancel = $0 { true } else { false } })
    }

    @Test("A list waits for a pause, so that the loads of what is visible come first")
    func listWaitsForAPause() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let predictive = fixture.manager.startPredicting(try lists())
        fixture.manager.show(list: [resource("a"), resource("b")], in: "home")
        await fixture.clock.waitForSleeper(within: 50_000)
        #expect(notes.take() == [] && transport.calls == [])
        let visible = Task { try await fixture.manager.image(for: resource("b")) }
        await waitUntil { started(transport).contains("b") }
        fixture.clock.advance(by: 0.051)
        await waitUntil { started(transport).contains("a") }
        #expect(transport.calls == [.start("b", .normal), .start("a", .veryLow)])
        // A predicted image that becomes visible is as urgent as any other from then on.
        let opened = Task { try await fixture.manager.image(for: resource("a")) }
        await transport.waitForCalls(3)
        #expect(transport.calls.last == .priority("a", .normal))
        for name in ["a", "b"] { transport.answer(name, try EncodedPicture().file) }
        _ = try await (visible.value, opened.value)
        await predictive.settle()
    }

    @Test("Over few connections, what became visible is loaded before everything predicted that has not started")
    func visibleLoadsPrecedeFetchesOfList() async throws {
        let gate = DispatchSemaphore(value: 0)
        let file = Array(try EncodedPicture().file)
        let server = try HostileServer { visit in
            if visit.path.hasPrefix("/p") { gate.wait() }
            visit.answer(file)
        }
        var connections = CurlTransport.Configuration()
        (connections.maximumTransfers, connections.maximumConnectionsPerHost) = (2, 2)
        let fixture = try ManagerFixture(CurlTransport(connections))
        let predictive = fixture.manager.startPredicting(try lists { $0.maxConcurrent = 4 })
        func at(_ path: String) -> Resource { Resource(server.url(path), user: "u") }
        fixture.manager.show(list: (0..<4).map { at("/p\($0)") }, in: "home")
        await predictive.plan()
        // One predicted image takes one of two connections; three wait.
        await waitUntil { server.visits.count == 1 }
        #expect(await predictive.statistics.begun == 4)
        for number in 0..<5 { _ = try await fixture.manager.image(for: at("/v\(number)")) }
        #expect(server.visits.dropFirst().map(\.path) == (0..<5).map { "/v\($0)" })
        for _ in 0..<4 { gate.signal() }
        await predictive.settle()
        let predicted = server.visits.enumerated().filter { $0.element.path.hasPrefix("/p") }
        #expect(predicted.map(\.offset) == [0, 6, 7, 8])
        #expect(Set(predicted.map(\.element.path)) == Set((0..<4).map { "/p\($0)" }))
    }

    @Test("A thumbnail stands for its detail: that is logged, planned and fetched with the options of the call")
    func thumbnailStandsForItsDetail() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try ManagerFixture(transport)
        let predictive = fixture.manager.startPredicting(try lists())
        let black = ImageOptions(processor: BlackWhiteImageProcessor())
        var thumbnails = ["a", "b"].map { resource("\($0)-small", "x") }
        thumbnails[0].detail = Resource(fake("a-large"), cacheKey: "a-large")
        thumbnails[0].categories = ["x", "z"]
        thumbnails[1].detail = Resource(fake("b-large"), cacheKey: "b-large", categories: ["y"], user: "v")
        #expect(thumbnails[0].detail?.cacheKey == "a-large" && thumbnails[0].user == "u")
        fixture.manager.show(list: thumbnails + [resource("c", "x")], in: "home", options: black)
        await predictive.settle()
        #expect(started(transport) == ["a-large", "b-large", "c"])
        let keys = ["a-large", "b-large", "c"].map {
            $0.computedKey(with: BlackWhiteImageProcessor().identifier)
        }
        let list = try #require(fixture.recorder.lists.first)
        #expect(list.items.map(\.key) == keys && list.items.map(\.categories) == [["x", "z"], ["y"], ["x"]])
        #expect(list.user == "u")
        #expect(keys.allSatisfy { fixture.cache.isCached(forKey: $0) })
        var opened = try #require(thumbnails[0].detail)
        opened.user = "u"
        #expect(try await fixture.manager.image(for: opened, options: black).cacheType == .memory)
        await predictive.settle()
        #expect(await predictive.statistics.lists.used == 1)
    }

    @Test("Low Data Mode and a low battery fetch nothing from lists, and a metered network one image a list")
    func conditionsLimitLists() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try ManagerFixture(transport)
        let predictive = fixture.manager.startPredicting(try lists("4/list,7/visit"))
        _ = try await fixture.manager.image(for: resource("opened"))
        await predictive.settle()
        var number = 0
        func show(_ conditions: PrefetchConditions) async -> [String] {
            predictive.conditions = conditions
            number += 1
            let before = started(transport).count
            fixture.manager.show(list: (0..<5).map { resource("\(number)-\($0)") }, in: "home")
            await predictive.settle()
            return Array(started(transport).dropFirst(before))
        }
        #expect(await show(.lowDataMode) == [])
        #expect(await show(.lowBattery) == [])
        #expect(await show(.meteredNetwork) == ["3-0"])
        #expect(await show([]) == ["4-0", "4-1", "4-2", "4-3"])
        // The visit has two of its seven left, then none.
        #expect(await show([]) == ["5-0", "5-1"])
        #expect(await show([]) == [])
        #expect(await predictive.statistics.emptyPlans == [.nothingLikely: 1, .paused: 2, .noBudget: 1])
        #expect(await predictive.statistics.lists.prefetched == 7)
    }

    @Test("Statistics count shown, opened, prefetched, used and wasted images, for each user alone")
    func statisticsCountShownImages() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport(answerAtOnce: sample.file)
        // Room for three pictures.
        let fixture = try ManagerFixture(transport, memory: .lasting(cost: sample.picture.cacheCost * 7 / 2))
        var inMemory = ImageOptions()
        inMemory.cacheMemoryOnly = true
        let predictive = fixture.manager.startPredicting(try lists("2/list"))
        func ask(_ name: String, _ user: String = "u") async throws {
            _ = try await fixture.manager.image(
                for: Resource(fake(name), cacheKey: name, user: user), options: inMemory)
            await predictive.settle()
        }
        fixture.manager.show(list: ["a", "b", "c", "d"].map { resource($0) }, in: "home", options: inMemory)
        await predictive.settle()
        var expected = ListStatistics()
        (expected.lists, expected.shown, expected.prefetched) = (1, 4, 2)
        #expect(await predictive.statistics.lists == expected)
        // Another user opens an image; then the user does, twice; then one that was not prefetched.
        try await ask("b", "v")
        (expected.opened, expected.used) = (0, 1)
        #expect(await predictive.statistics.lists == expected)
        for name in ["b", "b", "c"] { try await ask(name) }
        expected.opened = 2
        #expect(await predictive.statistics.lists == expected)
        // Others push the prefetched "a" out.
        for name in 0..<40 { try await ask("\(name)") }
        #expect(!fixture.cache.isCached(forKey: "a"))
        expected.wasted = 1
        #expect(await predictive.statistics.lists == expected)
        // What is hidden or replaced is no longer opened, an appended page does not hide those before it.
        fixture.manager.append(list: [resource("e")], in: "home", options: inMemory)
        try await ask("d")
        (expected.lists, expected.shown, expected.opened, expected.prefetched) = (2, 5, 3, 3)
        #expect(await predictive.statistics.lists == expected)
        fixture.manager.hide(list: "home")
        try await ask("e")
        expected.used = 2
        #expect(await predictive.statistics.lists == expected)
    }

    @Test("Of a list, the first 1,000 images count; too many pending lists are left out and counted")
    func longListsAndManyListsAreBounded() async throws {
        #expect(RecordedList.longest == ShownList.longest)
        let fixture = try ManagerFixture(FakeTransport())
        let predictive = fixture.manager.startPredicting(try lists("0/list"))
        fixture.manager.show(list: (0..<100_000).map { resource("\($0)") }, in: "home")
        await predictive.settle()
        let statistics = await predictive.statistics.lists
        #expect(statistics.shown == 1_000 && statistics.ignored == 99_000)
        #expect(fixture.recorder.lists.map(\.items.count) == [1_000])
        let inbox = EventInbox()
        let template = LoadTemplate(nil, defaults: ImageOptions())
        let list = ListInPlace(place: "p", resources: [resource("a")], isAppended: false, time: 5, ignored: 0)
        #expect(inbox.put(.shown(list, template)))
        for _ in 0..<300 { #expect(!inbox.put(.shown(list, template))) }
        let (events, lost) = inbox.take()
        #expect(events.count == 256 && lost.lists == 45)
        #expect(!inbox.put(.shown(list, template)))
        inbox.endWait()
        #expect(inbox.put(.shown(list, template)) && inbox.take().events.count == 2)
    }

    @Test("The places that are known, and the images of each, are bounded; the latest are kept")
    func shownPlacesAreBounded() {
        var places = ShownPlaces()
        func opened(_ object: UInt32, _ user: String?) -> Bool { places.opened(object, by: user) }
        for number in 0..<300 { places.show([UInt32(number)], in: "\(number)", to: "u", isAppended: false) }
        let kept = (0..<300).filter { opened(UInt32($0), "u") }
        #expect(kept == Array(44..<300))
        for page in 0..<15 {
            places.show((0..<1_000).map { UInt32(page * 1_000 + $0) }, in: "feed", to: nil, isAppended: true)
        }
        #expect(!opened(4_999, nil) && opened(5_000, nil) && opened(14_999, nil))
        #expect(!opened(5_000, nil) && !opened(5_001, "u"))
        places.show([1, 2], in: "feed", to: "u", isAppended: false)
        places.hide("feed", of: "v")
        #expect(opened(1, "u"))
        places.forget(user: "u")
        #expect(!opened(2, "u") && opened(6_000, nil))
        places.hide("feed", of: nil)
        #expect(!opened(6_001, nil))
    }

    @Test("Forgetting a user removes its lists from prediction and log, and cancels what is fetched for them")
    func forgottenUserHasNoLists() async throws {
        let transport = FakeTransport()
        let folder = try TemporaryFolder()
        var logging = AccessLog.Configuration()
        logging.bounds = .none
        let log = AccessLog(path: "\(folder.path)/access.sqlite", logging)
        let cache = ImageCache<Bitmap>(
            memory: .lasting(cost: 1 << 20),
            disk: DiskStorageConfig(name: "lists", directory: URL(fileURLWithPath: folder.path), cleanInterval: .zero),
            serializer: BitmapSerializer(), clock: ManualClock(), recorder: log, triggers: [])
        let manager = HalcyonManager(cache: cache, downloader: .test(transport))
        let predictive = manager.startPredicting(try lists())
        for user in ["v", "u"] {
            manager.show(list: [Resource(fake("of-\(user)"), cacheKey: "of-\(user)", user: user)], in: "home")
            await predictive.plan()
            await waitUntil { started(transport) == ["of-v"] }
        }
        try await manager.forget(user: "v")
        #expect(transport.calls.contains(.cancel("of-v")))
        try await log.flush()
        let reader = try AccessLogReader(path: log.path)
        _ = try reader.next()
        #expect(reader.lists.map(\.user) == ["u"])
        await waitUntil { started(transport).contains("of-u") }
        transport.answer("of-u", try EncodedPicture().file)
        await predictive.settle()
        try await log.close()
    }

    @Test("Announced lists have ranks and the server's counts; a list of a million is cut and reported")
    func announcedListsHaveRanksAndCounts() async throws {
        let fixture = try ManagerFixture(FakeTransport())
        let predictive = fixture.manager.startPredicting(try lists())
        predictive.announce(list: [
            AnnouncedResource(resource("a", "x"), count: 70), AnnouncedResource(resource("b", "x"), count: -3),
            AnnouncedResource(resource("c")),
        ])
        predictive.announce([resource("d", "x")])
        predictive.announce(list: [AnnouncedResource(resource("b", "x"), count: 9)])
        await predictive.settle()
        #expect(
            notes.take() == [
                "announced 0 in 1, rank 0, count 70", "announced 1 in 1, rank 1, count 0",
                "announced 2 in 0, rank 2, count none", "announced 3 in 1, rank none, count none",
                "announced 1 in 1, rank 0, count 9",
            ])
        predictive.announce(list: Array(repeating: AnnouncedResource(resource("e")), count: 1_000_000))
        await predictive.settle()
        #expect(notes.take().count == 10_000)
        #expect(await predictive.statistics.unknownAnnouncements == 990_000)
    }

    @Test("A server's openings reach the policy by category; a new announcement replaces them")
    func announcedOpeningsReachThePolicy() async throws {
        let fixture = try ManagerFixture(FakeTransport())
        let predictive = fixture.manager.startPredicting(try lists())
        predictive.announce([resource("a", "x")])
        predictive.announce(openings: [
            CategoryOpenings("y", shown: 200, opened: 30), CategoryOpenings("x", shown: 50, opened: -2),
        ])
        predictive.announce(openings: (0..<11_000).map { CategoryOpenings("c\($0)", shown: 1, opened: 1) })
        await predictive.settle()
        let heard = notes.take()
        #expect(
            heard.prefix(2) == [
                "announced 0 in 1, rank none, count none", "rates 0: 0.0/50.0, 1: 30.0/200.0 of 30.0/250.0",
            ])
        #expect(heard.count == 3 && heard[2].hasSuffix(" of 10000.0/10000.0"))
    }

    @Test("The planner receives announced lists in their order, and plans on shown lists from the start")
    func plannerReceivesLists() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try ManagerFixture(transport)
        let predictive = fixture.manager.startPredicting()
        predictive.announce(list: ["a", "b", "c"].map { AnnouncedResource(resource($0, "x"), count: 3) })
        await predictive.settle()
        let planner = try #require(await predictive.announcedObjects())
        #expect(planner == [0, 1, 2])
        // Before it has learned what the user opens, it fetches the first images of a list.
        fixture.manager.show(list: ["z", "y", "x", "w", "v"].map { resource($0, "x") }, in: "home")
        await predictive.settle()
        #expect(Set(started(transport)) == ["z", "y", "x", "w"])
        #expect(await predictive.statistics.lists.prefetched == 4)
    }
}

extension LivePrefetcher {
    /// The objects that its planner knows from announcements, newest first.
    fileprivate func announcedObjects() -> [UInt32]? {
        (driver.policy as? PrefetchPlanner)?.within?.pointee.newest[0].map(\.item).filter { $0 < .max }
    }
}
