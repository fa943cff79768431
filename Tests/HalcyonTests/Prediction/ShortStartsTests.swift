import Foundation
import Halcyon
import HalcyonLearning
import HalcyonTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction

@Suite("Short starts, one after the other", .timeLimit(.minutes(20)))
struct ShortStartsTests {
    private let sample: EncodedPicture
    private let browsing: Trace

    /// Creates the requests of browsing users over a day and a half.
    init() throws {
        sample = try EncodedPicture()
        var model = BrowsingModel.shop
        (model.requests, model.users, model.concurrentSessions) = (1_500, 12, 3)
        (model.categories, model.objectsPerCategory) = (8, 20)
        model.requestsPerSecond = 1_000 / 86_400
        browsing = try model.generate(seed: 11, names: false)
    }

    private func resource(_ request: Int) -> Resource {
        let user = browsing.user(ofRequest: request)
        return Resource(
            fake("\(browsing.entries[request])"),
            categories: browsing.categorySets[browsing.categorySet(ofRequest: request)].map { "c\($0)" },
            user: user == Trace.noUser ? nil : "u\(user)")
    }

    /// Requests a range of the trace from an empty cache; returns the prefetcher's statistics and the hits.
    private func start(
        _ requests: Range<Int>, in folder: TemporaryFolder, keepsAccesses: Bool
    ) async throws -> (statistics: PrefetchStatistics, hits: Int) {
        let fixture = try ManagerFixture(
            FakeTransport(answerAtOnce: sample.file), folder: folder,
            memory: .lasting(cost: sample.picture.cacheCost * 30))
        var inMemory = ImageOptions()
        inMemory.cacheMemoryOnly = true
        let manager = HalcyonManager(cache: fixture.cache, downloader: fixture.downloader, defaultOptions: inMemory)
        var configuration = PrefetchConfiguration()
        (configuration.keepsAccesses, configuration.keepsURLs) = (keepsAccesses, true)
        // Twelve users share the cache.
        (configuration.servesOneUser, configuration.budget) = (false, PrefetchBudget(perRequest: .init(objects: 2)))
        let predictive = manager.startPredicting(configuration)
        var hits = 0
        for request in requests {
            fixture.clock.set(19_000 * 86_400_000_000 + browsing.times[request])
            if try await manager.image(for: resource(request)).cacheType.cached { hits += 1 }
            await predictive.settle()
        }
        await predictive.stop()
        #expect(await predictive.modelFault == nil)
        return (await predictive.statistics, hits)
    }

    @Test("Starts of fifty requests have more hits if the accesses of earlier ones are kept")
    func keptAccessesHelpShortStarts() async throws {
        let learnt = try TemporaryFolder()
        _ = try await start(0..<1_000, in: learnt, keepsAccesses: true)
        var came: [(used: Int, hits: Int)] = []
        for keepsAccesses in [false, true] {
            let folder = try TemporaryFolder()
            for name in try FileManager.default.contentsOfDirectory(atPath: learnt.path) {
                try FileManager.default.copyItem(atPath: "\(learnt.path)/\(name)", toPath: "\(folder.path)/\(name)")
            }
            var (used, hits) = (0, 0)
            for first in stride(from: 1_000, to: 1_500, by: 50) {
                let part = try await start(first..<first + 50, in: folder, keepsAccesses: keepsAccesses)
                used += part.statistics.used
                hits += part.hits
            }
            came.append((used, hits))
        }
        // Measured: 0 used and 116 hits without, 165 and 231 with kept accesses.
        #expect(came[1].used > came[0].used + 50)
        #expect(came[1].hits > came[0].hits + 25)
    }
}
