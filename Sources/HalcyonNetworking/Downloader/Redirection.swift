import Foundation

/// Decides whether a load follows a redirect.
///
/// See `RedirectTests.handlerCanRefuseRedirect()` and `RedirectTests.handlerCanReplaceRequest()`.
public protocol ImageDownloadRedirectHandler: Sendable {
    /// The request to send, which is sent as it is; `nil` keeps the redirecting answer, which is then accepted or refused by its
    /// status.
    ///
    /// - Parameters:
    ///   - response: the redirecting answer.
    ///   - newRequest: the request that would be sent. If its scheme, host or port is another, it has neither the credential nor the
    ///     header fields that ``TransportRequest/crossOriginHeaders`` leaves out.
    func handleHTTPRedirection(for response: ResponseHead, newRequest: TransportRequest) async -> TransportRequest?
}

/// Follows every redirect, as often as ``TransferLimits/redirects`` allows.
public struct FollowingRedirectHandler: ImageDownloadRedirectHandler {
    /// Creates the handler.
    public init() {}

    public func handleHTTPRedirection(
        for response: ResponseHead, newRequest: TransportRequest
    ) async -> TransportRequest? {
        newRequest
    }
}

/// How a load follows redirects.
struct RedirectRules: Sendable {
    /// What makes the rules of two loads the same, so that the loads may share a transfer.
    struct Identity: Hashable, Sendable {
        fileprivate enum Handler: Hashable {
            case downloader
            /// The handler is an object, which the transfer keeps alive.
            case object(ObjectIdentifier)
            /// The handler is a value, which cannot be compared.
            case load(UUID)
        }

        fileprivate var handler = Handler.downloader
        fileprivate var allowsInsecure: Bool?
        fileprivate var restriction: RequestRestriction?
    }

    let handler: any ImageDownloadRedirectHandler
    let allowsInsecure: Bool
    /// What each request keeps to, also one that a handler makes.
    var restriction: RequestRestriction?

    /// The next request; `nil` if the answer is no redirect, or the handler does not follow it.
    func next(after request: TransportRequest, _ head: ResponseHead) async throws -> TransportRequest? {
        guard let next = try Redirection.next(after: request, head),
            var chosen = await handler.handleHTTPRedirection(for: head, newRequest: next)
        else { return nil }
        restriction?.apply(to: &chosen)
        let isInsecure = request.url.scheme?.lowercased() == "https" && chosen.url.scheme?.lowercased() == "http"
        if isInsecure, !allowsInsecure { throw NetworkError.insecureRedirect(chosen.url) }
        return chosen
    }

    /// The rules of one load: those of its options, or else these.
    func with(_ options: DownloadOptions) -> RedirectRules {
        RedirectRules(
            handler: options.redirectHandler ?? handler,
            allowsInsecure: options.allowsInsecureRedirects ?? allowsInsecure, restriction: options.restriction)
    }
}

extension RedirectRules.Identity {
    /// The identity of the rules of one load.
    init(_ options: DownloadOptions) {
        allowsInsecure = options.allowsInsecureRedirects
        restriction = options.restriction
        guard let own = options.redirectHandler else { return }
        handler = type(of: own) is AnyClass ? .object(ObjectIdentifier(own as AnyObject)) : .load(UUID())
    }
}

/// The request that an answer redirects to, by RFC 9110, 15.4, and as browsers do.
enum Redirection {
    /// The request that follows; `nil` if the answer is no redirect.
    ///
    /// - Throws: ``NetworkError/invalidRedirect(_:)`` if the location is no URL, or of a scheme that is not allowed.
    static func next(after request: TransportRequest, _ head: ResponseHead) throws(NetworkError) -> TransportRequest? {
        guard [301, 302, 303, 307, 308].contains(head.status), let target = head.headers["Location"] else { return nil }
        guard let url = URL(string: target, relativeTo: request.url)?.absoluteURL,
            let scheme = url.scheme?.lowercased(),
            request.allowedSchemes.contains(scheme), url.host?.isEmpty == false || scheme == "file"
        else { throw .invalidRedirect(target) }
        // A server must not make a load read a local file.
        guard scheme != "file" || request.url.scheme?.lowercased() == "file" else { throw .invalidRedirect(target) }
        var next = request
        next.url = url
        if next.origin != request.origin {
            next.headers = request.headersForAnotherOrigin
            next.credential = nil
        }
        let losesBody = head.status == 303 || (request.method == "POST" && head.status < 303)
        if losesBody && request.method != "HEAD" {
            next.method = "GET"
            next.body = nil
        }
        return next
    }
}

extension TransportRequest {
    /// Fields that carry credentials whatever the request says.
    private static let credentialHeaders: Set<String> = [
        "authorization", "cookie", "cookie2", "proxy-authorization",
    ]

    /// The fields that may be sent to another scheme, host or port.
    fileprivate var headersForAnotherOrigin: HeaderFields {
        let allowed = Set(crossOriginHeaders.map { $0.lowercased() })
        let refused = Self.credentialHeaders.union(sensitiveHeaders.map { $0.lowercased() })
        var kept = HeaderFields()
        for field in headers.fields {
            let name = field.name.lowercased()
            if allowed.contains(name), !refused.contains(name) { kept.add(field.name, field.value) }
        }
        return kept
    }
}
