/// The validators of an answer, by which a server can be asked whether the answer is still current.
///
/// See `FreshnessTests.onlyStrongValidatorsAllowRanges()`.
public struct Validators: Sendable, Hashable {
    /// The entity tag, as the server wrote it: with its quotes and, if it is a weak one, `W/` before them. A tag without quotes, which
    /// RFC 9110 does not know but some servers send, is sent back as it came: the server compares it with what it has sent.
    public var etag: String?
    /// The time of the last change, as the server wrote it.
    public var lastModified: String?
    /// The time at which the answer was sent, as the server wrote it.
    var date: String?

    /// Creates validators of these values.
    public init(etag: String? = nil, lastModified: String? = nil) {
        self.etag = etag
        self.lastModified = lastModified
    }

    /// Creates the validators of an answer. A date that is none is ignored, and a tag without quotes that could be a list or `*`.
    ///
    /// See `FreshnessTests.unquotedTagIsSentBackAsItCame()`.
    public init(_ head: ResponseHead) {
        etag = head.headers["ETag"].flatMap { Self.isTag($0) ? $0 : nil }
        lastModified = head.headers["Last-Modified"].flatMap { HTTPDate.seconds($0) == nil ? nil : $0 }
        date = head.headers["Date"]
    }

    /// Whether there are none, so that the server cannot be asked.
    public var isEmpty: Bool { etag == nil && lastModified == nil }

    /// Makes a request conditional: the server answers `304 Not Modified` if nothing has changed.
    public func apply(to request: inout TransportRequest) {
        request.headers["If-None-Match"] = etag
        // RFC 9110, 13.1.3: ignored beside a tag, but older caches between here and the server use it.
        request.headers["If-Modified-Since"] = lastModified
    }

    /// A strong validator: two answers that have the same one have the same bytes.
    enum Strong: Sendable, Hashable {
        case etag(String)
        case lastModified(String)

        /// The value for `If-Range`.
        var text: String {
            switch self {
            case .etag(let text), .lastModified(let text): text
            }
        }

        /// Whether an answer has the same validator.
        func isCarried(by head: ResponseHead) -> Bool {
            switch self {
            case .etag(let tag): head.headers["ETag"] == tag
            case .lastModified(let date): head.headers["Last-Modified"] == date
            }
        }
    }

    /// The strong validator that `If-Range` may carry: a strong tag. If there is no tag, a date of change at least a second before
    /// the answer's date (RFC 9110, 8.8.2.2), since within one second there may have been two changes.
    var strong: Strong? {
        // A tag without quotes cannot stand in `If-Range`.
        if let etag { return etag.hasPrefix("\"") ? .etag(etag) : nil }
        guard let lastModified, let changed = HTTPDate.seconds(lastModified), let sent = HTTPDate.seconds(date),
            sent > changed
        else { return nil }
        return .lastModified(lastModified)
    }

    private static func isTag(_ text: String) -> Bool {
        guard HeaderFields.isValue(text) else { return false }
        let tag = text.hasPrefix("W/") ? text.dropFirst(2) : text[...]
        if tag.utf8.count >= 2, tag.hasPrefix("\""), tag.hasSuffix("\"") { return true }
        return !text.isEmpty && !text.utf8.contains { $0 == 0x09 || "\",* ".utf8.contains($0) }
    }
}
