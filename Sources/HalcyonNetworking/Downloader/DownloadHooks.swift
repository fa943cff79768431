import Foundation

/// Decides whether an answer is accepted. Both functions have default implementations.
public protocol ImageDownloadResponseCheck: Sendable {
    /// Whether a status is a success; by default 200 to 299, and 0 where the protocol has none. It is called when the head has arrived:
    /// the body of an answer that is refused is not downloaded.
    func isValidStatusCode(_ code: Int, for response: ResponseHead) -> Bool
    /// The reason why an answer with an accepted status is refused, in half a sentence; `nil`, the default, accepts it.
    func refusal(of response: ResponseHead, body: Data) -> String?
}

extension ImageDownloadResponseCheck {
    public func isValidStatusCode(_ code: Int, for response: ResponseHead) -> Bool {
        code == 0 || (200..<300).contains(code)
    }

    public func refusal(of response: ResponseHead, body: Data) -> String? { nil }
}

/// Accepts every answer whose status is a success.
public struct StatusCheck: ImageDownloadResponseCheck {
    /// Creates the check.
    public init() {}
}

/// Observes the transfers of an ``ImageDownloader``, may cancel them, and may change their data. All functions have default
/// implementations that change nothing.
///
/// Each is called once for a transfer, whatever the number of loads that share it, and never on the transport's thread or in a lock.
/// The transfer waits until a function returns; other transfers do not. A function runs in a task, so that it must not block its thread.
/// If the transfer is cancelled, so is that task.
public protocol DownloadHooks: Sendable {
    /// A request is about to be sent. Redirects, challenges and resumed parts that belong to it are not reported.
    func willDownload(_ request: TransportRequest) async
    /// The head of an answer has arrived that is no redirect and has an accepted status.
    ///
    /// - Returns: whether to download the body.
    func didReceive(_ response: ResponseHead, for request: TransportRequest) async -> DownloadDisposition
    /// The body has arrived, and has not been processed.
    ///
    /// - Returns: the data for all processors, by default the data itself; `nil` fails the transfer with
    ///   ``NetworkError/responseRefused(url:reason:)``.
    func didDownload(_ data: Data, from response: ResponseHead, for request: TransportRequest) async -> Data?
    /// The transfer has ended: with the head of the answer, or with the error that all its loads get.
    func didFinish(_ request: TransportRequest, with result: Result<ResponseHead, any Error>) async
}

extension DownloadHooks {
    public func willDownload(_ request: TransportRequest) async {}

    public func didReceive(_ response: ResponseHead, for request: TransportRequest) async -> DownloadDisposition {
        .allow
    }

    public func didDownload(_ data: Data, from response: ResponseHead, for request: TransportRequest) async -> Data? {
        data
    }

    public func didFinish(_ request: TransportRequest, with result: Result<ResponseHead, any Error>) async {}
}

/// What to do with the body of an answer.
public enum DownloadDisposition: Sendable, Hashable {
    /// Download it.
    case allow
    /// Fail the transfer with ``NetworkError/responseRefused(url:reason:)``.
    case cancel
}
