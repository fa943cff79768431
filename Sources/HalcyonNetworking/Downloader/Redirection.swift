import Foundation

/// Where an answer sends a request, as RFC 9110, 15.4, and browsers say.
enum Redirection {
    /// What carries credentials, which another place must not see.
    private static let credentials = ["Authorization", "Cookie", "Proxy-Authorization"]

    /// The request that follows; `nil` if the answer sends nowhere.
    ///
    /// - Throws: ``NetworkError/invalidRedirect(_:)`` if that is no URL, or of a scheme that is not allowed.
    static func next(after request: TransportRequest, _ head: ResponseHead) throws(NetworkError) -> TransportRequest? {
        guard [301, 302, 303, 307, 308].contains(head.status), let target = head.headers["Location"] else { return nil }
        guard let url = URL(string: target, relativeTo: request.url)?.absoluteURL,
            let scheme = url.scheme?.lowercased(),
            request.allowedSchemes.contains(scheme), url.host?.isEmpty == false || scheme == "file"
        else { throw .invalidRedirect(target) }
        // What is local is never reached by way of the network.
        guard scheme != "file" || request.url.scheme?.lowercased() == "file" else { throw .invalidRedirect(target) }
        var next = request
        next.url = url
        if next.origin != request.origin {
            for name in credentials { next.headers[name] = nil }
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

/// Decides whether a load goes where a server sends it.
public protocol ImageDownloadRedirectHandler: Sendable {
    /// The request to send; `nil` stays with the answer that sends elsewhere, which is then judged by its status.
    ///
    /// - Parameters:
    ///   - response: sends elsewhere.
    ///   - newRequest: is what would be sent: see ``TransportRequest``. What carries credentials is not in it if the new
    ///     place is another scheme, host or port.
    func handleHTTPRedirection(for response: ResponseHead, newRequest: TransportRequest) async -> TransportRequest?
}

/// Goes wherever it is sent, as often as ``TransferLimits/redirects`` allows.
public struct FollowingRedirectHandler: ImageDownloadRedirectHandler {
    /// The handler.
    public init() {}

    public func handleHTTPRedirection(
        for response: ResponseHead, newRequest: TransportRequest
    ) async -> TransportRequest? {
        newRequest
    }
}
