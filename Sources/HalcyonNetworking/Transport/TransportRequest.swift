import Foundation

/// One exchange with a server: what is sent, and how far the answer is waited for.
///
/// A redirect, an answer that asks for a name and a password, and a second attempt are exchanges of their own:
/// ``ImageDownloader`` makes them of the answers.
public struct TransportRequest: Sendable, Hashable {
    /// What is asked for. A fragment is not sent.
    public var url: URL
    /// The method, in capitals.
    public var method = "GET"
    /// What is sent besides what the transport adds itself: `Host`, `Accept-Encoding`, the length of a body.
    public var headers = HeaderFields()
    /// What is sent to the server.
    public var body: Data?
    /// Who goes first where not all can go.
    public var priority = TransferPriority.normal
    /// The name and the password for a server that asks for them.
    public var credential: Credential?
    /// How much is taken from the server.
    public var limits = TransferLimits()
    /// How long the server is waited for.
    public var timeouts = TransferTimeouts()
    /// What proves that the server is who it says.
    public var tls = TLSSettings()
    /// What stands between.
    public var proxy = Proxy.system
    /// The versions of HTTP to speak.
    public var httpVersion = HTTPVersionChoice.http2OverTLS
    /// Whether the server may compress what it sends (gzip, deflate, Brotli, zstd, as libcurl was built); it arrives as it
    /// was before.
    public var acceptsCompression = true
    /// The schemes that are served at all.
    public var allowedSchemes = Self.webSchemes

    /// Names of header fields that are never sent on by a redirect to another scheme, host or port, whatever
    /// ``crossOriginHeaders`` says; empty by default. `Authorization`, `Cookie` and `Proxy-Authorization` need not be named.
    public var sensitiveHeaders: Set<String> = []
    /// Names of the only header fields that a redirect to another scheme, host or port keeps. By default ``safeHeaders``. Browsers
    /// remove `Authorization` alone; here a field of one's own, such as `X-Api-Key`, may be a credential, and its name does not say so.
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
    private static let webSchemes: Set<String> = ["http", "https"]

    /// A GET of a URL.
    public init(_ url: URL) { self.url = url }
}

/// A name and a password.
public struct Credential: Sendable, Hashable {
    /// How a server wants them.
    public enum Scheme: Sendable, Hashable {
        /// As they are, which only TLS hides. They are sent with the first request.
        case basic
        /// As a proof that does not show the password.
        case digest
        /// As the server asks, which takes another request.
        case any
    }

    /// Who asks.
    public var user: String
    /// What proves it.
    public var password: String
    /// How they are sent.
    public var scheme: Scheme

    /// A name and a password.
    public init(user: String, password: String, scheme: Scheme = .any) {
        self.user = user
        self.password = password
        self.scheme = scheme
    }
}

/// How much is taken from a server.
public struct TransferLimits: Sendable, Hashable {
    /// The highest number of bytes of a body, after decompression.
    public var responseBytes = 100 << 20
    /// The highest number of bytes of all header lines.
    public var headerBytes = 256 << 10
    /// How often one load may be sent elsewhere.
    public var redirects = 10
    /// The highest number of bytes a second of this transfer; 0 is no limit.
    public var bytesPerSecond = 0

    /// The defaults.
    public init() {}
}

/// How long a server is waited for. Each limit that passes is an error of its own (``NetworkError/timedOut(_:)``).
public struct TransferTimeouts: Sendable, Hashable {
    /// Until there is a connection: the name looked up, connected, TLS agreed.
    public var connect = Duration.seconds(10)
    /// With nothing arriving on a connection.
    public var idle = Duration.seconds(15)
    /// From the first step until the last byte. The time that a transfer waits for its turn does not count.
    public var whole = Duration.seconds(300)

    /// The defaults.
    public init() {}
}

/// What proves that a server is who it says.
public struct TLSSettings: Sendable, Hashable {
    /// Whether its certificate is verified. Without, anyone on the way can read and change everything.
    public var isVerified = true
    /// A file of certificates, in PEM, of the authorities that are trusted in place of the system's.
    public var authorities: URL?
    /// The server's public key: `sha256//` and its SHA-256 in base64, several with `;` between; `nil` takes any.
    public var pinnedPublicKey: String?

    /// The defaults.
    public init() {}
}

/// What stands between here and a server.
public enum Proxy: Sendable, Hashable {
    /// What the environment says: `https_proxy`, `http_proxy`, `no_proxy`.
    case system
    /// Nothing.
    case none
    /// A proxy: `http://host:port`, `socks5://host:port`.
    case url(String)
}

/// The versions of HTTP to speak.
public enum HTTPVersionChoice: Sendable, Hashable {
    /// HTTP/1.1.
    case http1
    /// HTTP/2 where TLS is spoken and the server knows it, otherwise HTTP/1.1.
    case http2OverTLS
    /// HTTP/2 at once, to a server that is known to speak it.
    case http2Only
}
