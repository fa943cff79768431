/// Changes requests before they are sent, as to add a header. What comes out decides what is merged with what.
public protocol AsyncImageDownloadRequestModifier: Sendable {
    /// The request to send; `nil` sends none, and the load fails with ``NetworkError/emptyRequest``.
    func modified(for request: TransportRequest) async -> TransportRequest?
}

/// A modifier that need not wait.
public protocol ImageDownloadRequestModifier: AsyncImageDownloadRequestModifier {
    /// The request to send; `nil` sends none, and the load fails with ``NetworkError/emptyRequest``.
    func modified(for request: TransportRequest) -> TransportRequest?
}

extension ImageDownloadRequestModifier {
    public func modified(for request: TransportRequest) async -> TransportRequest? {
        let modify: (TransportRequest) -> TransportRequest? = modified(for:)
        return modify(request)
    }
}

/// A modifier from a closure.
public struct AnyModifier: ImageDownloadRequestModifier {
    private let modify: @Sendable (TransportRequest) -> TransportRequest?

    /// A modifier that asks the closure.
    public init(modify: @escaping @Sendable (TransportRequest) -> TransportRequest?) { self.modify = modify }

    public func modified(for request: TransportRequest) -> TransportRequest? { modify(request) }
}
