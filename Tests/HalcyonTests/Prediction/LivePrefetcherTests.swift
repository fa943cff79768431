import Foundation
import Halcyon
import HalcyonLearning
import HalcyonPrefetch
import HalcyonTestSupport
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction

@Suite("Predictive prefetcher: fetches predicted images", .timeLimit(.minutes(20)))
struct LivePrefetcherTests: PredictiveTests {
    let notes = ScriptedPolicy.Notes()

    @Test("Off by default; enabled, it fetches two images per access at the lowest priority")
    func enabledPrefetcherFetchesAfterAccess() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try ManagerFixture(transport)
        let manager = fixture.manager
        #expect(manager.predictive == nil && !fixture.cache.hub.isObserved)
        _ = try await manager.image(for: resource("z"))
        let predictive = manager.startPredicting(configuration())
        #expect(manager.predictive === predictive)
        predictive.announce(["a", "b", "c", "d"].map { resource($0, "x", $0) })
        _ = try await manager.image(for: resource("a", "x", "a"))
        await predictive.settle()
        #expect(
            transport.calls == [
                .start("z", .normal), .start("a", .normal), .start("b", .veryLow), .start("c", .veryLow),
            ])
        #expect(
            notes.take() == [
                "set 1 = [0, 1]", "announced 0 in 1 costs 1", "set 2 = [0, 2]", "announced 1 in 2 costs 1",
                "set 3 = [0, 3]", "announced 2 in 3 costs 1", "set 4 = [0, 4]", "announced 3 in 4 costs 1",
                "miss 0 in 1 by 0", "plan after 0: [1, 2]",
            ])
        #expect(try await manager.image(for: resource("b", "x", "b")).cacheType == .memory)
        await predictive.settle()
        #expect(notes.take() == ["hit 1 in 2 by 0", "plan after 1: [3]"])
        #expect(fixture.recorder.all.map(\.outcome) == [.network, .network, .prefetched])
        let bytes = try EncodedPicture().file.count
        var expected = PrefetchStatistics()
        (expected.accesses, expected.plans, expected.proposed, expected.begun) = (2, 2, 3, 3)
        (expected.fetched, expected.used, expected.bytes) = (3, 1, 3 * bytes)
        #expect(await predictive.statistics == expected)
        #expect(await predictive.statistics.precision == 1)
    }

    @Test("Fetched images are processed and serialized on a background queue, despite other options")
    func prefetchesProcessInBackground() async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        let (processor, serializer) = (QueueProcessor(), QueueSerializer())
        let options = ImageOptions {
            ($0.processor, $0.serializer) = (processor, serializer)
            $0.processingQueue = .dispatch(.global(qos: .userInteractive))
        }
        let manager = HalcyonManager(
            cache: fixture.cache, downloader: fixture.downloader, defaultOptions: options)
        let predictive = manager.startPredicting(configuration())
        predictive.announce(["a", "b", "c"].map { resource($0) }, options: options)
        _ = try await manager.image(for: resource("a"), options: options)
        await predictive.settle()
        let labels = processor.labels.withLock { $0 }
        #expect(labels.map { $0.contains("background") } == [false, true, true], "\(labels)")
        await waitUntil { serializer.labels.withLock { $0.count } == 3 }
        let queues = serializer.labels.withLock { $0.sorted() }
        #expect(queues.count { $0.contains("background") } == 2 && queues.contains("halcyon.disk.owner"), "\(queues)")
    }

    @Test("Unused prefetches are reconsidered when the cache is full, and unlikely ones are evicted first")
    func unlikelyPrefetchIsEvictedFirst() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport(answerAtOnce: sample.file)
        // Room for three pictures.
        let fixture = try ManagerFixture(transport, memory: .lasting(cost: sample.picture.cacheCost * 7 / 2))
        var configuration = PrefetchConfiguration { [notes] _ in ScriptedPolicy(notes, reach: 1, unlikely: [2]) }
        configuration.maxConcurrent = 1
        let predictive = fixture.manager.startPredicting(configuration)
        var inMemory = ImageOptions()
        inMemory.cacheMemoryOnly = true
        predictive.announce(["a", "b", "c", "d", "e"].map { resource($0) }, options: inMemory)
        func ask(_ name: String) async throws -> [String] {
            _ = try await fixture.manager.image(for: resource(name), options: inMemory)
            await predictive.settle()
            return notes.take().filter { $0.hasSuffix("waits") || $0.hasPrefix("plan") }
        }
        func held() -> [String] { ["a", "b", "c", "d", "e"].filter { fixture.cache.isCached(forKey: $0) } }
        _ = try await ask("a")
        #expect(held() == ["a", "b"])
        // The third picture fills the memory.
        #expect(try await ask("e") == ["plan after 4: []", "1 waits"])
        #expect(held() == ["a", "b", "e"])
        #expect(try await ask("b") == ["plan after 1: [2]"])
        #expect(held() == ["b", "c", "e"])
        // "c" is declared unlikely: it is evicted for "d", although it is protected.
        #expect(try await ask("e") == ["plan after 4: []", "2 waits"])
        #expect(try await ask("d") == ["plan after 3: []"])
        #expect(held() == ["b", "d", "e"])
    }

    @Test("Stopping cancels the fetches in flight and removes the observer")
    func stoppingCancelsFetchesAndObserver() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let (predictive, settled) = try await fetching(fixture.manager, transport)
        fixture.manager.stopPredicting()
        await settled.value
        await predictive.stop()
        #expect(fixture.manager.predictive == nil && !fixture.cache.hub.isObserved)
        #expect(transport.calls.last == .cancel("b"))
        #expect(await predictive.statistics.cancelled == 1)
        #expect(!fixture.cache.isCached(forKey: "b"))
    }

    @Test("Managers of one cache share its predictor")
    func managersOfOneCacheShareThePredictor() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try ManagerFixture(transport)
        let first = fixture.manager
        let second = HalcyonManager(cache: fixture.cache, downloader: fixture.downloader)
        let old = first.startPredicting(configuration())
        let predictive = second.startPredicting(configuration())
        #expect(first.predictive === predictive && second.predictive === predictive && old !== predictive)
        for (name, manager) in [("a", second), ("b", first)] { _ = try await manager.image(for: resource(name)) }
        await predictive.settle()
        await fixture.cache.clear()
        _ = try await second.image(for: resource("a"))
        await predictive.settle()
        #expect(started(transport) == ["a", "b", "a", "b"])
        first.stopPredicting()
        #expect(first.predictive == nil && second.predictive == nil && !fixture.cache.hub.isObserved)
    }

    @Test("Requested images need no announcement; images without a source are never fetched")
    func requestedImageNeedsNoAnnouncement() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try ManagerFixture(transport)
        let predictive = fixture.manager.startPredicting(configuration())
        let picture = try EncodedPicture().picture
        await fixture.cache.store(picture, forKey: "no source")
        for name in ["a", "b", "c"] { _ = try await fixture.manager.image(for: resource(name)) }
        await predictive.settle()
        await fixture.cache.clear()
        await fixture.cache.store(picture, forKey: "no source")
        await predictive.settle()
        #expect(started(transport) == ["a", "b", "c", "a", "b"])
        #expect(await predictive.statistics.fetched == 2)
    }

    @Test("The budget limits objects per request and bytes per day")
    func budgetLimitsObjectsAndBytes() async throws {
        let file = try EncodedPicture().file
        let transport = FakeTransport(answerAtOnce: file)
        let fixture = try ManagerFixture(transport)
        let predictive = fixture.manager.startPredicting(
            configuration {
                $0.budget = PrefetchBudget(
                    perRequest: .init(objects: 3), perDay: .init(bytes: file.count * 4 + file.count / 2))
            })
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"]
        predictive.announce(names.map { AnnouncedResource(resource($0), bytes: file.count) })
        for _ in 0..<4 {
            _ = try await fixture.manager.image(for: resource("a"))
            await predictive.settle()
        }
        // Three fetches; then one, after which a fifth would exceed the bytes; then none.
        #expect(started(transport) == ["a", "b", "c", "d", "e"])
        fixture.clock.advance(by: 86_400)
        _ = try await fixture.manager.image(for: resource("a"))
        await predictive.settle()
        #expect(started(transport) == names)
    }

    @Test("Low Data Mode and a low battery pause prefetching; a metered network has its own budget")
    func lowDataAndLowBatteryPause() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try ManagerFixture(transport)
        let predictive = fixture.manager.startPredicting(configuration())
        predictive.announce(["a", "b", "c", "d", "e", "f"].map { resource($0) })
        for (conditions, fetched) in [
            ([.lowDataMode], 0), ([.lowBattery, .meteredNetwork], 0), ([.meteredNetwork], 1), ([], 3),
        ] as [(PrefetchConditions, Int)] {
            predictive.conditions = conditions
            _ = try await fixture.manager.image(for: resource("a"))
            await predictive.settle()
            #expect(await predictive.statistics.fetched == fetched)
        }
        #expect(predictive.conditions == [])
    }

    @Test("A pause cancels the fetch in flight")
    func pauseCancelsFetch() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let (predictive, settled) = try await fetching(fixture.manager, transport)
        predictive.conditions = [.lowBattery]
        await settled.value
        #expect(transport.calls.last == .cancel("b"))
        #expect(await predictive.statistics.cancelled == 1)
    }

    @Test("A plan waits for a quiet time, at most for its patience; accesses together have one plan")
    func quietTimeOrPatiencePlansOnce() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try ManagerFixture(transport)
        let predictive = fixture.manager.startPredicting(
            configuration { ($0.quiet, $0.patience) = (.milliseconds(50), .milliseconds(100)) })
        _ = predictive
        var heard: [String] = []
        for round in 0..<3 {
            _ = try await fixture.manager.image(for: resource("a\(round)"))
            // The memory's sweeper sleeps for longer.
            await fixture.clock.waitForSleeper(within: 50_000)
            // The predictor may process accesses at its start, too.
            heard += notes.take()
            #expect(!heard.contains { $0.hasPrefix("plan") })
            fixture.clock.advance(by: 0.04)
        }
        // 40 ms after the last access and 120 ms after the first.
        heard += await heardUntilPlan()
        #expect(heard.count == 4 && heard.last == "plan after 2: []")
    }

    @Test("The policy receives evicted objects and prefetches dropped before their first use")
    func policyReceivesEvictedAndDropped() async throws {
        let sample = try EncodedPicture()
        let transport = FakeTransport(answerAtOnce: sample.file)
        // Room for two.
        let fixture = try ManagerFixture(
            transport, memory: .lasting(cost: sample.picture.cacheCost * 5 / 2))
        var options = ImageOptions()
        options.cacheMemoryOnly = true
        let predictive = fixture.manager.startPredicting(
            configuration { $0.budget = PrefetchBudget(perRequest: .init(objects: 1), inTotal: .init(objects: 1)) })
        predictive.announce(["a", "b"].map { resource($0) }, options: options)
        for name in ["a", "c", "d"] {
            _ = try await fixture.manager.image(for: resource(name), options: options)
            await predictive.settle()
        }
        #expect(
            notes.take().filter { !$0.hasPrefix("announced") } == [
                "miss 0 in 0 by 0", "plan after 0: [1]", "miss 2 in 0 by 0", "evicted 0", "plan after 2: []",
                "miss 3 in 0 by 0", "evicted 2", "plan after 3: []",
            ])
        // "b" is protected for some requests.
        #expect(fixture.cache.isCached(forKey: "b"))
        for round in 0..<20 {
            _ = try await fixture.manager.image(for: resource("e\(round)"), options: options)
            await predictive.settle()
        }
        #expect(!fixture.cache.isCached(forKey: "b"))
        let told = notes.take()
        #expect(!told.contains("evicted 1") && told.count { $0 == "dropped 1" } == 1)
        let statistics = await predictive.statistics
        #expect(statistics.dropped == 1 && statistics.droppedBytes == sample.file.count && statistics.used == 0)
        #expect(statistics.precision == 0)
    }

    @Test("Each image is fetched with the options of its last announcement")
    func lastAnnouncementSetsOptions() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try ManagerFixture(transport)
        let predictive = fixture.manager.startPredicting(configuration { $0.budget = .unlimited })
        var inMemory = ImageOptions()
        inMemory.cacheMemoryOnly = true
        predictive.announce(["a", "b", "c"].map { resource($0) })
        predictive.announce(["c", "d"].map { resource($0) }, options: inMemory)
        _ = try await fixture.manager.image(for: resource("a"))
        await predictive.settle()
        #expect(started(transport) == ["a", "b", "c", "d"])
        fixture.cache.clearMemoryCache()
        #expect(["a", "b", "c", "d"].filter { fixture.cache.isCached(forKey: $0) } == ["a", "b"])
    }

    @Test("Private images are fetched and used like others, with and without a user")
    func privateImageIsFetchedAndUsed() async throws {
        let file = try EncodedPicture().file
        let server = try HostileServer { visit in
            visit.answer(Array(file), status: "200 OK", headers: ["Cache-Control: private, max-age=60"])
        }
        for user in ["u@v", nil] {
            let fixture = try ManagerFixture()
            let predictive = fixture.manager.startPredicting(configuration())
            func resource(_ name: String) -> Resource { Resource(server.url("/\(name)"), cacheKey: name, user: user) }
            let half = ImageOptions(processor: DownsamplingImageProcessor(size: PixelSize(width: 4, height: 3)))
            predictive.announce(["a", "b"].map { resource($0) }, options: half)
            _ = try await fixture.manager.image(for: resource("a"), options: half)
            await predictive.settle()
            #expect(try await fixture.manager.image(for: resource("b"), options: half).cacheType == .memory)
            await predictive.settle()
            let statistics = await predictive.statistics
            #expect(statistics.accesses == 2 && statistics.unknownAccesses == 0)
            #expect(statistics.fetched == 1 && statistics.used == 1 && statistics.dropped == 0)
            #expect(
                !fixture.cache.isCached(forKey: EntryKey("b", processorIdentifier: half.processor?.identifier ?? "")))
        }
        #expect(server.visits.count == 4)
    }

    @Test("A request during its fetch joins it, raises its priority and counts as late")
    func lateRequestJoinsFetch() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let (predictive, settled) = try await fetching(fixture.manager, transport)
        let second = Task { try await fixture.manager.image(for: resource("b")) }
        await transport.waitForCalls(3)
        #expect(transport.calls.suffix(2) == [.start("b", .veryLow), .priority("b", .normal)])
        transport.answer("b", try EncodedPicture().file)
        _ = try await second.value
        await settled.value
        await predictive.settle()
        let statistics = await predictive.statistics
        #expect(statistics.fetched == 1 && statistics.usedLate == 1)
        #expect(statistics.used == 0 && statistics.dropped == 0 && statistics.precision == 1)
    }

    @Test("The inbox is bounded and counts lost events")
    func inboxIsBoundedAndCountsLosses() {
        let inbox = EventInbox()
        let access = RecordedAccess(time: 0, key: "a", cost: 1, categories: [], user: nil, outcome: .memory)
        #expect(inbox.put(.accessed(access)))
        for _ in 1..<EventInbox.bound + 7 { #expect(!inbox.put(.accessed(access))) }
        inbox.put(.conditions([.lowBattery]))
        let (events, lost) = inbox.take()
        #expect(events.count == EventInbox.bound + 1 && lost == EventInbox.Lost(accesses: 7))
        #expect(!inbox.put(.accessed(access)))
        inbox.endWait()
        #expect(inbox.put(.accessed(access)))
    }

    @Test("Objects without a source are bounded; those with one are not")
    func sourcelessObjectsAreBounded() async throws {
        let fixture = try ManagerFixture(FakeTransport())
        let predictive = fixture.manager.startPredicting(configuration())
        func heard(_ keys: [String]) async -> (accesses: Int, unknown: Int) {
            for key in keys {
                predictive.accessed(
                    RecordedAccess(time: 0, key: key, cost: 1, categories: [], user: nil, outcome: .memory))
            }
            await predictive.save()
            let statistics = await predictive.statistics
            return (statistics.accesses, statistics.unknownAccesses)
        }
        let most = ObjectCatalogue.mostSourceless
        #expect(await heard((0..<most).map { "\($0)" }) == (most, 0))
        #expect(await heard(["x", "y", "0"]) == (most + 1, 2))
        // "0" has a source now, which leaves room for one object; "z" has a source and needs no room.
        predictive.requested(resource("0"), ImageOptions())
        predictive.requested(resource("z"), ImageOptions())
        #expect(await heard(["x", "y", "z"]) == (most + 3, 3))
    }

    @Test("Removals leave room for accesses, and a lost access counts for the wait")
    func removalsLeaveRoomForAccesses() throws {
        let inbox = EventInbox()
        let removal = Removal(key: "a", cost: 1, categories: [], reason: .evicted)
        for _ in 0..<EventInbox.bound { inbox.put(.removed(.memory, removal)) }
        let access = RecordedAccess(time: 5, key: "a", cost: 1, categories: [], user: nil, outcome: .memory)
        #expect(inbox.put(.accessed(access)))
        for _ in 0..<EventInbox.bound { inbox.put(.wanted(resource("a"), processor: "")) }
        inbox.endWait()
        #expect(inbox.put(.accessed(access)))
        #expect(try #require(inbox.waiting) == (5, 5))
        let (events, lost) = inbox.take()
        #expect(events.count == EventInbox.bound)
        #expect(lost == EventInbox.Lost(accesses: 1, removals: EventInbox.bound / 2))
    }
}
