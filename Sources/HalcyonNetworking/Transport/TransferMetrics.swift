/// What a transfer took, as libcurl measured it. A phase that did not take place took no time.
public struct TransferMetrics: Sendable, Hashable {
    /// Waiting for its turn.
    public var queued = Duration.zero
    /// Looking the name up.
    public var nameLookup = Duration.zero
    /// Connecting.
    public var connect = Duration.zero
    /// Agreeing on TLS.
    public var tls = Duration.zero
    /// From the request's first byte to the answer's.
    public var firstByte = Duration.zero
    /// From the first step to the last byte, without waiting for its turn.
    public var total = Duration.zero
    /// The bytes that arrived: header lines, and the body as it was sent.
    public var bytesReceived: Int64 = 0
    /// The bytes of the request.
    public var bytesSent: Int64 = 0
    /// Whether the connection had served another transfer before.
    public var reusedConnection = false
    /// The version of HTTP that was spoken: `1.0`, `1.1`, `2`, `3`; empty if none was.
    public var httpVersion = ""
    /// The server's address.
    public var remoteAddress = ""

    /// Nothing took place.
    public init() {}
}
