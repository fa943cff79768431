import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("The handle of a load for code that awaits", .timeLimit(.minutes(20)))
struct ImageTaskTests {
    @Test("A task has the image, the progress of its transfer, and its end for all who wait")
    func taskHasImageProgressAndEnd() async throws {
        let (sample, transport) = (try EncodedPicture(), FakeTransport())
        let fixture = try ManagerFixture(transport)
        let told = Mutex<[Int]>([])
        let options = ImageOptions {
            $0.onProgress = { progress in told.withLock { $0.append(progress.received) } }
            $0.callbackQueue = .untouch
        }
        let task = fixture.manager.imageTask(with: fake("a"), options: options)
        #expect(task.status == .running)
        let waiting = (0..<3).map { _ in Task { try await task.image } }
        let progress = Task {
            var seen: [DownloadProgress] = []
            for await one in task.progress { seen.append(one) }
            return seen
        }
        await transport.waitForCalls(1)
        transport.begin("a", sample.file.prefix(20), of: sample.file.count)
        await waitUntil { told.withLock { $0 } == [20] }
        // Streams begin with what has happened last.
        var events = task.events.makeAsyncIterator()
        guard case .progress(let first)? = await events.next() else {
            Issue.record("no progress")
            return
        }
        #expect(first == DownloadProgress(received: 20, expected: sample.file.count))
        transport.finish("a", sample.file.dropFirst(20))
        for wait in waiting { #expect(try await wait.value == sample.picture) }
        #expect(task.status == .completed)
        #expect(try await task.result.cacheType == .none)
        #expect(await progress.value.allSatisfy { $0.expected == sample.file.count })
        var last: ImageTask.Event?
        while let event = await events.next() { last = event }
        guard case .ended(.success(let result))? = last else {
            Issue.record("\(String(describing: last))")
            return
        }
        #expect(result.image == sample.picture)
        // After the end, streams have the end alone.
        var late = 0
        for await _ in task.events { late += 1 }
        for await _ in task.progress { late += 10 }
        #expect(late == 1)
    }

    @Test("The task of an image in memory has ended when it is returned")
    func taskOfImageInMemoryHasEnded() async throws {
        let (sample, transport) = (try EncodedPicture(), FakeTransport())
        let fixture = try ManagerFixture(transport)
        await fixture.cache.store(sample.picture, original: sample.file, forKey: fake("a").absoluteString)
        let task = fixture.manager.imageTask(with: fake("a"))
        #expect(task.status == .completed && transport.requestCount == 0)
        #expect(try await task.result.cacheType == .memory)
        task.cancel()
        #expect(task.status == .completed)
    }

    @Test("Cancelling ends the load for all who wait; so does cancelling one of them")
    func cancellingEndsLoadForAllWhoWait() async throws {
        for isByTask in [true, false] {
            let transport = FakeTransport()
            let fixture = try ManagerFixture(transport)
            let task = fixture.manager.imageTask(with: fake("a"))
            let waiting = (0..<2).map { _ in Task { try await task.image } }
            await transport.waitForCalls(1)
            if isByTask { task.cancel() } else { waiting[0].cancel() }
            for wait in waiting { #expect(await failure { try await wait.value } is CancellationError) }
            #expect(task.status == .cancelled)
            await waitUntil { transport.calls.contains(.cancel("a")) && fixture.downloader.waiterCount == 0 }
            #expect(await failure { try await task.result } is CancellationError)
        }
    }

    @Test("A failed load has its error, and the status says so")
    func failedLoadHasItsError() async throws {
        let transport = FakeTransport()
        let fixture = try ManagerFixture(transport)
        let task = fixture.manager.imageTask(with: fake("a"))
        transport.fail("a", .timedOut(.idle))
        #expect(await failure { try await task.image } is NetworkError)
        #expect(task.status == .failed)
    }

    @Test("The priority of a task moves its transfer, and a task that is let go of continues")
    func priorityMovesTransfer() async throws {
        let (sample, transport) = (try EncodedPicture(), FakeTransport())
        let fixture = try ManagerFixture(transport)
        var task: ImageTask? = fixture.manager.imageTask(with: fake("a"), options: ImageOptions { $0.priority = .low })
        #expect(task?.priority == .low)
        await transport.waitForCalls(1)
        task?.priority = .veryHigh
        #expect(task?.priority == .veryHigh)
        await waitUntil { transport.calls.contains(.priority("a", .veryHigh)) }
        task = nil
        transport.answer("a", sample.file)
        await waitUntil { fixture.cache.memoryStorage.isCached(forKey: fake("a").absoluteString) }
        #expect(!transport.calls.contains(.cancel("a")))
    }
}
