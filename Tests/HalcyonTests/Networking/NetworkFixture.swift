import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

/// The one nginx of all tests of this bundle; it ends with the process.
enum Nginx {
    private static let shared = Result { try NginxServer() }

    static func server() throws -> NginxServer { try shared.get() }
}

extension Trait where Self == ConditionTrait {
    /// Runs where nginx and openssl are, and says so where they are not; continuous integration installs them.
    static var needsNginx: Self {
        .enabled(
            if: NginxServer.isInstalled, "skipped: nginx and openssl are not installed (.ci/install-dependencies tests)"
        )
    }
}

extension TransportRequest {
    /// A request that no proxy of the environment sees, and that is not given up because a busy machine has no processor for it.
    static func test(_ url: URL, _ change: (inout Self) -> Void = { _ in }) -> Self {
        var request = TransportRequest(url)
        request.proxy = .none
        (request.timeouts.connect, request.timeouts.idle) = (.seconds(300), .seconds(300))
        change(&request)
        return request
    }

    /// The same over TLS, to the tests' nginx.
    static func secure(_ url: URL, _ nginx: NginxServer, _ change: (inout Self) -> Void = { _ in }) -> Self {
        test(url) { request in
            request.tls.authorities = nginx.authority
            change(&request)
        }
    }
}

/// Bytes that do not compress to nothing and are the same in every run.
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
