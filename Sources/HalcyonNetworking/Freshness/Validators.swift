/// What a server can be asked by, whether what it sent is still so.
public struct Validators: Sendable, Hashable, Codable {
    /// The entity tag, with its quotes and, if it is a weak one, `W/` before them.
    public var etag: String?
    /// When it was changed last, as the server wrote it.
    public var lastModified: String?
    /// When the answer was sent, as the server wrote it.
    var date: String?

    /// Validators as they are.
    public init(etag: String? = nil, lastModified: String? = nil) {
        self.etag = etag
        self.lastModified = lastModified
    }

    /// Those of an answer.
    public init(_ head: ResponseHead) {
        etag = head.headers["ETag"].flatMap { Self.isTag($0) ? $0 : nil }
        lastModified = head.headers["Last-Modified"].flatMap { HTTPDate.seconds($0) == nil ? nil : $0 }
        date = head.headers["Date"]
    }

    /// Whether there are none, so that a server cannot be asked.
    public var isEmpty: Bool { etag == nil && lastModified == nil }

    /// Adds to a request that it need not be answered if nothing has changed.
    public func apply(to request: inout TransportRequest) {
        request.headers["If-None-Match"] = etag
        // RFC 9110, 13.1.3: it is ignored beside a tag; one that is there serves older caches on the way.
        request.headers["If-Modified-Since"] = lastModified
    }

    /// What `If-Range` may carry: a strong tag, or a date of change at least a second before that of the answer (RFC 9110,
    /// 8.8.2.2: within a second there may have been two changes).
    var ifRange: String? {
        if let etag { return etag.hasPrefix("W/") ? nil : etag }
        guard let changed = HTTPDate.seconds(lastModified), let sent = HTTPDate.seconds(date), sent > changed else {
            return nil
        }
        return lastModified
    }

    private static func isTag(_ text: String) -> Bool {
        let tag = text.hasPrefix("W/") ? text.dropFirst(2) : text[...]
        return tag.utf8.count >= 2 && tag.hasPrefix("\"") && tag.hasSuffix("\"") && HeaderFields.isValue(text)
    }
}
