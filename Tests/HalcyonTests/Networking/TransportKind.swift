import Foundation
import Halcyon
import HalcyonTestSupport
import HalcyonURLSession
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

/// A transport under test. Each test names the capabilities that it needs.
struct TransportKind: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let capabilities: Set<TransportCapability>
    private let make: @Sendable (_ connectionsPerHost: Int) -> any Transport

    static let curl = TransportKind("CurlTransport") { connectionsPerHost in
        var configuration = CurlTransport.Configuration()
        configuration.maximumConnectionsPerHost = connectionsPerHost
        return CurlTransport(configuration)
    }

    static let urlSession = TransportKind("URLSessionTransport") { connectionsPerHost in
        var configuration = URLSessionTransport.Configuration()
        configuration.maximumConnectionsPerHost = connectionsPerHost
        return URLSessionTransport(configuration)
    }

    /// The transports that have all of some capabilities.
    static func having(_ needed: TransportCapability...) -> [TransportKind] {
        [curl, urlSession].filter { $0.capabilities.isSuperset(of: needed) }
    }

    private init(_ name: String, _ make: @escaping @Sendable (Int) -> any Transport) {
        (testDescription, self.make) = (name, make)
        capabilities = make(1).capabilities
    }

    func has(_ capability: TransportCapability) -> Bool { capabilities.contains(capability) }

    func transport(connectionsPerHost: Int = 6) -> any Transport { make(connectionsPerHost) }

    /// A request of ``TransportRequest/test(_:_:)`` without the fields that the transport does not support.
    func request(_ url: URL, _ change: (inout TransportRequest) -> Void = { _ in }) -> TransportRequest {
        var request = TransportRequest.test(url)
        if !has(.connectTimeout) { request.timeouts.connect = TransferTimeouts().connect }
        if !has(.proxyChoice) { request.proxy = .system }
        change(&request)
        return request
    }
}

/// A receiver that counts the bytes, keeps the end, and checks the order of the calls.
final class CountingReceiver: TransferReceiver {
    private struct State {
        var count = 0
        var heads = 0
        var ends = 0
        var isOrdered = true
        var limit: (count: Int, work: @Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let ends = AsyncStream<Result<TransferMetrics, NetworkError>>.makeStream()

    var count: Int { state.withLock { $0.count } }

    /// Whether the calls so far were at most one head, pieces only after it, and nothing after the only end.
    var isOrdered: Bool { state.withLock { $0.isOrdered && $0.heads <= 1 && $0.ends <= 1 } }

    func whenPast(_ count: Int, _ work: @escaping @Sendable () -> Void) { state.withLock { $0.limit = (count, work) } }

    func end() async -> Result<TransferMetrics, NetworkError> {
        for await end in ends.stream { return end }
        return .failure(.cancelled)
    }

    func received(_ head: ResponseHead) {
        state.withLock { state in
            state.isOrdered = state.isOrdered && state.ends == 0 && state.count == 0
            state.heads += 1
        }
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        let work = state.withLock { state in
            state.isOrdered = state.isOrdered && state.ends == 0 && state.heads == 1
            state.count += bytes.count
            guard let limit = state.limit, state.count > limit.count else { return nil as (@Sendable () -> Void)? }
            state.limit = nil
            return limit.work
        }
        work?()
    }

    func finished(_ result: Result<TransferMetrics, NetworkError>) {
        state.withLock { $0.ends += 1 }
        ends.continuation.yield(result)
    }
}
