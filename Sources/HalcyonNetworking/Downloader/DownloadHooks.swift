import Foundation

/// Decides whether an answer is taken. A check of one's own overrides what it needs to.
public protocol ImageDownloadResponseCheck: Sendable {
    /// Whether a status is a success; by default 200 to 299, and 0 where the protocol has none.
    func isValidStatusCode(_ code: Int, for response: ResponseHead) -> Bool
    /// Why an answer of such a status is not taken, in half a sentence; `nil`, the default, takes it.
    func refusal(of response: ResponseHead, body: Data) -> String?
}

extension ImageDownloadResponseCheck {
    public func isValidStatusCode(_ code: Int, for response: ResponseHead) -> Bool {
        code == 0 || (200..<300).contains(code)
    }

    public func refusal(of response: ResponseHead, body: Data) -> String? { nil }
}

/// Takes every answer whose status is a success.
public struct StatusCheck: ImageDownloadResponseCheck {
    /// The check.
    public init() {}
}
