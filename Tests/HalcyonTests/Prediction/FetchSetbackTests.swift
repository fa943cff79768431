import Foundation
import Halcyon
import HalcyonLearning
import HalcyonTestSupport
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction

@Suite("Predictive prefetcher: pauses after failed fetches", .timeLimit(.minutes(20)))
struct FetchSetbackTests: PredictiveTests {
    let notes = ScriptedPolicy.Notes()

    private func start(_ transport: FakeTransport) throws -> ManagerFixture {
        let fixture = try ManagerFixture(transport)
        fixture.manager.startPredicting(configuration()).announce([resource("a"), resource("b")])
        transport.answer("a", try EncodedPicture().file)
        return fixture
    }

    @Test(
        "A failed fetch is retried after 30 seconds, then after twice as long each time",
        arguments: [
            nil, 500, 503, 408, 425, 429,
        ])
    func failedFetchIsRetriedAfterDoublingPauses(status: Int?) async throws {
        let transport = FakeTransport()
        let fixture = try start(transport)
        // Every request gets an answer, so that an unexpected fetch does not wait forever.
        func failing(after seconds: Double) async throws -> Int {
            if let status {
                transport.answer("b", Data(), status: status)
            } else {
                transport.fail("b", .connectionLost("The device is offline"))
            }
            return try await asked(fixture, transport, after: seconds)
        }
        for (seconds, count) in [(0, 1), (1, 1), (28.5, 1), (0.5, 2), (59, 2), (1, 3), (119, 3)] {
            #expect(try await failing(after: seconds) == count)
        }
        transport.answer("b", try EncodedPicture().file)
        #expect(try await asked(fixture, transport, after: 1) == 4)
        #expect(fixture.cache.isCached(forKey: "b"))
        // The success resets the pause: the next failure counts as the first.
        await fixture.cache.clear()
        transport.answer("a", try EncodedPicture().file)
        #expect(try await failing(after: 1) == 5)
        #expect(try await failing(after: 30) == 6)
        #expect(await fixture.manager.predictive?.statistics.failed == 5)
    }

    @Test("A fetch that the server rejects is not retried", arguments: [400, 401, 403, 404, 410, 451])
    func rejectedFetchIsNotRetried(status: Int) async throws {
        let transport = FakeTransport()
        let fixture = try start(transport)
        for seconds in [0, 1, 30, 3_600, 20_000] as [Double] {
            transport.answer("b", Data(), status: status)
            #expect(try await asked(fixture, transport, after: seconds) == 1)
        }
        #expect(await fixture.manager.predictive?.statistics.begun == 1)
    }

    @Test("A rejected image is fetched again after a load of it succeeded")
    func loadEndsRejectionPause() async throws {
        let transport = FakeTransport()
        let fixture = try start(transport)
        transport.answer("b", Data(), status: 404)
        #expect(try await asked(fixture, transport, after: 0) == 1)
        transport.answer("b", try EncodedPicture().file)
        _ = try await fixture.manager.image(for: resource("b"))
        #expect(try await asked(fixture, transport, after: 1) == 2)
        await fixture.cache.clear()
        for name in ["a", "b"] { transport.answer(name, try EncodedPicture().file) }
        #expect(try await asked(fixture, transport, after: 1) == 3)
    }

    @Test("A cancelled fetch is retried at once")
    func cancelledFetchIsRetriedAtOnce() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let (predictive, settled) = try await fetching(fixture.manager, transport)
        predictive.conditions = [.lowBattery]
        await settled.value
        predictive.conditions = []
        transport.answer("b", try EncodedPicture().file)
        #expect(try await asked(fixture, transport, after: 0) == 2)
        #expect(fixture.cache.isCached(forKey: "b"))
    }

    @Test("The pause is bounded, and a clock that is set back ends it")
    func pauseIsBoundedAndEndsWithClockSetBack() throws {
        var setback: FetchSetback?
        for _ in 0..<100 { setback = FetchSetback(.failed, after: setback, at: 7) }
        let last = try #require(setback)
        func isInForce(_ time: Int64) -> Bool { last.isInForce(at: time, bytes: nil, CacheCapacity()) }
        let longest = FetchSetback.shortest << FetchSetback.doublings
        #expect(longest == 15_360_000_000)
        #expect(isInForce(7) && isInForce(6 + longest) && !isInForce(7 + longest))
        #expect(!isInForce(6))
    }

    @Test("An image counts as rejected only if all its sources reject it")
    func rejectionNeedsAllSources() {
        let (gone, busy) = (
            NetworkError.invalidStatusCode(404, url: fake("b")), NetworkError.invalidStatusCode(503, url: fake("b"))
        )
        func failed(_ errors: [NetworkError]) -> ManagerError {
            .allSourcesFailed(errors.map { SourceFailure(source: resource("b").source, error: $0) })
        }
        #expect(failed([gone, .authenticationRefused(url: fake("b"))]).isRejection)
        #expect(!failed([gone, busy]).isRejection && !failed([.cannotConnect("No")]).isRejection)
    }
}
