import Foundation

/// Why a load from the network failed.
public enum NetworkError: Error, Sendable, Equatable {
    /// A limit of time; see ``TransferTimeouts``.
    public enum Timeout: Sendable, Equatable {
        /// There was no connection in time.
        case connect
        /// Nothing arrived for too long.
        case idle
        /// All of it took too long.
        case whole
    }

    /// The request modifier gave no request.
    case emptyRequest
    /// The URL is empty or names no server.
    case invalidURL(String)
    /// The URL's scheme is not among those that are allowed.
    case unsupportedScheme(String)
    /// A header field would not stay one line, or a method is none.
    case invalidHeader(String)
    /// Whoever asked does not want it any more.
    case cancelled
    /// The transport was given up before the transfer ended.
    case transportClosed
    /// The answer has a status that is no success. The head has its URL and header fields, as `Retry-After`; the body was not downloaded.
    case invalidStatusCode(ResponseHead)
    /// What was asked for has not changed since; only a conditional request is answered so.
    case notModified(ResponseHead)
    /// The response check refused the answer.
    case responseRefused(url: URL, reason: String)
    /// The connection ended before the body did; `expected` is its announced length, if there was one.
    case truncatedBody(received: Int64, expected: Int64?)
    /// The body is longer than it may be.
    case responseTooLarge(limit: Int)
    /// The header lines are longer than they may be.
    case headersTooLarge(limit: Int)
    /// What arrived is no answer.
    case invalidResponse(String)
    /// The server sent the load elsewhere too often.
    case tooManyRedirects(limit: Int)
    /// The server sent the load to what is no URL that may be loaded.
    case invalidRedirect(String)
    /// The server redirected from https to this URL of http; see ``ImageDownloader/Configuration/allowsInsecureRedirects``.
    case insecureRedirect(URL)
    /// A limit of time has passed.
    case timedOut(Timeout)
    /// The name of the server (or the proxy) has no address.
    case cannotFindHost(String)
    /// Nobody took the connection.
    case cannotConnect(String)
    /// The connection broke.
    case connectionLost(String)
    /// The server could not prove who it is, or TLS could not be agreed on.
    case tls(String)
    /// The server asked for a name and a password, and there was none, or not the right one.
    case authenticationRefused(url: URL)
    /// The network is to be spared, and the request says that it is not for then.
    case constrainedNetwork
    /// Anything else, with libcurl's number.
    case transport(code: Int, String)
}

extension NetworkError: CustomStringConvertible {
    /// One sentence that says what is wrong.
    public var description: String {
        switch self {
        case .emptyRequest: "The request modifier gave no request."
        case .invalidURL(let text): "'\(text)' is no URL that can be loaded: it needs a scheme and a host."
        case .unsupportedScheme(let scheme):
            "The scheme '\(scheme)' is not allowed; http and https are, unless the request says otherwise."
        case .invalidHeader(let name):
            "'\(name)' cannot be sent: a name is of letters, digits and -, a value has no line breaks or control characters."
        case .cancelled: "The load was cancelled."
        case .transportClosed: "The transport was given up before the load ended."
        case .invalidStatusCode(let head): "\(head.url.absoluteString) answered with status \(head.status)."
        case .notModified(let head): "\(head.url.absoluteString) has not changed."
        case .responseRefused(let url, let reason): "The answer of \(url.absoluteString) was refused: \(reason)."
        case .truncatedBody(let received, let expected):
            expected.map { "The body ended after \(received) of \($0) bytes." }
                ?? "The connection ended within the body, after \(received) bytes."
        case .responseTooLarge(let limit): "The body is longer than the \(limit) bytes that are accepted."
        case .headersTooLarge(let limit): "The header is longer than the \(limit) bytes that are accepted."
        case .invalidResponse(let reason): "What arrived is no answer: \(reason)."
        case .tooManyRedirects(let limit): "The load was sent elsewhere more than \(limit) times."
        case .invalidRedirect(let target): "The load was sent to '\(target)', which cannot be loaded."
        case .insecureRedirect(let url):
            "The server redirected from https to \(url.absoluteString), which is not encrypted."
        case .timedOut(.connect): "There was no connection in time."
        case .timedOut(.idle): "Nothing arrived for too long."
        case .timedOut(.whole): "The load took too long."
        case .cannotFindHost(let reason), .cannotConnect(let reason), .connectionLost(let reason):
            "\(reason)."
        case .tls(let reason): "There is no trusted connection: \(reason)."
        case .authenticationRefused(let url): "\(url.absoluteString) asks for a name and a password that are not known."
        case .constrainedNetwork: "The network is to be spared, and this load is not for then."
        case .transport(let code, let reason): "\(reason) (libcurl's error \(code))."
        }
    }
}

extension Error {
    /// Whether the error says that a load was cancelled: `CancellationError`, ``NetworkError/cancelled`` or `URLError.cancelled`.
    public var isCancellation: Bool {
        if self is CancellationError || self as? NetworkError == .cancelled { return true }
        return (self as? URLError)?.code == .cancelled
    }
}
