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
