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

@Suite("Predictive prefetcher: what will be wanted is fetched, and only that", .timeLimit(.minutes(20)))
struct PredictivePrefetcherTests: PredictiveTests {
    let notes = ScriptedPolicy.Notes()

    @Test("Off until it is turned on; then two after each access, at the lowest priority, and hits when asked for")
    func turnedOn() async throws {
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

    @Test("What is fetched is processed and serialized in the background, whatever queue others name")
    func queues() async throws {
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

    @Test("What waits is looked at again where something must leave; what is likely no longer leaves first")
    func reconsidered() async throws {
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
        // The third picture makes it full; what is fetched for it takes the place of the policy's own.
        #expect(try await ask("e") == ["plan after 4: []", "1 waits"])
        #expect(held() == ["a", "b", "e"])
        #expect(try await ask("b") == ["plan after 1: [2]"])
        #expect(held() == ["b", "c", "e"])
        // "c" is judged: it goes for "d", though it is protected.
        #expect(try await ask("e") == ["plan after 4: []", "2 waits"])
        #expect(try await ask("d") == ["plan after 3: []"])
        #expect(held() == ["b", "d", "e"])
    }

    @Test("Turned off, nothing more is fetched, what is under way is broken off, and nobody hears of accesses")
    func turnedOff() async throws {
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

    @Test("Managers over one cache share what predicts for it")
    func twoManagers() async throws {
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

    @Test("What was once asked for is known without being announced; what comes from nobody knows where is left alone")
    func seen() async throws {
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

    @Test("The budget holds: objects a request, and bytes a day")
    func budget() async throws {
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
        // Three; one, after which a fifth would be too much; none; none.
        #expect(started(transport) == ["a", "b", "c", "d", "e"])
        fixture.clock.advance(by: 86_400)
        _ = try await fixture.manager.image(for: resource("a"))
        await predictive.settle()
        #expect(started(transport) == names)
    }

    @Test("Low data and a low battery pause it, and a metered network has a budget of its own")
    func conditions() async throws {
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

    @Test("A pause breaks off what is under way")
    func pause() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let (predictive, settled) = try await fetching(fixture.manager, transport)
        predictive.conditions = [.lowBattery]
        await settled.value
        #expect(transport.calls.last == .cancel("b"))
        #expect(await predictive.statistics.cancelled == 1)
    }

    @Test("It waits for a pause, and no longer than patience lasts; accesses that come together have one plan")
    func waits() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try ManagerFixture(transport)
        let predictive = fixture.manager.startPredicting(
            configuration { ($0.quiet, $0.patience) = (.milliseconds(50), .milliseconds(100)) })
        _ = predictive
        var heard: [String] = []
        for round in 0..<3 {
            _ = try await fixture.manager.image(for: resource("a\(round)"))
            // The sweeper of the memory sleeps for longer.
            await fixture.clock.waitForSleeper(within: 50_000)
            // It may take accesses in at its start, too.
            heard += notes.take()
            #expect(!heard.contains { $0.hasPrefix("plan") })
            fixture.clock.advance(by: 0.04)
        }
        // 40 ms after the last, but 120 after the first.
        heard += await heardUntilPlan()
        #expect(heard.count == 4 && heard.last == "plan after 2: []")
    }

    @Test("The policy hears who had to leave, and what was dropped before anybody asked for it")
    func evicted() async throws {
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

    @Test("Each image is fetched as it was last announced, whatever others with its processor are")
    func announcedOptions() async throws {
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

    @Test("Images that are private are fetched, held and used as others are, for loads with and without a user")
    func privateImages() async throws {
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
            #expect(!fixture.cache.isCached(forKey: "b", processorIdentifier: half.processor?.identifier ?? ""))
        }
        #expect(server.visits.count == 4)
    }

    @Test("What is asked for while it is fetched is loaded once, raised, and counted as late")
    func late() async throws {
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

    @Test("What waits to be taken in is bounded, and what is lost is counted")
    func bound() {
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

    @Test("Of what comes from nobody knows where, so many are taken in and no more")
    func boundOfSourceless() async throws {
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
        // Where "0" comes from is known now, which leaves room for one; "z" needs none.
        predictive.requested(resource("0"), ImageOptions())
        predictive.requested(resource("z"), ImageOptions())
        #expect(await heard(["x", "y", "z"]) == (most + 3, 3))
    }

    @Test("Removals leave room for accesses, and a lost access is waited for like any other")
    func boundOfRemovals() throws {
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
