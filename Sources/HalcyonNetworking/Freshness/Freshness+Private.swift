extension Freshness {
    /// The request fields with which a response may vary and still be the same for all users, unless the request sets them: the
    /// transport sends them alike for everyone.
    private static let common: Set<String> = [
        "accept", "accept-encoding", "accept-language", "origin", "user-agent", "save-data", "dpr", "width",
        "viewport-width",
        "sec-ch-dpr", "sec-ch-width", "sec-ch-viewport-width", "sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site",
    ]

    /// Returns whether a response must not be served to another user than the one who sent the request.
    ///
    /// It is private if `Cache-Control` says so, if the request had credentials (`Authorization`, `Cookie`, a name and a password) and
    /// `Cache-Control` does not say `public`, or if `Vary` names `*`, a field that the request has set, or a field that is not sent
    /// alike for everyone. Source: RFC 9111, 3.5, 4.1 and 5.2.2.7; a cookie counts as a credential here, which the RFC leaves open.
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
