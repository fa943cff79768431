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

@Suite("Predictive prefetcher: limits", .timeLimit(.minutes(20)))
struct PredictiveLimitsTests: PredictiveTests {
    let notes = ScriptedPolicy.Notes()

    /// Announces images "a" to "e", requests "a" at each of these seconds, and returns the names that were
    /// requested from the network.
    private func started(
        at seconds: [Double], conditions: PrefetchConditions = [], budget: String, metered: String? = nil,
        from source: (String) -> Resource
    ) async throws -> (names: [String], statistics: PrefetchStatistics) {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try ManagerFixture(transport, clock: ManualClock(seconds: seconds[0]))
        let budget = try PrefetchBudget(parsing: budget)
        let meteredBudget = try metered.map { try PrefetchBudget(parsing: $0) }
        let predictive = fixture.manager.startPredicting(
            configuration {
                $0.budget = budget
                $0.meteredBudget = meteredBudget ?? $0.meteredBudget
            })
        predictive.announce(["a", "b", "c", "d", "e"].map(source))
        predictive.conditions = conditions
        for second in seconds {
            fixture.clock.set(Int64(second * 1e6))
            _ = try await fixture.manager.image(for: resource("a"))
            await predictive.settle()
        }
        return (started(transport), await predictive.statistics)
    }

    @Test("On a metered network both budgets apply")
    func bothBudgetsApplyOnMeteredNetwork() async throws {
        let times = [100.0, 101, 102, 103]
        for (budget, metered, expected) in [
            ("1/total", nil, ["a", "b"]), ("2/request,2/minute", "1/request", ["a", "b", "c"]),
            ("9/request", "1/request,3/total", ["a", "b", "c", "d"]),
        ] {
            let found = try await started(
                at: times, conditions: [.meteredNetwork], budget: budget, metered: metered, from: { resource($0) })
            #expect(found.names == expected, "\(budget)")
        }
    }

    @Test("After a clock was set back, each later day has its budget")
    func clockSetBackKeepsLaterBudgets() async throws {
        let days = [40.0, 12, 13, 14, 14.5, 15].map { $0 * 86_400 }
        let found = try await started(at: days, budget: "1/day", from: { resource($0) })
        #expect(found.names == ["a", "b", "c", "d", "e"])
    }

    @Test("A local provider's images spend no bytes of the budget")
    func localProviderSpendsNoBytes() async throws {
        let file = try EncodedPicture().file
        let found = try await started(at: [100, 101], budget: "10B/day") {
            $0 == "a" ? resource($0) : Resource(.data(file, cacheKey: $0), user: "u")
        }
        #expect(found.names == ["a"] && found.statistics.bytes == 0 && found.statistics.fetched == 4)
    }

    @Test("An image of unknown size stops at the remaining bytes, and the next start remembers sizes")
    func unknownSizeIsLimitedByRemainingBytes() async throws {
        let file = try EncodedPicture().file
        let large = file + Data(repeating: 0, count: 250_000)
        let (transport, folder) = (FakeTransport(), try TemporaryFolder())
        transport.answer("a", file)
        // More bytes than the budget arrive before the size is known.
        transport.fail("b", .transportClosed, after: large)
        let fixture = try ManagerFixture(transport, folder: folder, clock: ManualClock(seconds: 86_400))
        let budget = PrefetchBudget(perDay: .init(bytes: 200_000))
        let predictive = fixture.manager.startPredicting(configuration { $0.budget = budget })
        predictive.announce(["a", "b", "c", "d"].map { resource($0) })
        _ = try await fixture.manager.image(for: resource("a"))
        await predictive.settle()
        let statistics = await predictive.statistics
        #expect(started(transport) == ["a", "b"])
        #expect(statistics.cancelled + statistics.failed == 1 && statistics.partialBytes >= 200_000)
        // The next day begins with the learned mean size: an image of 250,000 bytes exceeds its budget.
        fixture.clock.advance(by: 86_400)
        let next = fixture.manager.startPredicting(configuration { $0.budget = budget })
        next.announce(["c", "d"].map { resource($0) })
        _ = try await fixture.manager.image(for: resource("a"))
        await next.settle()
        #expect(started(transport) == ["a", "b"])
        #expect(FetchSizes().mean == 100_000)
    }

    @Test("A load is cancelled once its bytes exceed the limit, also those received before it was set")
    func loadIsCancelledAtByteLimit() async {
        for comesFirst in [false, true] {
            let received = ReceivedBytes(after: 10, atMost: 100)
            let load = Task { while !Task.isCancelled { await Task.yield() } }
            if comesFirst { received.note(111) }
            received.cancelBeyondLimit(load)
            received.note(110)
            #expect(load.isCancelled == comesFirst)
            received.note(111)
            #expect(load.isCancelled)
            await load.value
        }
    }

