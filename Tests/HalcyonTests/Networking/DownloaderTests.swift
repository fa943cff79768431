import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Downloader: equal requests share one transfer", .timeLimit(.minutes(20)))
struct DownloaderTests {
    private let url = URL(string: "http://fake/a") ?? URL(fileURLWithPath: "/")

    @Test("A hundred concurrent requests for one URL cause one GET on one connection")
    func concurrentRequestsShareOneGET() async throws {
        let everybody = DispatchSemaphore(value: 0)
        let server = try HostileServer { visit in
            everybody.wait()
            visit.answer(pattern(40_000))
        }
        let downloader = ImageDownloader.test()
        let expected = Data(pattern(40_000))
        let images = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 {
                group.addTask { try await downloader.download(server.url("/picture")).value == expected }
            }
            group.addTask {
                await downloader.waitForWaiters(100)
                everybody.signal()
                return false
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(images == 100)
        #expect(server.visits.count == 1 && server.connections == 1)
        #expect(downloader.waiterCount == 0 && downloader.transferCount == 0)
    }

    @Test("Cancelling one load leaves the others; cancelling the last one closes the connection")
    func cancellingLastLoadClosesConnection() async throws {
        let closed = AsyncStream<Bool>.makeStream()
        let server = try HostileServer { visit in
            visit.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc")
            closed.continuation.yield(visit.waitForClose())
        }
        let downloader = ImageDownloader.test()
        let loads = (0..<3).map { _ in
            Task { await networkError { try await downloader.download(server.url("/a")) } }
        }
        await downloader.waitForWaiters(3)
        await waitUntil { !server.visits.isEmpty }
        loads[0].cancel()
        loads[1].cancel()
        #expect(await loads[0].value == .cancelled)
        #expect(await loads[1].value == .cancelled)
        #expect(downloader.waiterCount == 1 && downloader.transferCount == 1 && server.openConnections == 1)
        loads[2].cancel()
        #expect(await loads[2].value == .cancelled)
        #expect(downloader.transferCount == 0)
        for await isClosed in closed.stream {
            #expect(isClosed)
            break
        }
        let early = Task { await networkError { try await downloader.download(server.url("/b")) } }
        early.cancel()
        #expect(await early.value == .cancelled)
    }

    @Test("Each load has its processor and queue; equal processors run once per transfer")
    func equalProcessorsRunOncePerTransfer() async throws {
        let transport = FakeTransport()
        let downloader = ImageDownloader.test(transport)
        let runs = Mutex<[String]>([])
        let processor: @Sendable (String) -> DownloadProcessor<String> = { name in
            DownloadProcessor(identifier: name) { data, _ in
                runs.withLock { $0.append(name) }
                if name == "broken" { throw CocoaError(.fileReadCorruptFile) }
                return "\(name) of \(data.count)"
            }
        }
        let names = ["blur", "round", "blur", "broken", "blur"]
        let loads = names.map { name in
            Task { try await downloader.download(url, processor: processor(name)).value }
        }
        // The same identifier of another kind of value is another processor.
        let count = Task {
            try await downloader.download(
                url, processor: DownloadProcessor(identifier: "blur") { data, _ in data.count }
            ).value
        }
        await downloader.waitForWaiters(6)
        transport.answer("a", Data(count: 12))
        #expect(try await loads[0].value == "blur of 12")
        #expect(try await loads[1].value == "round of 12")
        #expect(try await loads[2].value == "blur of 12")
        await #expect(throws: CocoaError.self) { try await loads[3].value }
        #expect(try await loads[4].value == "blur of 12")
        #expect(try await count.value == 12)
        #expect(runs.withLock { $0.sorted() } == ["blur", "broken", "round"])
        #expect(transport.calls == [.start("a", .normal)])

        let queue = DispatchQueue(label: "test.processing")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        var options = DownloadOptions()
        options.processingQueue = .dispatch(queue)
        let onQueue = Task { [options] in
            try await downloader.download(
                url,
                processor: DownloadProcessor(identifier: "where") { _, _ in DispatchQueue.getSpecific(key: key) == true
                },
                options: options
            ).value
        }
        await transport.waitForCalls(2)
        transport.answer("a", Data())
        #expect(try await onQueue.value)
    }

    @Test("A failure reaches every load, and the next load sends a new request")
    func failureReachesEveryLoadAndIsForgotten() async throws {
        let everybody = DispatchSemaphore(value: 0)
        let server = try HostileServer { visit in
            if visit.headers["x-try"] == "1" { everybody.wait() }
            visit.answer(pattern(100), status: visit.headers["x-try"] == "1" ? "500 Broken" : "200 OK")
        }
        let downloader = ImageDownloader.test()
        var options = DownloadOptions()
        options.requestModifier = AnyModifier { request in
            var request = request
            request.headers["X-Try"] = "1"
            return request
        }
        let failures = await withTaskGroup(of: NetworkError?.self) { [options] group in
            for _ in 0..<10 {
                group.addTask {
                    await networkError { try await downloader.download(server.url("/a"), options: options) }
                }
            }
            await downloader.waitForWaiters(10)
            everybody.signal()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(failures == Array(repeating: .invalidStatusCode(500, url: server.url("/a")), count: 10))
        #expect(server.visits.count == 1)
        #expect(try await downloader.download(server.url("/a")).value == Data(pattern(100)))
        #expect(server.visits.count == 2)
    }

    @Test("A joining or raised load of a higher priority raises the transfer; cancelling it lowers the transfer")
    func higherPriorityRaisesTransfer() async throws {
        let transport = FakeTransport()
        let downloader = ImageDownloader.test(transport)
        func load(_ priority: TransferPriority) -> Task<Data, any Error> {
            var options = DownloadOptions()
            options.priority = priority
            return Task { [options] in try await downloader.download(url, options: options).value }
        }
        let prefetched = load(.low)
        await transport.waitForCalls(1)
        let visible = load(.high)
        await transport.waitForCalls(2)
        let other = load(.normal)
        await downloader.waitForWaiters(3)
        visible.cancel()
        await transport.waitForCalls(3)
        let raised = downloader.download(url) { _ in }
        await downloader.waitForWaiters(3)
        raised.setPriority(.veryHigh)
        await transport.waitForCalls(4)
        #expect(
            transport.calls == [
                .start("a", .low), .priority("a", .high), .priority("a", .normal), .priority("a", .veryHigh),
            ])
        transport.answer("a", Data([1]))
        #expect(try await prefetched.value == Data([1]))
        #expect(try await other.value == Data([1]))
    }

    @Test("A load that joins queued processing of a lower priority runs it, once for both")
    func urgentLoadRunsQueuedProcessor() async throws {
        let transport = FakeTransport()
        let downloader = ImageDownloader.test(transport)
        let held = Mutex<[@Sendable () -> Void]>([])
        let workers = Mutex<[TransferPriority]>([])
        func load(_ priority: TransferPriority, on queue: CallbackQueue) -> Task<Int, any Error> {
            let processor = DownloadProcessor(identifier: "count") { data, _ in
                workers.withLock { $0.append(priority) }
                return data.count
            }
            var options = DownloadOptions()
            (options.priority, options.processingQueue) = (priority, queue)
            return Task { [options] in
                try await downloader.download(url, processor: processor, options: options).value
            }
        }
        let predicted = load(.veryLow, on: .custom { block in held.withLock { $0.append(block) } })
        await transport.waitForCalls(1)
        transport.answer("a", Data([1, 2, 3]))
        await waitUntil { held.withLock { $0.count } == 1 }
        let visible = load(.high, on: .dispatch(.global()))
        #expect(try await visible.value == 3)
        #expect(try await predicted.value == 3)
        for block in held.withLock({ $0 }) { block() }
        #expect(workers.withLock { $0 } == [.high])
        #expect(downloader.transferCount == 0 && transport.calls.count == 1)
    }

    @Test("Loads with different Authorization fields share no transfer")
    func differentHeadersShareNoTransfer() async throws {
        let server = try HostileServer { visit in
            visit.answer(Array((visit.headers["authorization"] ?? "nobody").utf8))
        }
        let downloader = ImageDownloader.test()
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
            for user in 0..<20 {
                var options = DownloadOptions()
                options.requestModifier = AnyModifier { request in
                    var request = request
                    request.headers["Authorization"] = "Bearer \(user)"
                    return request
                }
                group.addTask { [options] in
                    let data = try await downloader.download(server.url("/me"), options: options).value
                    return String(decoding: data, as: UTF8.self) == "Bearer \(user)" ? "own" : "another's"
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: "own", count: 20))
        #expect(server.visits.count == 20)
    }

    @Test("The completion runs once on the callback queue, after the progress")
    func completionAndProgressRunOnCallbackQueue() async throws {
        let server = try HostileServer { visit in visit.answer(pattern(300_000)) }
        let downloader = ImageDownloader.test()
        let queue = DispatchQueue(label: "test.callback")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let seen = Mutex<[Int]>([])
        var options = DownloadOptions()
        options.callbackQueue = .dispatch(queue)
        options.onProgress = { progress in
            let isThere = DispatchQueue.getSpecific(key: key) == true
            seen.withLock { $0.append(isThere && progress.expected == 300_000 ? progress.received : -1) }
        }
        let (isThere, count) = await withCheckedContinuation { continuation in
            downloader.download(server.url("/a"), options: options) { result in
                let isThere = DispatchQueue.getSpecific(key: key) == true
                continuation.resume(returning: (isThere, (try? result.get().value.count) ?? 0))
            }
        }
        #expect(isThere && count == 300_000)
        let progress = seen.withLock { $0 }
        #expect(progress == progress.sorted() && progress.last == 300_000 && progress.count > 1)

        let cancelled = await withCheckedContinuation { continuation in
            let silent = FakeTransport()
            let task = ImageDownloader.test(silent).download(url) { continuation.resume(returning: $0) }
            task.cancel()
            #expect(task.isCancelled)
        }
        #expect(throws: NetworkError.cancelled) { try cancelled.get() }
    }

    @Test("Progress is reported for a body of unknown length")
    func progressIsReportedWithoutLength() async throws {
        let server = try HostileServer { visit in
            visit.send(Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n".utf8) + pattern(1_024))
            visit.send(Array("\r\n0\r\n\r\n".utf8))
        }
        let seen = Mutex<[DownloadProgress]>([])
        var options = DownloadOptions()
        options.onProgress = { progress in seen.withLock { $0.append(progress) } }
        #expect(try await ImageDownloader.test().download(server.url("/a"), options: options).value.count == 1_024)
        await waitUntil { seen.withLock { $0.last?.received } == 1_024 }
        #expect(seen.withLock { $0 }.allSatisfy { $0.expected == nil })
    }

    @Test("A transport that answers in start() and a callback that loads again do not deadlock")
    func reentrantLoadsDoNotDeadlock() async throws {
        let downloader = ImageDownloader.test(FakeTransport(answerAtOnce: Data([7])))
        var options = DownloadOptions()
        options.callbackQueue = .untouch
        options.processingQueue = .untouch
        let bytes = await withCheckedContinuation { continuation in
            downloader.download(url, options: options) { [options] _ in
                downloader.download(url, options: options) { continuation.resume(returning: try? $0.get().value) }
            }
        }
        #expect(bytes == Data([7]))
    }

    @Test("Cancelling a URL ends its loads; cancelling all ends every load")
    func cancelEndsLoadsOfURLOrAll() async throws {
        let transport = FakeTransport()
        let downloader = ImageDownloader.test(transport)
        let other = try #require(URL(string: "http://fake/b"))
        let loads = [url, url, other].map { url in Task { await networkError { try await downloader.download(url) } } }
        await downloader.waitForWaiters(3)
        downloader.cancel(url: url)
        #expect(await loads[0].value == .cancelled)
        #expect(await loads[1].value == .cancelled)
        #expect(downloader.waiterCount == 1)
        downloader.cancelAll()
        #expect(await loads[2].value == .cancelled)
        #expect(downloader.transferCount == 0)
    }
}
