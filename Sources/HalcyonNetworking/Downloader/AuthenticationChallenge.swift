import Foundation

/// A server's request for a name and a password.
public struct AuthenticationChallenge: Sendable, Hashable {
    /// The URL that was requested.
    public var url: URL
    /// The server's name for the protected area; empty if it states none.
    public var realm: String
    /// The authentication scheme: `Basic` or `Digest`.
    public var scheme: Credential.Scheme
    /// The number of credentials that were refused before, in the same load.
    public var failures: Int

    /// The challenge of an answer; `nil` if it has none of a known scheme.
    init?(_ head: ResponseHead, failures: Int) {
        guard head.status == 401 else { return nil }
        let offers = head.headers.values("WWW-Authenticate")
        func offer(of scheme: String) -> String? {
            offers.first { HeaderFields.equal(String($0.prefix(scheme.count)), scheme) }
        }
        // Digest does not show the password.
        guard let offer = offer(of: "Digest") ?? offer(of: "Basic") else { return nil }
        scheme = HeaderFields.equal(String(offer.prefix(6)), "Digest") ? .digest : .basic
        url = head.url
        realm = Self.realm(in: offer)
        self.failures = failures
    }

    private static func realm(in offer: String) -> String {
        guard let start = offer.range(of: "realm=\"", options: .caseInsensitive) else { return "" }
        return String(offer[start.upperBound...].prefix { $0 != "\"" })
    }
}

/// Provides names and passwords.
///
/// See `RedirectTests.challengeGetsCredential()`.
public protocol AuthenticationChallengeResponder: Sendable {
    /// The name and the password; `nil` fails the load with ``NetworkError/authenticationRefused(url:)``.
    func credential(for challenge: AuthenticationChallenge) async -> Credential?
}

/// A responder without credentials.
public struct NoCredentials: AuthenticationChallengeResponder {
    /// Creates the responder.
    public init() {}

    public func credential(for challenge: AuthenticationChallenge) async -> Credential? { nil }
}
