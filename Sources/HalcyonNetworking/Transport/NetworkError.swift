import Foundation

/// The reason why a load from the network failed.
///
/// Each fault of a server or a connection has a case of its own, and nothing of such a response is cached. See
/// `DownloaderOptionTests.badStatusesAndURLsAreErrors()`, `HostileTests.shortBodyIsAnError()`,
/// `HostileTests.invalidResponseIsAnError()` and `HostileTests.connectionFailuresHaveOwnErrors()`.
public enum NetworkError: Error, Sendable, Equatable {
    /// A limit of time; see ``TransferTimeouts``.
    public enum Timeout: Sendable, Equatable {
        /// There was no connection in time.
        case connect
        /// No byte was sent or received for too long.
        case idle
        /// The transfer took too long.
        case whole
    }

    /// The request modifier returned no request.
    case emptyRequest
    /// The URL is empty or names no server.
    case invalidURL(String)
    /// The URL is longer than ``TransportRequest/longestURL``; `limit` is that number of bytes.
    case urlTooLong(limit: Int)
    /// The URL's scheme is not among those that are allowed.
    case unsupportedScheme(String)
    /// A header field would not stay one line, or the method is not valid.
    case invalidHeader(String)
    /// The request needs a capability that the transport lacks; see ``Transport/capabilities``.
    case unsupported(TransportCapability)
    /// The ``TransportRequest/peerFilter`` accepts no address of the server; `address` is the first that it refused.
    case peerRefused(address: String)
    /// The load was cancelled.
    case cancelled
    /// The transport was released before the transfer ended.
    case transportClosed
    /// The response's status is not a success. The head has its URL and header fields, such as `Retry-After`; the body was not
    /// downloaded.
    case invalidStatusCode(ResponseHead)
    /// The resource has not changed. Only a conditional request ends so.
    case notModified(ResponseHead)
    /// The response check refused the response.
    case responseRefused(url: URL, reason: String)
    /// The connection ended before the body did; `expected` is its announced length, if there was one.
    case truncatedBody(received: Int64, expected: Int64?)
    /// The body is longer than the limit.
    case responseTooLarge(limit: Int)
    /// The header lines are longer than the limit.
    case headersTooLarge(limit: Int)
    /// The bytes received are not a valid response.
    case invalidResponse(String)
    /// The load was redirected too often.
    case tooManyRedirects(limit: Int)
    /// The target of a redirect is not a URL that may be loaded.
    case invalidRedirect(String)
    /// The server redirected from https to this URL of http; see ``ImageDownloader/Configuration/allowsInsecureRedirects``.
    case insecureRedirect(URL)
    /// A limit of time has passed.
    case timedOut(Timeout)
    /// The name of the server or the proxy has no address.
    case cannotFindHost(String)
    /// No connection could be made.
    case cannotConnect(String)
    /// The connection broke.
    case connectionLost(String)
    /// The server's certificate is not trusted, or the TLS handshake failed.
    case tls(String)
    /// The server asks for credentials, and there were none, or not the right ones.
    case authenticationRefused(url: URL)
    /// The load is blocked by Low Data Mode.
    case constrainedNetwork
    /// Any other failure, with the number that libcurl or Foundation gives it.
    case transport(code: Int, String)
}

extension NetworkError: CustomStringConvertible {
    /// One sentence that says what went wrong.
    public var description: String {
        switch self {
        case .emptyRequest: "The request modifier returned no request."
        case .invalidURL(let text): "'\(text)' is no URL that can be loaded: it needs a scheme and a host."
        case .urlTooLong(let limit): "The URL is longer than the \(limit) bytes that can be sent."
        case .unsupportedScheme(let scheme):
            "The scheme '\(scheme)' is not allowed; http and https are, unless the request says otherwise."
        case .invalidHeader(let name):
            "'\(name)' cannot be sent: a name is of letters, digits and -, a value has no line breaks or control characters."
        case .unsupported(let capability):
            "The transport does not support \(capability.summary), which the request needs (\(capability.rawValue))."
        case .peerRefused(let address): "The request's filter refuses the server's address \(address)."
        case .cancelled: "The load was cancelled."
        case .transportClosed: "The transport was released before the load ended."
        case .invalidStatusCode(let head): "\(head.url.absoluteString) answered with status \(head.status)."
        case .notModified(let head): "\(head.url.absoluteString) has not changed."
        case .responseRefused(let url, let reason):
            "The answer of \(url.absoluteString) was refused: \(Self.clause(reason))."
        case .truncatedBody(let received, let expected):
            expected.map { "The body ended after \(received) of \($0) bytes." }
                ?? "The connection ended within the body, after \(received) bytes."
        case .responseTooLarge(let limit): "The body is longer than the \(limit) bytes that are accepted."
        case .headersTooLarge(let limit): "The header is longer than the \(limit) bytes that are accepted."
        case .invalidResponse(let reason): "The bytes received are no valid response: \(Self.clause(reason))."
        case .tooManyRedirects(let limit): "The load was redirected more than \(limit) times."
        case .invalidRedirect(let target): "The load was redirected to '\(target)', which cannot be loaded."
        case .insecureRedirect(let url):
            "The server redirected from https to \(url.absoluteString), which is not encrypted."
        case .timedOut(.connect): "There was no connection in time."
        case .timedOut(.idle): "No byte was sent or received for too long."
        case .timedOut(.whole): "The load took too long."
        case .cannotFindHost(let reason), .cannotConnect(let reason), .connectionLost(let reason):
            "\(Self.clause(reason))."
        case .tls(let reason): "There is no trusted connection: \(Self.clause(reason))."
        case .authenticationRefused(let url): "\(url.absoluteString) asks for a name and a password that are not known."
        case .constrainedNetwork: "The load is blocked by Low Data Mode."
        case .transport(let code, let reason): "\(Self.clause(reason)) (the transport's error \(code))."
        }
    }

    /// A reason without the full stop and the spaces at its end.
    private static func clause(_ reason: String) -> Substring {
        var reason = reason[...]
        while let last = reason.last, last == "." || last.isWhitespace { reason.removeLast() }
        return reason
    }
}

/// An error of which some cases say that a load was cancelled. `Error.isCancellation` asks it.
public protocol CancellationRepresenting: Error {
    /// Whether this error says that a load was cancelled, rather than that it failed.
    var representsCancellation: Bool { get }
}

extension NetworkError: CancellationRepresenting {
    public var representsCancellation: Bool { self == .cancelled }
}

extension Error {
    /// Whether a stale entry may be used in place of this error, within its time for that (RFC 5861, 4; RFC 9111, 4.2.4).
    ///
    /// It may if the server answered 429 or a status from 500 to 599, or could not be reached, also because of Low Data Mode.
    package var allowsStale: Bool {
        switch self as? NetworkError {
        case .invalidStatusCode(let head): head.status == 429 || (500...599).contains(head.status)
        case .constrainedNetwork: true
        case let error?: error.isConnectionFailure
        case nil: false
        }
    }

    /// Whether the error says that a load was cancelled.
    ///
    /// `CancellationError`, `URLError.cancelled` and ``NetworkError/cancelled`` do, and so do the cases `cancelled`, `superseded` and
    /// `viewGone` of a view's `DisplayError`. An error of your own says it by ``CancellationRepresenting``.
    ///
    /// See `CancellationTests.cancellationsOfAllModulesAreRecognised()`.
    public var isCancellation: Bool {
        if let error = self as? any CancellationRepresenting { return error.representsCancellation }
        return self is CancellationError || (self as? URLError)?.code == .cancelled
    }
}
