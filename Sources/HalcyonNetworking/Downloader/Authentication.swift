import Foundation

/// A server asks for a name and a password.
public struct AuthenticationChallenge: Sendable, Hashable {
    /// What was asked for.
    public var url: URL
    /// What the server calls the place; empty if it does not say.
    public var realm: String
    /// How it wants them: `Basic` or `Digest`.
    public var scheme: Credential.Scheme
    /// How many were refused before this one, in the same load.
    public var failures: Int

    /// The challenge of an answer; `nil` if it is none, or none of a scheme that is known.
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

/// Knows names and passwords.
public protocol AuthenticationChallengeResponder: Sendable {
    /// The name and the password; `nil` gives up with ``NetworkError/authenticationRefused(url:)``.
    func credential(for challenge: AuthenticationChallenge) async -> Credential?
}

/// Knows none.
public struct NoCredentials: AuthenticationChallengeResponder {
    /// The responder.
    public init() {}

    public func credential(for challenge: AuthenticationChallenge) async -> Credential? { nil }
}
