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

@Suite("Accesses are remembered over a restart", .timeLimit(.minutes(20)))
struct RememberedAccessesTests: PredictiveTests {
    /// A prefetch policy and how many requests it needs to learn a cycle.
    struct Predictor: Sendable, CustomTestStringConvertible {
        let name: String
        let requests: Int
        var testDescription: String { name }

        func configuration() -> PrefetchConfiguration {
            var configuration = PrefetchConfiguration()
            configuration.keepsURLs = true
            (configuration.planner.sampling, configuration.planner.labelWindow) = (1, 1)
            if name == "markov" { configuration.policy = PrefetchCatalogue.entry(named: name)?.make }
            (configuration.maxConcurrent, configuration.budget) = (1, PrefetchBudget(perRequest: .init(objects: 1)))
            return configuration
        }
    }

    let notes = ScriptedPolicy.Notes()
    private let names = ["a", "b", "c", "d", "e", "f", "g", "h"]

    /// Starts a process that keeps its images in memory only, with room for three.
    private func start(
        _ transport: FakeTransport, in folder: TemporaryFolder
    ) throws -> (ManagerFixture, HalcyonManager) {
        let fixture = try ManagerFixture(
            transport, folder: folder, memory: .lasting(cost: try EncodedPicture().picture.cacheCost * 7 / 2))
        var inMemory = ImageOptions()
        inMemory.cacheMemoryOnly = true
        let manager = HalcyonManager(
            cache: fixture.cache, downloader: fixture.downloader, defaultOptions: inMemory)
        return (fixture, manager)
    }

    private func kept(_ fixture: ManagerFixture) throws -> KeptAccessesFile {
        KeptAccessesFile(folder: try #require(fixture.cache.diskStorage).folder.hidden)
    }

    @Test(
        "After a restart one access prefetches its successor, with the kept accesses only",
        arguments: [Predictor(name: "markov", requests: 24), Predictor(name: "planner", requests: 400)])
    func keptAccessesPredictAfterRestart(predictor: Predictor) async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let folder = try TemporaryFolder()
        let file: KeptAccessesFile
        do {
            let (fixture, manager) = try start(transport, in: folder)
            file = try kept(fixture)
            let predictive = manager.startPredicting(predictor.configuration())
            for request in 0..<predictor.requests {
                fixture.clock.advance(by: 1)
                _ = try await manager.image(for: resource(names[request % names.count]))
                await predictive.settle()
            }
            #expect(await predictive.statistics.used > 0)
            await predictive.stop()
            #expect(try file.read()?.accesses.count == predictor.requests)
        }
        for isKept in [true, true, false] {
            if !isKept { try file.remove() }
            let before = started(transport).count
            let (fixture, manager) = try start(transport, in: folder)
            fixture.clock.advance(by: 1_000)
            let predictive = manager.startPredicting(predictor.configuration())
            _ = try await manager.image(for: resource("a"))
            await predictive.settle()
            #expect(Array(started(transport)[before...]) == (isKept ? ["a", "b"] : ["a"]))
            #expect(await predictive.statistics.begun == (isKept ? 1 : 0))
            #expect(await predictive.modelFault == nil)
            await predictive.stop()
        }
    }

