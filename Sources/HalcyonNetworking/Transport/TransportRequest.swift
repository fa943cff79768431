import Foundation
import HalcyonSupport

/// One exchange with a server: what is sent, and the limits of the response.
///
/// A redirect, a response that asks for credentials, and another attempt are exchanges of their own, which ``ImageDownloader``
/// makes of the responses.
public struct TransportRequest: Sendable, Hashable {
    /// The URL. Its fragment is not sent.
    public var url: URL
    /// The method, in capitals. Default: `GET`.
    public var method = "GET"
    /// The header fields, besides those that the transport adds: `Host`, `Accept-Encoding`, `User-Agent`, the length of the body.
    public var headers = HeaderFields()
    /// The body of the request. Default: none.
    public var body: Data?
    /// The priority in the queue of the transport. Default: normal.
    public var priority = TransferPriority.normal
    /// The credential for a server that asks for one. Default: none.
    public var credential: Credential?
    /// The limits of the response.
    public var limits = TransferLimits()
    /// The limits of time.
    public var timeouts = TransferTimeouts()
    /// The requirements of the server's certificate.
    public var tls = TLSSettings()
    /// The proxy configuration. Default: the environment's.
    public var proxy = Proxy.system
    /// The HTTP versions to use. Default: HTTP/2 over TLS, otherwise HTTP/1.1.
    public var httpVersion = HTTPVersionChoice.http2OverTLS
    /// Whether the server may compress the body (gzip, deflate, Brotli, zstd, as libcurl was built). The transport decompresses
    /// it, also if the server compresses it unasked. Default: `true`.
    public var acceptsCompression = true
    /// Requests with different values share no transfer, though all else is equal.
    package var mergePartition: String?
    /// The schemes that may be loaded. Default: http and https.
    ///
    /// See `TransportTests.onlyHTTPSchemesByDefault()`.
    public var allowedSchemes = Self.webSchemes
    /// The addresses that the transport may connect to. Default: any. See ``PeerFilter`` for servers that load URLs of others.
    public var peerFilter = PeerFilter.any

    /// Names of header fields that are never sent on by a redirect to another scheme, host or port, whatever
    /// ``crossOriginHeaders`` says; empty by default. `Authorization`, `Cookie` and `Proxy-Authorization` need not be named.
    public var sensitiveHeaders: Set<String> = []
    /// Names of the only header fields that a redirect to another scheme, host or port keeps. By default ``safeHeaders``. Browsers
    /// remove `Authorization` alone; here a field of one's own, such as `X-Api-Key`, may be a credential, and its name does not say so.
    ///
    /// See `RedirectTests.nextRequestFollowsRedirectRules()`.
    public var crossOriginHeaders = Self.safeHeaders

    /// Names of header fields that carry no credentials: those that negotiate content, name the client, or control caches.
    public static let safeHeaders: Set<String> = [
        "Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Language",
        "Content-Type",
        "DNT", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Pragma", "Range",
        "Save-Data",
        "User-Agent",
    ]

    /// One set for all requests, so that comparing two is comparing two references.
    package static let webSchemes: Set<String> = ["http", "https"]

    /// Creates a GET of a URL.
    public init(_ url: URL) { self.url = url }

    /// The bytes of the longest URL that can be sent: 512 kB, half of what libcurl accepts as a request's line and header fields.
    ///
    /// See `TransportTests.tooLongURLIsNamed()`.
    public static let longestURL = 512 << 10

    /// Checks that the request can be sent.
    ///
    /// - Throws: ``NetworkError/urlTooLong(limit:)``, ``NetworkError/invalidURL(_:)``, ``NetworkError/unsupportedScheme(_:)``,
    ///   ``NetworkError/invalidHeader(_:)``.
    package func check() throws(NetworkError) {
        guard url.absoluteString.utf8.count <= Self.longestURL else { throw .urlTooLong(limit: Self.longestURL) }
        guard let scheme = url.scheme?.lowercased(), !scheme.isEmpty else {
            throw .invalidURL(url.absoluteString)
        }
        guard allowedSchemes.contains(scheme) else { throw .unsupportedScheme(scheme) }
        guard scheme == "file" || url.host?.isEmpty == false else { throw .invalidURL(url.absoluteString) }
        guard HeaderFields.isName(method) else { throw .invalidHeader(method) }
        for field in headers.fields where !HeaderFields.isName(field.name) || !HeaderFields.isValue(field.value) {
            throw .invalidHeader(field.name)
        }
    }

