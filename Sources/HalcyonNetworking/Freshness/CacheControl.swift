/// The directives of `Cache-Control` for a cache of one user (RFC 9111, 5.2.2; RFC 5861; RFC 8246).
///
/// See `FreshnessTests.cacheControlIsParsed()`.
public struct CacheControl: Sendable, Hashable {
    /// How many seconds the answer is fresh.
    public var maxAge: Int64?
    /// It must not be kept.
    public var noStore = false
    /// It must not be used without asking.
    public var noCache = false
    /// Once stale, it must not be used without asking, whatever a user would accept.
    public var mustRevalidate = false
    /// A cache that knows the status may keep it in spite of ``noStore``.
    public var mustUnderstand = false
    /// It does not change as long as it is fresh.
    public var isImmutable = false
    /// Whether the response is for one user.
    public var isPrivate = false
    /// Whether the response is for all users, also with credentials in the request.
    public var isPublic = false
    /// How many seconds after it was fresh it may be used while a fresh one is fetched.
    public var staleWhileRevalidate: Int64?
    /// How many seconds after it was fresh it may be used where the server fails.
    public var staleIfError: Int64?

    /// Nothing is said.
    public init() {}

    /// What all fields of the name say together. A directive that is said twice counts as it stands first; a number that is
    /// none makes what it belongs to stale at once. O(length).
    public init(_ headers: HeaderFields) {
        var seen: Set<String> = []
        for value in headers.values("Cache-Control") {
            for directive in Self.split(value) {
                // Spaces around the sign are no part of the grammar: they make it another directive, or a number that is none.
                let parts = directive.split(separator: "=", maxSplits: 1).map(String.init)
                guard let name = parts.first?.lowercased(), seen.insert(name).inserted else { continue }
                take(name, parts.count > 1 ? parts[1] : nil)
            }
        }
    }

    private mutating func take(_ name: String, _ argument: String?) {
        switch name {
        case "max-age": maxAge = Self.seconds(argument)
        case "no-store": noStore = true
        // With names of fields it speaks of those alone.
        case "no-cache": noCache = argument == nil
        case "must-revalidate": mustRevalidate = true
        case "must-understand": mustUnderstand = true
        case "immutable": isImmutable = true
        case "private": isPrivate = true
        case "public": isPublic = true
        case "stale-while-revalidate": staleWhileRevalidate = Self.seconds(argument)
        case "stale-if-error": staleIfError = Self.seconds(argument)
        default: break
        }
    }

    /// The seconds of an argument, with or without quotes; what is too large is 2³¹, as RFC 9111, 1.2.2 says.
    private static func seconds(_ argument: String?) -> Int64 {
        guard var text = argument else { return 0 }
        if text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") { text = String(text.dropFirst().dropLast()) }
        return DeltaSeconds.parse(text) ?? 0
    }

    /// The directives between commas that stand in no quotes.
    private static func split(_ value: String) -> [String] {
        var parts: [String] = [""]
        var isQuoted = false
        for character in value {
            if character == "\"" { isQuoted.toggle() }
            if character == ",", !isQuoted { parts.append("") } else { parts[parts.count - 1].append(character) }
        }
        return parts.map { $0.trimmingSpaces() }.filter { !$0.isEmpty }
    }
}

extension StringProtocol {
    /// Without spaces and tabs at both ends.
    func trimmingSpaces() -> String {
        let head = drop { $0 == " " || $0 == "\t" }
        guard let last = head.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return String(head[...last])
    }
}
