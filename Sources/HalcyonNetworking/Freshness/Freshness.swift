/// The freshness of an answer, which is kept with its data (RFC 9111, 4.2).
///
/// It has what the header fields say and when they came; what that means at a moment is computed. A `304 Not Modified` replaces the
/// fields that it has, and leaves the others as they were (RFC 9111, 3.2 and 4.3.4).
///
/// All times are seconds since 1970 on this machine's clock. docs/http-caching.md has the decisions for the public suite of tests for
/// HTTP caches.
public struct Freshness: Sendable, Hashable {
    /// The directives of `Cache-Control`.
    public var control: CacheControl
    /// The time in `Expires`; `nil` if there is no such field. A text that is no date counts as 1970 (RFC 9111, 5.3).
    public var expires: Int64?
    /// The validators by which to ask the server.
    public var validators: Validators
    /// The time at which the server sent the answer, by its `Date`; without one the time at which it was received.
    public var sent: Int64
    /// The time at which the answer was received.
    public var received: Int64
    /// The age of the answer when it was received, in seconds (RFC 9111, 4.2.3).
    public var age: Int64
    /// The names of the request fields that select the answer (`Vary`), in lower case and sorted. `*` is one of them.
    public var vary: [String]
    /// Whether it may be stored.
    public var isStorable: Bool
    /// Whether a lifetime may be estimated, which depends on the status (RFC 9110, 15.1).
    var allowsEstimate: Bool
    /// Whether the response may be served to its user only. Default: `false`. For the rule see the section "Private content" of the
    /// article on loading images.
    public var isPrivate = false
    /// The digest of the request's fields, if `Vary` names one that the request had set; see ``TransportRequest/fieldDigest``.
    package var variant: FieldDigest?

    /// Creates the freshness that an answer states.
    ///
    /// See `FreshnessTests.maxAgeOverridesExpires()`.
    ///
    /// - Parameters:
    ///   - requested: when the request was sent.
    ///   - received: when the answer came.
    public init(_ head: ResponseHead, requested: Int64, received: Int64) {
        control = CacheControl(head.headers)
        validators = Validators(head)
        vary = Self.vary(head.headers)
        expires = Self.expires(head.headers, received)
        (sent, age) = Self.arrival(head.headers, requested, received)
        self.received = received
        // The statuses of RFC 9110, 15.1, that come with a body.
        let isKnown = [200, 203, 206].contains(head.status)
        allowsEstimate = isKnown || control.isPublic
        isStorable = (!control.noStore || control.mustUnderstand && isKnown) && !vary.contains("*")
    }

    /// Returns the freshness after a `304 Not Modified`: computed again of the stored fields, of which the answer replaces those that it
    /// has. What was private stays so; the rest is private if a `200 OK` to the same request were.
    ///
    /// See `FreshnessTests.notModifiedKeepsWhatTheAnswerLacks()`.
    public func refreshed(by head: ResponseHead, requested: Int64, received: Int64) -> Freshness {
        var new = self
        let headers = head.headers
        if headers["Cache-Control"] != nil { new.control = CacheControl(headers) }
        if headers["Expires"] != nil { new.expires = Self.expires(headers, received) }
        if headers["Vary"] != nil { new.vary = Self.vary(headers) }
        let validators = Validators(head)
        new.validators.etag = validators.etag ?? new.validators.etag
        new.validators.lastModified = validators.lastModified ?? new.validators.lastModified
        // An answer without a date is of the time at which it is received (RFC 9110, 6.6.1).
        new.validators.date = validators.date
        (new.sent, new.age) = Self.arrival(headers, requested, received)
        new.received = received
        new.isStorable = (!new.control.noStore || new.control.mustUnderstand) && !new.vary.contains("*")
        new.isPrivate = isPrivate || head.isPrivate || headers["Cache-Control"] != nil && new.control.isPrivate
        return new
    }

    // MARK: - What it means

    /// Whether it must not be used, once stale, without asking the server.
    public var mustRevalidate: Bool { control.mustRevalidate || control.noCache }

    /// The time until which it may be used without asking the server, by what the server states.
    public var freshUntil: Int64 { freshUntil(share: 0, limit: 0) }

    /// The time until which it may be used while a fresh one is loaded, by what the server states.
    public var staleWhileRevalidateUntil: Int64 {
        mustRevalidate ? freshUntil : freshUntil.adding(control.staleWhileRevalidate ?? 0)
    }

    /// The time until which it may be used if the server fails, by what the server states.
    public var staleIfErrorUntil: Int64 {
        mustRevalidate ? freshUntil : freshUntil.adding(control.staleIfError ?? 0)
    }

    /// Returns the time until which it may be used without asking the server. If the server states none, the lifetime is a share of the
    /// time since the last change (RFC 9111, 4.2.2).
    ///
    /// - Parameters:
    ///   - share: from 0, for no estimate, to 1.
    ///   - limit: the longest estimate in seconds.
    func freshUntil(share: Double, limit: Int64) -> Int64 {
        received.adding(-age).adding(statedLifetime ?? estimate(share, limit))
    }