    @Test("At a restart the policy receives the kept accesses; nothing is counted, spent or fetched")
    func restartReplaysAccessesToPolicy() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let folder = try TemporaryFolder()
        let account: PrefetchAccountFile
        do {
            let fixture = try ManagerFixture(transport, folder: folder)
            account = PrefetchAccountFile(folder: try kept(fixture).folder)
            let predictive = fixture.manager.startPredicting(
                configuration { ($0.budget, $0.keepsURLs) = (.unlimited, true) })
            await fixture.cache.store(try EncodedPicture().picture, forKey: "no source")
            for (name, user) in [("x", "u"), ("y", "v"), ("x", nil)] {
                let asked = Resource(fake(name), cacheKey: name, categories: [name, "all"], user: user)
                _ = try await fixture.manager.image(for: asked)
            }
            await predictive.stop()
            let told = notes.take().filter { !$0.hasPrefix("plan") }
            #expect(
                told == [
                    "miss 0 in 0 by nobody", "set 1 = [0, 1]", "miss 1 in 1 by 0", "set 2 = [2, 1]", "miss 2 in 2 by 1",
                    "hit 1 in 1 by nobody",
                ])
            let file = try #require(try kept(fixture).read())
            #expect(file.users == ["u", "v"] && file.categorySets == [["x", "all"], ["y", "all"]])
            #expect(
                file.objects == [
                    KeptAccesses.Object(key: "no source"), KeptAccesses.Object(key: "x", url: "http://fake/x"),
                    KeptAccesses.Object(key: "y", url: "http://fake/y"),
                ])
            try? FileManager.default.removeItem(at: account.url)
            let calls = transport.calls.count
            let again = fixture.manager.startPredicting(
                configuration { ($0.budget, $0.keepsURLs) = (.unlimited, true) })
            await again.save()
            #expect(notes.take() == told)
            #expect(await again.statistics == PrefetchStatistics())
            #expect(transport.calls.count == calls && account.read() == nil)
            #expect(try kept(fixture).read() == file)
        }
    }

    @Test("A processed image is fetched once a load has shown its processor")
    func processedImageNeedsItsProcessorFirst() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
        let folder = try TemporaryFolder()
        var greyInMemory = ImageOptions(processor: BlackWhiteImageProcessor())
        greyInMemory.cacheMemoryOnly = true
        let grey = greyInMemory
        func ask(_ name: String, _ options: ImageOptions?, _ manager: HalcyonManager) async throws -> [String] {
            let before = started(transport).count
            _ = try await manager.image(for: resource(name), options: options)
            await manager.predictive?.settle()
            return Array(started(transport)[before...])
        }
        do {
            let (_, manager) = try start(transport, in: folder)
            let predictive = manager.startPredicting(
                configuration {
                    ($0.budget, $0.keepsURLs) = (.init(perRequest: .init(objects: 0)), true)
                })
            for name in ["a", "b", "c"] { _ = try await ask(name, name == "a" ? nil : grey, manager) }
            await predictive.stop()
        }
        let (_, manager) = try start(transport, in: folder)
        let predictive = manager.startPredicting(configuration { $0.keepsURLs = true })
        #expect(try await ask("a", nil, manager) == ["a"])
        #expect(try await ask("z", grey, manager) == ["z"])
        #expect(try await ask("a", nil, manager) == ["b", "c"])
        #expect(await predictive.statistics.fetched == 2)
    }

    @Test(
        "Nothing is kept with keepsModel or keepsAccesses off, and kept accesses are removed", arguments: [true, false])
    func disablingKeepingRemovesAccesses(keepsModel: Bool) async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        let file = try kept(fixture)
        var predictive = fixture.manager.startPredicting(configuration())
        _ = try await fixture.manager.image(for: resource("a"))
        await predictive.save()
        #expect(try file.read()?.accesses.count == 1)
        predictive = fixture.manager.startPredicting(
            configuration { ($0.keepsModel, $0.keepsAccesses) = (keepsModel, !keepsModel) })
        _ = try await fixture.manager.image(for: resource("a"))
        await predictive.settle()
        for _ in 0..<2 {
            #expect(!FileManager.default.fileExists(atPath: file.url.path))
            await predictive.stop()
        }
        #expect(await predictive.statistics.modelFaults == 0)
    }

    @Test("Clearing the disk removes the kept accesses, with a running, stopping or stopped predictor")
    func clearingDiskRemovesAccesses() async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        let (manager, file) = (fixture.manager, try kept(fixture))
        for way in 0..<3 {
            let predictive = manager.startPredicting(configuration { $0.keepsURLs = true })
            _ = try await manager.image(for: resource("a"))
            await predictive.save()
            #expect(try file.read()?.accesses.count == 1)
            if way > 0 { manager.stopPredicting() }
            if way > 1 { await predictive.stop() }
            if way == 2 {
                await withCheckedContinuation { done in
                    fixture.cache.clearDiskCache(callbackQueue: .untouch) { done.resume() }
                }
            } else {
                await fixture.cache.clear()
            }
            #expect(try file.read() == nil)
            if way > 0 { continue }
            _ = try await manager.image(for: resource("b"))
            await predictive.stop()
            #expect(try file.read()?.objects.map(\.url) == ["http://fake/b"])
            manager.stopPredicting()
            await fixture.cache.clear()
        }
    }
}
