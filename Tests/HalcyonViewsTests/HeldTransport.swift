import Foundation
import HalcyonTestSupport
import Synchronization

@testable import HalcyonNetworking

/// A transport that holds each answer until a test gives it, and records its calls by the last component of the URL.
final class HeldTransport: Transport {
    enum Call: Equatable {
        case start(String)
        case cancel(String)
        case priority(String, TransferPriority)
    }

    private struct Held {
        let number: Int
        let name: String
        let receiver: any TransferReceiver
    }

    private struct State {
        var calls: [Call] = []
        var held: [Held] = []
        var count = 0
    }

    private struct HeldTransfer: Transfer {
        let number: Int
        let name: String
        let transport: HeldTransport

        func cancel() { transport.cancel(number, name) }
        func pause() {}
        func resume() {}
        func setPriority(_ priority: TransferPriority) { transport.note(.priority(name, priority)) }
    }

    private let state = Mutex(State())

    var calls: [Call] { state.withLock { $0.calls } }
    /// The transfers without an answer, in the order of their starts.
    var waiting: [String] { state.withLock { $0.held.map(\.name) } }
    var starts: Int { calls.count { if case .start = $0 { true } else { false } } }
    var cancels: Int { calls.count { if case .cancel = $0 { true } else { false } } }

    func start(_ request: TransportRequest, receiver: any TransferReceiver) -> any Transfer {
        let name = request.url.lastPathComponent
        return state.withLock { state in
            state.count += 1
            state.calls.append(.start(name))
            state.held.append(Held(number: state.count, name: name, receiver: receiver))
            return HeldTransfer(number: state.count, name: name, transport: self)
        }
    }

    /// Gives the head and the first bytes of the first transfer of a name, once it has started.
    func begin(_ name: String, _ part: Data) async {
        await waitForStart(of: name)
        let receiver = state.withLock { state in state.held.first { $0.name == name }?.receiver }
        receiver?.received(ResponseHead(url: held(name), status: 200))
        part.withUnsafeBytes { receiver?.received($0) }
    }

    /// Ends a transfer that has begun with the rest of its bytes.
    func finish(_ name: String, _ rest: Data) {
        guard let receiver = take(name) else { return }
        rest.withUnsafeBytes { receiver.received($0) }
        receiver.finished(.success(TransferMetrics()))
    }

    /// Gives the whole answer of the first transfer of a name, in two pieces, once it has started.
    func answer(_ name: String, _ body: Data) async {
        await waitForStart(of: name)
        guard let receiver = take(name) else { return }
        receiver.received(
            ResponseHead(url: held(name), status: 200, headers: ["Content-Length": "\(body.count)"]))
        for piece in [body.prefix(body.count / 2), body.suffix(from: body.startIndex + body.count / 2)] {
            piece.withUnsafeBytes { receiver.received($0) }
        }
        receiver.finished(.success(TransferMetrics()))
    }

    /// Fails the first transfer of a name, once it has started.
    func fail(_ name: String, _ error: NetworkError) async {
        await waitForStart(of: name)
        take(name)?.finished(.failure(error))
    }

    func waitForStart(of name: String) async { await waitUntil { waiting.contains(name) } }

    private func take(_ name: String) -> (any TransferReceiver)? {
        state.withLock { state in
            state.held.firstIndex { $0.name == name }.map { state.held.remove(at: $0).receiver }
        }
    }

    /// A transfer that has ended, or was cancelled before, is not recorded again: cancelling may be repeated.
    private func cancel(_ number: Int, _ name: String) {
        let receiver: (any TransferReceiver)? = state.withLock { state in
            guard let index = state.held.firstIndex(where: { $0.number == number }) else { return nil }
            state.calls.append(.cancel(name))
            return state.held.remove(at: index).receiver
        }
        receiver?.finished(.failure(.cancelled))
    }

    private func note(_ call: Call) { state.withLock { $0.calls.append(call) } }
}

/// A URL at the held transport.
func held(_ name: String) -> URL { URL(string: "http://held/\(name)") ?? URL(fileURLWithPath: "/") }