    /// The seconds from its sending for which the server states it to be fresh; `nil` if the server states none.
    private var statedLifetime: Int64? {
        if control.noCache { return 0 }
        return control.maxAge ?? expires.map { max($0.adding(-sent), 0) }
    }

    private func estimate(_ share: Double, _ limit: Int64) -> Int64 {
        guard share > 0, allowsEstimate, !control.mustRevalidate,
            let changed = HTTPDate.seconds(validators.lastModified, now: received), changed < sent
        else { return 0 }
        return min(Int64(Double(sent - changed) * min(share, 1)), max(limit, 0))
    }

    // MARK: - Reading fields

    /// Returns when an answer was sent, and how old it was when it arrived: as caches on the way state, or as the clocks differ
    /// (RFC 9111, 4.2.3). Of several values of `Age` the first counts; one that is no number is ignored (5.1).
    private static func arrival(
        _ headers: HeaderFields, _ requested: Int64, _ received: Int64
    ) -> (sent: Int64, age: Int64) {
        let sent = HTTPDate.seconds(headers["Date"], now: received) ?? received
        let first = headers["Age"]?.split(separator: ",", omittingEmptySubsequences: false).first
        let stated = first.flatMap { DeltaSeconds.parse($0.trimmingSpaces()) } ?? 0
        return (sent, max(received.adding(-sent), 0, stated.adding(max(received.adding(-requested), 0))))
    }

    private static func expires(_ headers: HeaderFields, _ received: Int64) -> Int64? {
        headers["Expires"].map { HTTPDate.seconds($0, now: received) ?? 0 }
    }

    /// Returns the names in all lines of `Vary`, in lower case and sorted.
    private static func vary(_ headers: HeaderFields) -> [String] {
        let names = headers.values("Vary").flatMap { $0.split(separator: ",") }.map { $0.trimmingSpaces().lowercased() }
        return Set(names).filter { !$0.isEmpty }.sorted()
    }
}

extension Freshness {
    /// The request fields with which a response may vary and still be the same for all users, unless the request sets them. The
    /// transport sends the same values for all users.
    private static let common: Set<String> = [
        "accept", "accept-encoding", "accept-language", "origin", "user-agent", "save-data", "dpr", "width",
        "viewport-width",
        "sec-ch-dpr", "sec-ch-width", "sec-ch-viewport-width", "sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site",
    ]

    /// Returns whether a response must not be served to another user than the one who sent the request. It is private in three cases:
    ///
    /// - `Cache-Control` states it.
    /// - The request had credentials (`Authorization`, `Cookie`, a name and a password), and `Cache-Control` does not state `public`.
    /// - `Vary` names `*`, a field that the request has set, or a field whose value differs between users.
    ///
    /// Source: RFC 9111, 3.5, 4.1 and 5.2.2.7. That a cookie counts as a credential is a decision of this package.
    package static func isPrivate(_ head: ResponseHead, for request: TransportRequest) -> Bool {
        let control = CacheControl(head.headers)
        if control.isPrivate { return true }
        let isAuthorised =
            request.credential != nil || request.headers["Authorization"] != nil || request.headers["Cookie"] != nil
        if isAuthorised, !control.isPublic { return true }
        return vary(head.headers).contains {
            $0 != "accept-encoding" && (request.headers[$0] != nil || !common.contains($0))
        }
    }

    /// Returns whether a response is one of several that a field of the request selects: `Vary` names a field that the request has set.
    /// `Accept-Encoding` selects none, because the transport decodes the body.
    package static func isSelected(_ head: ResponseHead, by request: TransportRequest) -> Bool {
        vary(head.headers).contains { $0 != "accept-encoding" && request.headers[$0] != nil }
    }

    /// Whether other responses may belong to requests with other fields.
    package var mayHaveOthers: Bool { vary.contains { $0 != "accept-encoding" } }

    /// Returns whether another response may belong to a request with these fields: `Vary` names one of them, and the request for this
    /// response had none that it names.
    package func isOther(for headers: HeaderFields) -> Bool {
        variant == nil && vary.contains { $0 != "accept-encoding" && headers[$0] != nil }
    }
}

extension Int64 {
    /// Returns the sum, or the nearest number that can be expressed.
    func adding(_ other: Int64) -> Int64 {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? (other > 0 ? .max : .min) : sum
    }
}

/// Numbers of seconds in header fields (RFC 9111, 1.2.2).
enum DeltaSeconds {
    /// Returns the number that a text of digits alone says, and 2³¹ for larger ones; `nil` for any other text. O(length).
    static func parse(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return min(Int64(text) ?? .max, 2_147_483_648)
    }
}
