/// Takes requests to servers, and brings back what they answer. `CurlTransport` is the one that Halcyon has; a test, or
/// an app with a network layer of its own, has another.
public protocol Transport: Sendable {
    /// Starts an exchange and returns at once.
    ///
    /// - Parameter receiver: is told what arrives: the head once, then the body in pieces, then the end, exactly once. A
    ///   transfer that fails may end without a head.
    func start(_ request: TransportRequest, receiver: any TransferReceiver) -> any Transfer
}

/// A transfer that was started. All of it does nothing once the transfer has ended.
public protocol Transfer: Sendable {
    /// Ends it with ``NetworkError/cancelled``; its connection, if nothing else is on it, is closed at once.
    func cancel()
    /// Takes nothing more from the server until ``resume()``; what is under way may still arrive.
    func pause()
    /// Goes on after ``pause()``.
    func resume()
    /// Makes it more or less urgent.
    func setPriority(_ priority: TransferPriority)
}

/// Whoever a transfer is for. It is called on the transport's thread, which serves every transfer: each call must be short.
public protocol TransferReceiver: Sendable {
    /// The head has arrived.
    func received(_ head: ResponseHead)
    /// A piece of the body has arrived. The bytes are there during the call only.
    func received(_ bytes: UnsafeRawBufferPointer)
    /// The transfer has ended.
    func finished(_ result: Result<TransferMetrics, NetworkError>)
}