    @Test("Without a manager to fetch through, nothing is spent")
    func missingManagerSpendsNothing() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try ManagerFixture(transport)
        func start() -> LivePrefetcher {
            let other = HalcyonManager(cache: fixture.cache, downloader: fixture.downloader)
            return other.startPredicting(configuration { $0.budget = PrefetchBudget(inTotal: .init(objects: 6)) })
        }
        let predictive = start()
        predictive.announce(["a", "b", "c", "d", "e"].map { resource($0) })
        for _ in 0..<3 {
            fixture.clock.advance(by: 1)
            _ = try await fixture.manager.image(for: resource("a"))
            await predictive.settle()
        }
        await predictive.save()
        let file = PrefetchAccountFile(folder: try #require(fixture.cache.diskStorage).folder.hidden)
        #expect(started(transport) == ["a"])
        #expect(await predictive.statistics.begun == 1)
        var spending = PrefetchSpending(PrefetchBudget(inTotal: .init(objects: 6)))
        if let account = file.read() { spending.resume(account, at: fixture.clock.now) }
        #expect(spending.objectsLeft == 6)
    }

    @Test("The conditions are passed to the next predictor, also after a stop", arguments: [false, true])
    func conditionsPassToNextPredictor(stops: Bool) async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let fixture = try ManagerFixture(transport)
        fixture.manager.startPredicting(configuration()).conditions = [.lowDataMode]
        if stops { fixture.manager.stopPredicting() }
        let second = fixture.manager.startPredicting(configuration())
        second.announce(["a", "b", "c"].map { resource($0) })
        _ = try await fixture.manager.image(for: resource("a"))
        await second.settle()
        #expect(second.conditions == [.lowDataMode] && started(transport) == ["a"])
        second.conditions = []
        _ = try await fixture.manager.image(for: resource("a"))
        await second.settle()
        #expect(started(transport) == ["a", "b", "c"])
    }

    @Test("Starting with keepsAccesses off removes the kept accesses without any access")
    func disablingKeepingRemovesAccesses() async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        let first = fixture.manager.startPredicting(configuration())
        _ = try await fixture.manager.image(for: resource("a"))
        await first.settle()
        fixture.manager.stopPredicting()
        let file = KeptAccessesFile(folder: try #require(fixture.cache.diskStorage).folder.hidden)
        await waitUntil { FileManager.default.fileExists(atPath: file.url.path) }
        let second = fixture.manager.startPredicting(configuration { $0.keepsAccesses = false })
        await waitUntil { !FileManager.default.fileExists(atPath: file.url.path) }
        #expect(await second.statistics.accesses == 0)
    }

    @Test("Clearing the disk while configuration stops removes the kept accesses")
    func clearingDuringStopRemovesAccesses() async throws {
        for round in 0..<200 {
            let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
            let first = fixture.manager.startPredicting(configuration())
            _ = try await fixture.manager.image(for: resource("a"))
            await first.settle()
            let file = KeptAccessesFile(folder: try #require(fixture.cache.diskStorage).folder.hidden)
            async let clear: Void = fixture.cache.clearDiskCache()
            for _ in 0..<(round % 20) { await Task.yield() }
            fixture.manager.stopPredicting()
            await clear
            // The new predictor waits for the stopped one.
            _ = await fixture.manager.startPredicting(configuration()).metrics
            guard FileManager.default.fileExists(atPath: file.url.path) else { continue }
            Issue.record("round \(round)")
            return
        }
    }

    @Test("A plan's fetches are for the user of its access, also after another user's access")
    func planKeepsUserOfItsAccess() async throws {
        let (fetches, fetched) = AsyncStream.makeStream(of: String.self)
        let (gates, gate) = AsyncStream.makeStream(of: Void.self)
        let host = HostDouble(
            capacity: CacheCapacity(memory: 1_000, disk: 0),
            fetch: { resource in
                fetched.yield("\(resource.cacheKey) for \(resource.user ?? "nobody")")
                for await _ in gates { break }
                return .loaded(bytes: 1, cost: 1)
            })
        let template = LoadTemplate(nil, defaults: ImageOptions())
        let prefetcher = LivePrefetcher(
            configuration { $0.budget = .unlimited }, host, options: ImageOptions(), after: nil)
        let inbox = prefetcher.inbox
        inbox.put(.announced(["a", "b", "c"].map { AnnouncedResource(resource($0)) }, template, time: 0))
        func access(by user: String) async {
            inbox.put(
                .accessed(
                    RecordedAccess(time: 0, key: "a", cost: 1, categories: [], user: user, outcome: .memory)))
            await prefetcher.processEvents()
        }
        await access(by: "u")
        await prefetcher.plan()
        await access(by: "v")
        var names: [String] = []
        for await name in fetches {
            names.append(name)
            gate.yield()
            if names.count == 2 { break }
        }
        #expect(names == ["b for u", "c for u"])
    }

    private struct Numbered: ImageProcessor {
        let identifier: String
        func process(_ item: ImageProcessItem, decoder: ImageDecoder) throws -> Bitmap { throw CancellationError() }
    }

    @Test("The inbox passes on load templates for a bounded number of processors")
    func inboxBoundsLoadTemplates() {
        let inbox = EventInbox()
        for number in 0..<EventInbox.mostProcessors + 9 {
            var options = ImageOptions()
            options.processor = Numbered(identifier: "\(number)")
            for _ in 0..<2 { inbox.want(resource("a"), options, defaults: ImageOptions()) }
        }
        let told = inbox.take().events.count { if case .template = $0 { true } else { false } }
        #expect(told == EventInbox.mostProcessors)
    }

    @Test("The hidden folder is accessible to its owner only")
    func hiddenFolderIsPrivateToOwner() async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        let hidden = try #require(fixture.cache.diskStorage).folder.hidden
        let attributes = try FileManager.default.attributesOfItem(atPath: hidden.path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o700)
    }
}
