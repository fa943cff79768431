import Foundation
import Halcyon
import Synchronization

/// What a waiter costs: a thousand loads of one thing join one transfer, which is then answered, 25 times in a row. With callbacks, where
/// nothing else costs anything; and with tasks, beside a thousand that wait for nothing but a continuation. In turns, eleven times.
struct MergingBenchmark {
    private let waiters = 1_000
    private let rounds = isShort ? 2 : 25
    private let turns = isShort ? 3 : 11
    private let transport = HeldTransport()
    private let only: Part?

    /// What is measured.
    enum Part: String { case callbacks, tasks, bare }

    /// - Parameter only: one part; by default all, in turns.
    init(only: Part? = nil) { self.only = only }

    func run() async throws {
        guard let url = URL(string: "http://benchmark.invalid/picture.jpg") else { return }
        let downloader = ImageDownloader(name: "merging", transport: transport)
        var (called, awaited, bare) = ([Double](), [Double](), [Double]())
        for _ in 0..<turns {
            if only ?? .callbacks == .callbacks {
                called.append(await processorTime { await callbacks(downloader, url) })
            }
            if only ?? .tasks == .tasks { awaited.append(try await processorTime { try await tasks(downloader, url) }) }
            if only ?? .bare == .bare { bare.append(await processorTime { await continuations() }) }
        }
        report("merging, processor time a waiter: with callbacks", median(called), "µs")
        report("  with tasks", median(awaited), "µs")
        report("  a task and its continuation alone", median(bare), "µs")
    }

    /// The microseconds of processor time a waiter, over enough rounds that what threads do after one hardly counts.
    private func processorTime(_ round: () async throws -> Void) async rethrows -> Double {
        try await round()
        return try await seconds { for _ in 0..<rounds { try await round() } }.processor / Double(rounds * waiters)
            * 1e6
    }

    private func callbacks(_ downloader: ImageDownloader, _ url: URL) async {
        var options = DownloadOptions()
        options.callbackQueue = .untouch
        options.processingQueue = .untouch
        await withCheckedContinuation { continuation in
            let left = Countdown(waiters)
            let count: @Sendable (Result<DownloadResult<Data>, any Error>) -> Void = { _ in
                if left.next() == 0 { continuation.resume() }
            }
            for _ in 0..<waiters { downloader.download(url, options: options, completionHandler: count) }
            transport.answer()
        }
    }

    private func tasks(_ downloader: ImageDownloader, _ url: URL) async throws {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<waiters { group.addTask { try await downloader.download(url).value.count } }
            while downloader.waiterCount < waiters { try await Task.sleep(for: .milliseconds(1)) }
            transport.answer()
            for try await _ in group {}
        }
    }

    private func continuations() async {
        let gate = Gate()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<waiters { group.addTask { await gate.wait() } }
            while gate.count < waiters { try? await Task.sleep(for: .milliseconds(1)) }
            gate.open()
            for await _ in group {}
        }
    }
}

/// Answers when it is told to.
private final class HeldTransport: Transport {
    private struct Started: Transfer {
        func cancel() {}
        func pause() {}
        func resume() {}
        func setPriority(_ priority: TransferPriority) {}
    }

    private let receiver = Mutex<(any TransferReceiver)?>(nil)

    func start(_ request: TransportRequest, receiver: any TransferReceiver) -> any Transfer {
        self.receiver.withLock { $0 = receiver }
        return Started()
    }

    func answer() {
        while true {
            let receiver = receiver.withLock { held in
                defer { held = nil }
                return held
            }
            guard let receiver, let url = URL(string: "http://benchmark.invalid/") else { continue }
            receiver.received(ResponseHead(url: url, status: 200))
            receiver.finished(.success(TransferMetrics()))
            return
        }
    }
}

/// Continuations that wait until it opens.
private final class Gate: Sendable {
    private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])

    var count: Int { waiting.withLock { $0.count } }

    func wait() async {
        await withCheckedContinuation { continuation in waiting.withLock { $0.append(continuation) } }
    }

    func open() {
        let continuations = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for continuation in continuations { continuation.resume() }
    }
}

/// Counts down.
private final class Countdown: Sendable {
    private let left: Atomic<Int>

    init(_ count: Int) { left = Atomic(count) }

    func next() -> Int { left.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue }
}
