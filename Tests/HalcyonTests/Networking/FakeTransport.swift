import Foundation
import Synchronization

@testable import Halcyon

/// A transport that answers when a test says so, and writes down what it is asked for.
final class FakeTransport: Transport {
    enum Call: Equatable {
        case start(String, TransferPriority)
        case cancel(String)
        case priority(String, TransferPriority)
    }

    private struct State {
        var calls: [Call] = []
        var receivers: [String: any TransferReceiver] = [:]
    }

    private let state = Mutex(State())
    private let answerAtOnce: Data?

    /// - Parameter answerAtOnce: the body of every answer, given while the transfer is started; `nil` waits.
    init(answerAtOnce: Data? = nil) { self.answerAtOnce = answerAtOnce }

    var calls: [Call] { state.withLock { $0.calls } }

    func start(_ request: TransportRequest, receiver: any TransferReceiver) -> any Transfer {
        let name = request.url.lastPathComponent
        state.withLock { state in
            state.calls.append(.start(name, request.priority))
            state.receivers[name] = receiver
        }
        if let answerAtOnce { answer(name, answerAtOnce) }
        return FakeTransfer(name: name, transport: self)
    }

    /// Ends a transfer with an answer.
    func answer(_ name: String, _ body: Data, status: Int = 200) {
        guard let receiver = take(name), let url = URL(string: "http://fake/\(name)") else { return }
        receiver.received(ResponseHead(url: url, status: status))
        body.withUnsafeBytes { receiver.received($0) }
        receiver.finished(.success(TransferMetrics()))
    }

    /// Ends a transfer with an error.
    func fail(_ name: String, _ error: NetworkError) { take(name)?.finished(.failure(error)) }

    /// Returns when so many calls were made.
    func waitForCalls(_ count: Int) async {
        while state.withLock({ $0.calls.count }) < count { await Task.yield() }
    }

    fileprivate func note(_ call: Call) { state.withLock { $0.calls.append(call) } }

    private func take(_ name: String) -> (any TransferReceiver)? {
        state.withLock { $0.receivers.removeValue(forKey: name) }
    }
}

private struct FakeTransfer: Transfer {
    let name: String
    let transport: FakeTransport

    func cancel() {
        transport.note(.cancel(name))
        transport.fail(name, .cancelled)
    }
    func pause() {}
    func resume() {}
    func setPriority(_ priority: TransferPriority) { transport.note(.priority(name, priority)) }
}

extension ImageDownloader {
    /// A downloader whose requests no proxy of the environment sees.
    static func test(
        _ transport: any Transport = CurlTransport(), clock: any CacheClock = SystemClock(),
        _ change: (inout Configuration) -> Void = { _ in }
    ) -> ImageDownloader {
        var configuration = Configuration()
        configuration.request = { .test($0) }
        change(&configuration)
        return ImageDownloader(name: "test", configuration: configuration, transport: transport, clock: clock)
    }

    /// Returns when so many loads wait.
    func waitForWaiters(_ count: Int) async {
        while waiterCount < count { await Task.yield() }
    }
}
