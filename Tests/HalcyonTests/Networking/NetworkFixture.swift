import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

/// The nginx server that all tests of this bundle share; it ends with the process.
enum Nginx {
    private static let shared = Result { try NginxServer() }

    static func server() throws -> NginxServer { try shared.get() }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test with a message if nginx or openssl is not installed; continuous integration installs them.
    static var needsNginx: Self {
        .enabled(
            if: NginxServer.isInstalled, "skipped: nginx and openssl are not installed (.ci/install-dependencies tests)"
        )
    }
}

extension TransportRequest {
    /// A request that bypasses the environment's proxy and has long timeouts, so that it does not fail on a busy
    /// machine.
    static func test(_ url: URL, _ change: (inout Self) -> Void = { _ in }) -> Self {
        var request = TransportRequest(url)
        request.proxy = .none
        (request.timeouts.connect, request.timeouts.idle) = (.seconds(300), .seconds(300))
        change(&request)
        return request
    }

    /// A request over TLS to the tests' nginx.
    static func secure(_ url: URL, _ nginx: NginxServer, _ change: (inout Self) -> Void = { _ in }) -> Self {
        test(url) { request in
            request.tls.authorities = nginx.authority
            change(&request)
        }
    }
}

/// Bytes that compress badly and are the same in every run.
func pattern(_ count: Int, seed: UInt8 = 1) -> [UInt8] {
    var state = UInt32(seed) &* 2_654_435_761 | 1
    return (0..<count).map { _ in
        state ^= state << 13
        state ^= state >> 17
        state ^= state << 5
        return UInt8(truncatingIfNeeded: state >> 8)
    }
}

extension NetworkError {
    /// The error of a status, without header fields.
    static func invalidStatusCode(_ status: Int, url: URL) -> NetworkError {
        .invalidStatusCode(ResponseHead(url: url, status: status))
    }

    /// The error without the header fields of the answer, which differ between servers.
    var bare: NetworkError {
        guard case .invalidStatusCode(let head) = self else { return self }
        return .invalidStatusCode(head.status, url: head.url)
    }
}

/// The network error that some work throws, without header fields; `nil` if it throws none.
func networkError(_ work: () async throws -> some Any) async -> NetworkError? {
    do {
        _ = try await work()
        return nil
    } catch {
        return (error as? NetworkError)?.bare
    }
}
