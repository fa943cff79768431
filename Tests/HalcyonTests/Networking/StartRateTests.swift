import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonNetworking

@Suite("A limit of how often requests are sent", .timeLimit(.minutes(20)))
struct StartRateTests {
    private struct Bed {
        let transport = FakeTransport()
        let clock = ManualClock()
        let downloader: ImageDownloader

        init(_ rate: StartRate?) {
            downloader = .test(transport, clock: clock) { $0.startRate = rate }
        }

        func load(_ name: String, _ priority: TransferPriority = .normal) -> DownloadTask {
            var options = DownloadOptions()
            (options.priority, options.callbackQueue) = (priority, .untouch)
            return downloader.download(fake(name), options: options)
        }

        /// Waits until this number of requests wait for their start.
        func waitForWaiting(_ count: Int) async {
            await waitUntil { downloader.loader.starts?.waitingCount == count }
        }
    }

    @Test("A burst starts at once, the rest at the rate, the most urgent first")
    func restStartsAtRate() async throws {
        let bed = Bed(StartRate(perSecond: 2, burst: 3))
        for number in 0..<3 { _ = bed.load("\(number)") }
        await bed.transport.waitForCalls(3)
        let low = bed.load("low", .low)
        await bed.waitForWaiting(1)
        _ = bed.load("first")
        await bed.waitForWaiting(2)
        _ = bed.load("second")
        await bed.waitForWaiting(3)
        for (number, name) in ["first", "second"].enumerated() {
            await bed.clock.waitForSleeper(within: 500_000)
            #expect(bed.transport.requestCount == 3 + number)
            bed.clock.advance(by: 0.5)
            await bed.transport.waitForCalls(4 + number)
            #expect(bed.transport.waiting.last == name)
        }
        low.setPriority(.veryHigh)
        _ = bed.load("last", .high)
        await bed.waitForWaiting(2)
        await bed.clock.waitForSleeper(within: 500_000)
        bed.clock.advance(by: 0.5)
        await bed.transport.waitForCalls(6)
        #expect(bed.transport.waiting.last == "low")
    }

    @Test("Of 300 cells that scroll by, the burst and those that stay send a request")
    func fastScrollSendsFewRequests() async throws {
        let bed = Bed(.scrolling)
        let tasks = (0..<300).map { bed.load("\($0)") }
        await bed.waitForWaiting(275)
        for task in tasks.prefix(290) { task.cancel() }
        await waitUntil { bed.downloader.waiterCount == 10 }
        let starts = try #require(bed.downloader.loader.starts)
        while starts.waitingCount > 0 {
            await waitUntil { starts.waitingCount == 0 || bed.clock.sleeperCount > 0 }
            bed.clock.advance(by: 0.05)
        }
        let staying = Set((290..<300).map { "\($0)" })
        await waitUntil { Set(bed.transport.waiting) == staying }
        #expect(bed.transport.requestCount == 35)
    }

    @Test("Without a rate every request starts at once; after a pause a burst does again")
    func burstReturnsAfterPause() async throws {
        let free = Bed(nil)
        for number in 0..<100 { _ = free.load("\(number)") }
        await free.transport.waitForCalls(100)
        let bed = Bed(StartRate(perSecond: 10, burst: 2))
        _ = (bed.load("a"), bed.load("b"))
        await bed.transport.waitForCalls(2)
        bed.clock.advance(by: 60)
        _ = (bed.load("c"), bed.load("d"))
        await bed.transport.waitForCalls(4)
        _ = bed.load("e")
        await bed.waitForWaiting(1)
        #expect(bed.transport.requestCount == 4)
    }
}
