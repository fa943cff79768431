/// A feature that some transports lack. ``Transport/capabilities`` lists those of a transport.
///
/// The first group changes what is sent or accepted: a request that uses such a feature *needs* it, and a transport without it
/// refuses the request. The second group only improves what a transfer reports or how it flows; no request needs it.
public enum TransportCapability: String, Sendable, Hashable, CaseIterable {
    /// A limit on the time to connect (``TransferTimeouts/connect``). Without it, ``TransferTimeouts/idle`` counts from the start.
    case connectTimeout
    /// A limit on the bytes of the header lines (``TransferLimits/headerBytes``). Without it, only the time is limited.
    case headerLimit
    /// A limit on the bytes per second (``TransferLimits/bytesPerSecond``).
    case speedLimit
    /// Another HTTP version than the default (``TransportRequest/httpVersion``).
    case httpVersionChoice
    /// A proxy per request, or none (``TransportRequest/proxy``).
    case proxyChoice
    /// TLS without verification (``TLSSettings/isVerified``).
    case unverifiedTLS
    /// Trusted authorities per request (``TLSSettings/authorities``).
    case customAuthorities
    /// Pinned public keys (``TLSSettings/pinnedPublicKey``).
    case pinnedPublicKey
    /// Credentials of the schemes `digest` and `any` (``Credential/Scheme``).
    case digestCredentials
    /// Schemes besides http and https (``TransportRequest/allowedSchemes``).
    case otherSchemes
    /// A filter of the servers' addresses (``TransportRequest/peerFilter``).
    case peerFilter
    /// Several header fields with one name in a request. Without it, those of a response arrive joined by commas.
    case repeatedHeaderFields

    /// ``Transfer/pause()`` stops reading from the server. Without it, a running transfer keeps what arrives in memory, up to
    /// ``TransferLimits/responseBytes``, until ``Transfer/resume()``.
    case pausing
    /// An HTTP/2 server receives the ``TransferPriority``.
    case streamWeights
    /// TLS failures and malformed responses have their own errors. Without it, they end with ``NetworkError/transport(code:_:)``.
    case preciseErrors
    /// ``TransferMetrics`` has the durations of name look-up, connection, TLS and first byte.
    case phaseTimings
    /// ``TransferMetrics/remoteAddress``.
    case peerAddress
    /// ``TransferMetrics`` counts the bytes on the wire. Without it, the bytes of the bodies are counted, decompressed.
    case wireByteCounts
    /// ``TransferMetrics/reusedConnection``.
    case connectionReuse
    /// ``TransferMetrics/httpVersion``.
    case httpVersionReport

    /// A noun phrase for ``NetworkError/unsupported(_:)``.
    var summary: String {
        switch self {
        case .connectTimeout: "a limit on the time to connect"
        case .headerLimit: "a limit on the bytes of the header"
        case .speedLimit: "a limit on the bytes per second"
        case .httpVersionChoice: "the choice of an HTTP version"
        case .proxyChoice: "the choice of a proxy"
        case .unverifiedTLS: "TLS without verification"
        case .customAuthorities: "trusted authorities per request"
        case .pinnedPublicKey: "pinned public keys"
        case .digestCredentials: "digest credentials"
        case .otherSchemes: "schemes besides http and https"
        case .peerFilter: "a filter of the servers' addresses"
        case .repeatedHeaderFields: "several header fields with one name"
        case .pausing: "pausing the flow of a transfer"
        case .streamWeights: "weights of HTTP/2 streams"
        case .preciseErrors: "precise errors"
        case .phaseTimings: "the durations of a transfer's phases"
        case .peerAddress: "the server's address in the metrics"
        case .wireByteCounts: "counts of the bytes on the wire"
        case .connectionReuse: "the reuse of connections in the metrics"
        case .httpVersionReport: "the HTTP version in the metrics"
        }
    }
}

extension TransportRequest {
    /// The capabilities that a transport must have for this request: one for each field whose value is not the default and that
    /// not every transport can respect.
    public var neededCapabilities: Set<TransportCapability> {
        var needed: Set<TransportCapability> = []
        if timeouts.connect != TransferTimeouts().connect { needed.insert(.connectTimeout) }
        if limits.headerBytes != TransferLimits().headerBytes { needed.insert(.headerLimit) }
        if limits.bytesPerSecond > 0 { needed.insert(.speedLimit) }
        if httpVersion != .http2OverTLS { needed.insert(.httpVersionChoice) }
        if proxy != .system { needed.insert(.proxyChoice) }
        if !tls.isVerified { needed.insert(.unverifiedTLS) }
        if tls.authorities != nil { needed.insert(.customAuthorities) }
        if tls.pinnedPublicKey != nil { needed.insert(.pinnedPublicKey) }
        if let credential, credential.scheme != .basic { needed.insert(.digestCredentials) }
        if !allowedSchemes.isSubset(of: Self.webSchemes) { needed.insert(.otherSchemes) }
        if peerFilter != .any { needed.insert(.peerFilter) }
        if Set(headers.fields.map { $0.name.lowercased() }).count < headers.fields.count {
            needed.insert(.repeatedHeaderFields)
        }
        return needed
    }

    /// Checks that the request can be sent by a transport.
    ///
    /// - Throws: the errors of ``check()``; ``NetworkError/unsupported(_:)`` with the first capability that is missing, in the
    ///   order of their declaration.
    package func check(with capabilities: Set<TransportCapability>) throws(NetworkError) {
        try check()
        let missing = neededCapabilities.subtracting(capabilities)
        if let first = TransportCapability.allCases.first(where: missing.contains) { throw .unsupported(first) }
    }
}
