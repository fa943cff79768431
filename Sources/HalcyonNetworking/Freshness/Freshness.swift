/// The freshness of an answer, which is kept with its data (RFC 9111, 4.2).
///
/// All times are seconds since 1970 on this machine's clock.
public struct Freshness: Sendable, Hashable, Codable {
    /// Whether it may be stored.
    public var isStorable: Bool
    /// The time until which it may be used without asking the server.
    public var freshUntil: Int64
    /// The time until which it may be used while a fresh one is loaded.
    public var staleWhileRevalidateUntil: Int64
    /// The time until which it may be used if the server fails.
    public var staleIfErrorUntil: Int64
    /// Whether it must not be used, once stale, without asking the server.
    public var mustRevalidate: Bool
    /// The validators by which to ask the server.
    public var validators: Validators
    /// Whether the response may be served to its user only. Default: `false`. For the rule see the section "Private content" of the
    /// article on loading images.
    public var isPrivate = false

    /// Creates the freshness that an answer states.
    ///
    /// See `FreshnessTests.maxAgeOverridesExpires()`.
    ///
    /// - Parameters:
    ///   - requested: when the request was sent.
    ///   - received: when the answer came.
    ///   - heuristic: the lifetime of answers that state none, as a fraction of the time since their last change, at most a day.
    ///     RFC 9111, 4.2.2, names a tenth. 0, the default, makes them stale at once.
    public init(_ head: ResponseHead, requested: Int64, received: Int64, heuristic: Double = 0) {
        let control = CacheControl(head.headers)
        validators = Validators(head)
        isStorable = !control.noStore && head.headers["Vary"]?.contains("*") != true
        mustRevalidate = control.mustRevalidate || control.noCache
        let lifetime = control.noCache ? 0 : Self.lifetime(head, control, received, heuristic)
        // Its age on arrival: as caches on the way state, or as the clocks differ (4.2.3).
        let sent = HTTPDate.seconds(head.headers["Date"], now: received) ?? received
        let aged = head.headers["Age"].flatMap { Int64($0) }.map { min(max($0, 0), 2_147_483_648) } ?? 0
        let age = max(max(received - sent, 0), aged + max(received - requested, 0))
        freshUntil = received + lifetime - age
        staleWhileRevalidateUntil = mustRevalidate ? freshUntil : freshUntil + (control.staleWhileRevalidate ?? 0)
        staleIfErrorUntil = mustRevalidate ? freshUntil : freshUntil + (control.staleIfError ?? 0)
    }

    /// Returns the freshness after a `304 Not Modified`: as that answer states, with fields that it lacks as before. What was private
    /// stays so; the rest is private if a `200 OK` to the same request were.
    ///
    /// See `FreshnessTests.notModifiedRenewsLifetime()`.
    public func refreshed(by head: ResponseHead, requested: Int64, received: Int64, heuristic: Double = 0) -> Freshness
    {
        var head = head
        // 3.2: fields that the answer does not have stay as they were.
        if head.headers["ETag"] == nil { head.headers["ETag"] = validators.etag }
        if head.headers["Last-Modified"] == nil { head.headers["Last-Modified"] = validators.lastModified }
        var refreshed = Freshness(head, requested: requested, received: received, heuristic: heuristic)
        refreshed.isPrivate = isPrivate || head.isPrivate || CacheControl(head.headers).isPrivate
        return refreshed
    }

    /// The seconds from its sending for which an answer is fresh.
    private static func lifetime(
        _ head: ResponseHead, _ control: CacheControl, _ received: Int64, _ heuristic: Double
    ) -> Int64 {
        if let maxAge = control.maxAge { return maxAge }
        let sent = HTTPDate.seconds(head.headers["Date"], now: received) ?? received
        if let expires = head.headers["Expires"] {
            // An invalid date, as 0, has passed (5.3).
            return max((HTTPDate.seconds(expires, now: received) ?? sent) - sent, 0)
        }
        guard heuristic > 0, let changed = HTTPDate.seconds(head.headers["Last-Modified"], now: received),
            changed < sent
        else { return 0 }
        return min(Int64(Double(sent - changed) * min(heuristic, 1)), 86_400)
    }

    enum CodingKeys: String, CodingKey {
        case isStorable, freshUntil, staleWhileRevalidateUntil, staleIfErrorUntil, mustRevalidate, validators, isPrivate
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        isStorable = try container.decode(Bool.self, forKey: .isStorable)
        freshUntil = try container.decode(Int64.self, forKey: .freshUntil)
        staleWhileRevalidateUntil = try container.decode(Int64.self, forKey: .staleWhileRevalidateUntil)
        staleIfErrorUntil = try container.decode(Int64.self, forKey: .staleIfErrorUntil)
        mustRevalidate = try container.decode(Bool.self, forKey: .mustRevalidate)
        validators = try container.decode(Validators.self, forKey: .validators)
        // Absent in what earlier versions have kept.
        isPrivate = try container.decodeIfPresent(Bool.self, forKey: .isPrivate) ?? false
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
        let sent = Set(request.headers.fields.map { $0.name.lowercased() })
        return head.headers.values("Vary").contains { value in
            value.split(separator: ",").contains { name in
                let name = name.filter { $0 != " " && $0 != "\t" }.lowercased()
                return !name.isEmpty && name != "accept-encoding" && (sent.contains(name) || !common.contains(name))
            }
        }
    }
}