    /// The scheme, host and port. Transfers with equal origins can share connections.
    package var origin: String {
        "\(url.scheme?.lowercased() ?? "")://\(url.host?.lowercased() ?? ""):\(url.port ?? -1)"
    }
}

/// A user name and a password.
public struct Credential: Sendable, Hashable {
    /// How the credential is sent.
    public enum Scheme: Sendable, Hashable {
        /// In clear text, which only TLS hides, with the first request.
        case basic
        /// As a proof that does not contain the password.
        case digest
        /// As the server asks, which takes another request.
        case any
    }

    /// The user name.
    public var user: String
    /// The password.
    public var password: String
    /// How the credential is sent. Default: any.
    public var scheme: Scheme

    /// Creates a credential.
    public init(user: String, password: String, scheme: Scheme = .any) {
        self.user = user
        self.password = password
        self.scheme = scheme
    }

    /// Compares names and passwords by bytes, as a server does.
    public static func == (one: Credential, other: Credential) -> Bool {
        ByteName(one.user) == other.user && ByteName(one.password) == other.password && one.scheme == other.scheme
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ByteName(user))
        hasher.combine(scheme)
    }
}

/// The limits of a response.
///
/// Memory stays bounded whatever a server sends. See `HostileTests.endlessBodiesAndHeadersEndAtLimits()` and
/// `TransportTests.limitCountsDecompressedBytes()`.
public struct TransferLimits: Sendable, Hashable {
    /// The largest body in bytes, decompressed. Default: 100 MB.
    public var responseBytes = 100 << 20
    /// The largest total of all header lines in bytes. Default: 256 kB.
    public var headerBytes = 256 << 10
    /// The largest number of redirects of one load. Default: 10.
    ///
    /// See `RedirectTests.redirectsAreFollowedUpToLimit()`.
    public var redirects = 10
    /// The highest rate of this transfer in bytes per second. Default: 0, which is no limit.
    ///
    /// See `TransportTests.speedLimitIsRespected()`.
    public var bytesPerSecond = 0

    /// Creates the defaults.
    public init() {}
}

/// The limits of a transfer's time. Each has its own error (``NetworkError/timedOut(_:)``).
///
/// See `HostileTests.slowServerEndsInItsTimeout()` and `HostileTests.connectionFailuresHaveOwnErrors()`.
public struct TransferTimeouts: Sendable, Hashable {
    /// The longest time until there is a connection: name look-up, connection, TLS. Default: 10 s.
    public var connect = Duration.seconds(10)
    /// The longest time in which no byte is sent or received on a connection. Default: 15 s.
    public var idle = Duration.seconds(15)
    /// The longest time from the first phase to the last byte, without the time in the queue. Default: 300 s.
    public var whole = Duration.seconds(300)

    /// Creates the defaults.
    public init() {}
}

/// The requirements of a server's certificate.
public struct TLSSettings: Sendable, Hashable {
    /// Whether the certificate is verified. Without, everyone between can read and change everything. Default: `true`.
    ///
    /// See `TransportTests.untrustedCertificateIsRefused()`.
    public var isVerified = true
    /// A PEM file with the certificates of the trusted authorities. Default: those of the system.
    public var authorities: URL?
    /// The server's public key: `sha256//` and its SHA-256 in base64, several with `;` between. Default: any key.
    public var pinnedPublicKey: String?

    /// Creates the defaults.
    public init() {}
}

/// The proxy configuration.
public enum Proxy: Sendable, Hashable {
    /// The environment's: `https_proxy`, `http_proxy`, `no_proxy`. On Apple's platforms: the system's (type-checked, never run).
    case system
    /// No proxy.
    case none
    /// A proxy: `http://host:port`, `socks5://host:port`.
    case url(String)
}

/// The HTTP versions to use.
public enum HTTPVersionChoice: Sendable, Hashable {
    /// HTTP/1.1.
    case http1
    /// HTTP/2 over TLS if the server supports it, otherwise HTTP/1.1.
    case http2OverTLS
    /// HTTP/2 at once, for a server that is known to support it.
    case http2Only
}
