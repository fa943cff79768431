import Foundation

/// What a server says before the body.
public struct ResponseHead: Sendable, Hashable {
    /// Who said it.
    public var url: URL
    /// The status code; 0 where the protocol has none.
    public var status: Int
    /// The header fields, as they arrived.
    public var headers: HeaderFields

    /// A head.
    public init(url: URL, status: Int, headers: HeaderFields = HeaderFields()) {
        self.url = url
        self.status = status
        self.headers = headers
    }

    /// How many bytes the server announced for the body as it is sent; `nil` if it did not, or nonsense.
    public var contentLength: Int64? {
        guard let text = headers["Content-Length"], let length = Int64(text), length >= 0 else { return nil }
        return length
    }

    /// Whether the body is compressed on the way, so that its announced length is not that of what arrives.
    package var isCompressed: Bool {
        guard let encoding = headers["Content-Encoding"] else { return false }
        return !encoding.isEmpty && !HeaderFields.equal(encoding, "identity")
    }
}
