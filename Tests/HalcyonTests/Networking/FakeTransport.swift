import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization

@testable import HalcyonCurl
@testable import HalcyonNetworking

/// A transport that answers when a test says so, and records its calls.
final class FakeTransport: Transport {
    enum Call: Equatable {
        case start(String, TransferPriority)
        case cancel(String)
        case priority(String, TransferPriority)
    }

    private typealias Answer = @Sendable (any TransferReceiver) -> Void

    private struct Started {
        let number: Int
        let name: String
        let receiver: any TransferReceiver
    }

    private struct State {
        var calls: [Call] = []
        /// In the order of their starts; two may have one name.
        var started: [Started] = []
        var count = 0
        /// The answers given before their transfers started.
        var early: [String: Answer] = [:]

        mutating func take(where picks: (Started) -> Bool) -> (any TransferReceiver)? {
            started.firstIndex(where: picks).map { started.remove(at: $0).receiver }
        }
    }

    private let state = Mutex(State())
    private let answerAtOnce: Data?

    /// - Parameter answerAtOnce: the body of every answer, given while the transfer is started; `nil` waits.
    init(answerAtOnce: Data? = nil) { self.answerAtOnce = answerAtOnce }

    var calls: [Call] { state.withLock { $0.calls } }
    /// The transfers that wait for an answer, in the order of their starts.
    var waiting: [String] { state.withLock { $0.started.map(\.name) } }

    func start(_ request: TransportRequest, receiver: any TransferReceiver) -> any Transfer {
        let name = request.url.lastPathComponent
        let (number, early) = state.withLock { state in
            state.calls.append(.start(name, request.priority))
            state.count += 1
            state.started.append(Started(number: state.count, name: name, receiver: receiver))
            return (state.count, state.early.removeValue(forKey: name))
        }
        if let early { give(name, early) }
        if let answerAtOnce { answer(name, answerAtOnce) }
        return FakeTransfer(number: number, name: name, transport: self)
    }

    /// Ends a transfer with an answer. If the transfer has not started yet, the answer waits for it.
    func answer(_ name: String, _ body: Data, status: Int = 200, headers: HeaderFields = HeaderFields()) {
        give(name) { receiver in
            receiver.received(ResponseHead(url: fake(name), status: status, headers: headers))
            body.withUnsafeBytes { receiver.received($0) }
            receiver.finished(.success(TransferMetrics()))
        }
    }

    /// Gives the head and the first bytes of a transfer that has started, and not its end.
    func begin(_ name: String, _ part: Data, of length: Int, headers: HeaderFields = HeaderFields()) {
        let receiver = state.withLock { state in state.started.first { $0.name == name }?.receiver }
        var headers = headers
        headers["Content-Length"] = "\(length)"
        receiver?.received(ResponseHead(url: fake(name), status: 200, headers: headers))
        part.withUnsafeBytes { receiver?.received($0) }
    }

    /// Gives further bytes of a transfer that has begun, and not its end.
    func `continue`(_ name: String, _ part: Data) {
        let receiver = state.withLock { state in state.started.first { $0.name == name }?.receiver }
        part.withUnsafeBytes { receiver?.received($0) }
    }

    /// Ends a transfer that has begun with the rest of its bytes.
    func finish(_ name: String, _ rest: Data) {
        let receiver = state.withLock { state in state.take { $0.name == name } }
        rest.withUnsafeBytes { receiver?.received($0) }
        receiver?.finished(.success(TransferMetrics()))
    }

    /// Ends a transfer with an error, after a part of the body if one is given. If it has not started yet, the
    /// error waits.
    func fail(_ name: String, _ error: NetworkError, after part: Data? = nil) {
        give(name) { receiver in
            if let part {
                receiver.received(ResponseHead(url: fake(name), status: 200))
                part.withUnsafeBytes { receiver.received($0) }
            }
            receiver.finished(.failure(error))
        }
    }

    /// The transfers that were started.
    var requestCount: Int { calls.count { if case .start = $0 { true } else { false } } }

    /// Waits until there were `count` calls.
    func waitForCalls(_ count: Int) async {
        await waitUntil { state.withLock({ $0.calls.count }) >= count }
    }

    fileprivate func cancel(_ number: Int, _ name: String) {
        let cancelled = state.withLock { state in
            state.calls.append(.cancel(name))
            return state.take { $0.number == number }
        }
        cancelled?.finished(.failure(.cancelled))
    }

    fileprivate func note(_ call: Call) { state.withLock { $0.calls.append(call) } }

    private func give(_ name: String, _ answer: @escaping Answer) {
        let receiver = state.withLock { state in
            let receiver = state.take { $0.name == name }
            if receiver == nil { state.early[name] = answer }
            return receiver
        }
        if let receiver { answer(receiver) }
    }
}

/// A transport that answers each request at once with the result of a closure, and records the requests.
final class ScriptedTransport: Transport {
    private struct Ended: Transfer {
        func cancel() {}
        func pause() {}
        func resume() {}
        func setPriority(_ priority: TransferPriority) {}
    }

    private let sent = Mutex<[TransportRequest]>([])
    private let answer: @Sendable (TransportRequest) -> (ResponseHead, Data)

    init(_ answer: @escaping @Sendable (TransportRequest) -> (ResponseHead, Data)) { self.answer = answer }

    var requests: [TransportRequest] { sent.withLock { $0 } }

    func start(_ request: TransportRequest, receiver: any TransferReceiver) -> any Transfer {
        sent.withLock { $0.append(request) }
        let (head, body) = answer(request)
        receiver.received(head)
        body.withUnsafeBytes { if !$0.isEmpty { receiver.received($0) } }
        receiver.finished(.success(TransferMetrics()))
        return Ended()
    }
}

private struct FakeTransfer: Transfer {
    let number: Int
    let name: String
    let transport: FakeTransport

    func cancel() { transport.cancel(number, name) }
    func pause() {}
    func resume() {}
    func setPriority(_ priority: TransferPriority) { transport.note(.priority(name, priority)) }
}

extension ImageDownloader {
    /// A downloader whose requests bypass the environment's proxy.
    static func test(
        _ transport: any Transport = CurlTransport(), clock: any CacheClock = SystemClock(),
        _ change: (inout Configuration) -> Void = { _ in }
    ) -> ImageDownloader {
        var configuration = Configuration()
        configuration.request = { .test($0) }
        change(&configuration)
        return ImageDownloader(name: "test", configuration: configuration, transport: transport, clock: clock)
    }

    /// Waits until `count` loads are waiting.
    func waitForWaiters(_ count: Int) async {
        await waitUntil { waiterCount >= count }
    }
}
