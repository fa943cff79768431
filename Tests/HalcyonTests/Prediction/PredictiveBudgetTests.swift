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

@Suite("Predictive prefetcher: how the budget is spent", .timeLimit(.minutes(20)))
struct PredictiveBudgetTests: PredictiveTests {
    let notes = ScriptedPolicy.Notes()

    @Test("A failed fetch spends the bytes it received", arguments: [0, 0.4, 0.6])
    func failedFetchSpendsReceivedBytes(share: Double) async throws {
        let file = try EncodedPicture().file
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let predictive = fixture.manager.startPredicting(
            configuration { $0.budget = PrefetchBudget(perDay: .init(bytes: file.count * 3 / 2)) })
        predictive.announce(["a", "b", "c", "d"].map { AnnouncedResource(resource($0), bytes: file.count) })
        for name in ["a", "c"] { transport.answer(name, file) }
        let part = Int(Double(file.count) * share)
        transport.fail("b", .transportClosed, after: part == 0 ? nil : file.prefix(part))
        _ = try await fixture.manager.image(for: resource("a"))
        await predictive.settle()
        // With up to half of the file lost, the rest of the budget is enough for another file.
        #expect(started(transport) == (share <= 0.5 ? ["a", "b", "c"] : ["a", "b"]))
        #expect(await predictive.statistics.failed == 1)
        #expect(await predictive.statistics.partialBytes == part)
    }

    @Test("Received bytes are counted per attempt, without those it resumes from")
    func receivedBytesCountPerAttempt() {
        let received = ReceivedBytes(after: 100)
        for count in [150, 400] { received.note(count) }
        #expect(received.total == 300 && received.held == 400)
        for count in [30, 50] { received.note(count) }
        #expect(received.total == 350 && received.held == 50)
    }

    @Test("The budget spent on a day stays spent after restarts")
    func spentBudgetSurvivesRestart() async throws {
        let file = try EncodedPicture().file
        let transport = FakeTransport(answerAtOnce: file)
        let folder = try TemporaryFolder()
        let names = ["a", "b", "c", "d", "e", "f", "g"]
        func fetched(starts: Int = 1, day: Double, damaged: Bool = false) async throws -> [String] {
            let fixture = try ManagerFixture(
                transport, folder: folder, clock: ManualClock(seconds: (12 + day) * 86_400))
            if damaged {
                let hidden = try #require(fixture.cache.diskStorage).folder.hidden
                try Data("no account".utf8).write(to: PrefetchAccountFile(folder: hidden).url)
            }
            for _ in 0..<starts {
                let predictive = fixture.manager.startPredicting(
                    configuration { $0.budget = PrefetchBudget(perDay: .init(bytes: 2 * file.count)) })
                predictive.announce((names + ["h"]).map { AnnouncedResource(resource($0), bytes: file.count) })
                _ = try await fixture.manager.image(for: resource("a"))
                await predictive.settle()
                #expect(await predictive.modelFault == nil)
            }
            return started(transport)
        }
        #expect(try await fetched(starts: 3, day: 0) == ["a", "b", "c"])
        #expect(try await fetched(day: 0.5) == ["a", "b", "c"])
        #expect(try await fetched(day: 1) == ["a", "b", "c", "d", "e"])
        #expect(try await fetched(day: 0) == ["a", "b", "c", "d", "e"])
        #expect(try await fetched(day: 0, damaged: true) == names)
        #expect(try await fetched(day: 0) == names)
    }

    @Test("Fetches in flight when a process ends are spent")
    func fetchesInFlightAtExitAreSpent() async throws {
        let file = try EncodedPicture().file
        let (transport, folder) = (FakeTransport(), try TemporaryFolder())
        // Two fetches that do not end.
        let fixture = try ManagerFixture(transport, folder: folder, clock: ManualClock(seconds: 86_400))
        let predictive = fixture.manager.startPredicting(
            configuration {
                $0.maxConcurrent = 2
                $0.budget = PrefetchBudget(perDay: .init(bytes: 5 * file.count / 2))
            })
        predictive.announce(["a", "b", "c", "d"].map { AnnouncedResource(resource($0), bytes: file.count) })
        transport.answer("a", file)
        _ = try await fixture.manager.image(for: resource("a"))
        let settled = Task { await predictive.settle() }
        await transport.waitForCalls(3)
        // The account is written once both have begun, without a call to save it.
        let account = PrefetchAccountFile(folder: try #require(fixture.cache.diskStorage).folder.hidden)
        func left() -> PrefetchSpending {
            var spending = PrefetchSpending(PrefetchBudget(perDay: .init(bytes: 5 * file.count / 2)))
            if let account = account.read() { spending.resume(account, at: 86_400_000_000) }
            return spending
        }
        await waitUntil { !left().allows(size: file.count) }
        #expect(left().allows(size: file.count / 2))
        for name in ["b", "c"] { transport.answer(name, file) }
        await settled.value
    }

    @Test("A fetch paid before midnight that fails after it refunds the new day nothing")
    func refundAfterMidnightGivesNewDayNothing() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport, clock: ManualClock(seconds: 20 * 86_400 - 1))
        let budget = PrefetchBudget(perDay: .init(bytes: 15_000_000))
        let predictive = fixture.manager.startPredicting(configuration { $0.budget = budget })
        predictive.announce([AnnouncedResource(resource("a")), AnnouncedResource(resource("b"), bytes: 10_000_000)])
        transport.answer("a", try EncodedPicture().file)
        _ = try await fixture.manager.image(for: resource("a"))
        let settled = Task { await predictive.settle() }
        await transport.waitForCalls(2)
        fixture.clock.advance(by: 2)
        _ = try await fixture.manager.image(for: resource("a"))
        await predictive.save()
        transport.fail("b", .transportClosed)
        await settled.value
        let folder = try #require(fixture.cache.diskStorage).folder.hidden
        var spending = PrefetchSpending(budget)
        spending.resume(try #require(PrefetchAccountFile(folder: folder).read()), at: fixture.clock.now)
        spending.begin(request: fixture.clock.now)
        #expect(spending.allows(size: 15_000_000) && !spending.allows(size: 15_000_001))
        #expect(spending.bytesSpent == 0 && spending.objectsSpent == 1)
    }

    @Test("The budget of a metered network applies at once to the current plan")
    func meteredBudgetAppliesToCurrentPlan() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let predictive = fixture.manager.startPredicting(
            configuration {
                $0.budget = .unlimited
                $0.meteredBudget = PrefetchBudget(inTotal: .init(objects: 0))
            })
        let names = ["a", "b", "c", "d", "e"]
        predictive.announce(names.map { resource($0) })
        transport.answer("a", try EncodedPicture().file)
        _ = try await fixture.manager.image(for: resource("a"))
        let settled = Task { await predictive.settle() }
        await transport.waitForCalls(2)
        predictive.conditions = [.meteredNetwork]
        await predictive.save()
        for name in names.dropFirst() { transport.answer(name, try EncodedPicture().file) }
        await settled.value
        #expect(started(transport) == ["a", "b"])
        #expect(await predictive.statistics.proposed == 4)
    }
}
