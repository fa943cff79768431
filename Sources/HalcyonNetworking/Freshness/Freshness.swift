/// Until when an answer may be used, and how; kept with what was answered (RFC 9111, 4.2).
///
/// All times are seconds since 1970 on this machine's clock.
public struct Freshness: Sendable, Hashable, Codable {
    /// Whether it may be kept at all.
    public var isStorable: Bool
    /// Until when it may be used without asking.
    public var freshUntil: Int64
    /// Until when it may be used while a fresh one is fetched.
    public var staleWhileRevalidateUntil: Int64
    /// Until when it may be used where the server fails.
    public var staleIfErrorUntil: Int64
    /// Whether it may not be used at all, once stale, without asking.
    public var mustRevalidate: Bool
    /// What to ask by.
    public var validators: Validators
    /// Whether the response may be served to its user only: it is `private`, authorised, or varies with what the request says of
    /// its sender; see ``isPrivate(_:for:)``. Default: `false`.
    public var isPrivate = false

    /// What an answer says.
    ///
    /// - Parameters:
    ///   - requested: when the request was sent.
    ///   - received: when the answer came.
    ///   - heuristic: for answers that do not say how long they are fresh: which part of the time since they were changed
    ///     (RFC 9111, 4.2.2 names a tenth), at most a day. 0, the default, takes them for stale at once.
    public init(_ head: ResponseHead, requested: Int64, received: Int64, heuristic: Double = 0) {
        let control = CacheControl(head.headers)
        validators = Validators(head)
        isStorable = !control.noStore && head.headers["Vary"]?.contains("*") != true
        mustRevalidate = control.mustRevalidate || control.noCache
        let lifetime = control.noCache ? 0 : Self.lifetime(head, control, received, heuristic)
        // How old it was when it came: as the caches on the way say, or as the clocks differ (4.2.3).
        let sent = HTTPDate.seconds(head.headers["Date"], now: received) ?? received
        let aged = head.headers["Age"].flatMap { Int64($0) }.map { min(max($0, 0), 2_147_483_648) } ?? 0
        let age = max(max(received - sent, 0), aged + max(received - requested, 0))
        freshUntil = received + lifetime - age
        staleWhileRevalidateUntil = mustRevalidate ? freshUntil : freshUntil + (control.staleWhileRevalidate ?? 0)
        staleIfErrorUntil = mustRevalidate ? freshUntil : freshUntil + (control.staleIfError ?? 0)
    }

    /// What is known after a `304 Not Modified`: what that answer says, and what it is silent about as before.
    public func refreshed(by head: ResponseHead, requested: Int64, received: Int64, heuristic: Double = 0) -> Freshness
    {
        var head = head
        // 3.2: fields that the answer does not have stay as they were.
        if head.headers["ETag"] == nil { head.headers["ETag"] = validators.etag }
        if head.headers["Last-Modified"] == nil { head.headers["Last-Modified"] = validators.lastModified }
        var refreshed = Freshness(head, requested: requested, received: received, heuristic: heuristic)
        refreshed.isPrivate = isPrivate || CacheControl(head.headers).isPrivate
        return refreshed
    }

    /// How long an answer is fresh, from when it was sent.
    private static func lifetime(
        _ head: ResponseHead, _ control: CacheControl, _ received: Int64, _ heuristic: Double
    ) -> Int64 {
        if let maxAge = control.maxAge { return maxAge }
        let sent = HTTPDate.seconds(head.headers["Date"], now: received) ?? received
        if let expires = head.headers["Expires"] {
            // What is no date, as 0, has passed (5.3).
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
