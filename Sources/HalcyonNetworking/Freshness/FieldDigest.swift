import HalcyonSupport

/// The digest of a request's header fields, which identifies the response that they select (RFC 9111, 4.1).
package struct FieldDigest: Sendable, Hashable {
    /// The digest without credentials; empty if no other field is set.
    let fields: String
    /// The digest with credentials.
    let all: String

    /// Returns the digest for a load of a user, 16 hexadecimal digits; `nil` if it sets no field that counts. The user's name stands for
    /// the user's credentials, which change more often than what they show; loads without a user differ by them.
    package func name(ofUser user: String?) -> String? {
        let isNamed = user?.isEmpty == false
        return isNamed ? (fields.isEmpty ? nil : fields) : all
    }
}

extension TransportRequest {
    /// Fields that select no response: they ask for a part or a change of it.
    private static let conditional: Set<String> = [
        "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range",
    ]
    private static let credentials: Set<String> = ["authorization", "cookie", "proxy-authorization"]

    /// The digest of the fields that this request sets, without those that only trace it (``MergeKey/tracing``), ask for a part or make
    /// it conditional; `nil` if there are none. O(length).
    package var fieldDigest: FieldDigest? {
        let set = MergeKey.normalized(headers).filter { !Self.conditional.contains($0.name) }
        if set.isEmpty, credential == nil { return nil }
        let plain = set.filter { !Self.credentials.contains($0.name) }
        let login = credential.map { [HeaderFields.Field(name: ":login", value: "\($0.user):\($0.password)")] } ?? []
        return FieldDigest(fields: plain.isEmpty ? "" : Self.digest(plain), all: Self.digest(set + login))
    }

    /// Fields have neither line ends nor NUL, so that no two lists give the same bytes.
    private static func digest(_ fields: [HeaderFields.Field]) -> String {
        var bytes: [UInt8] = []
        for field in fields { bytes += Array(field.name.utf8) + [0] + Array(field.value.utf8) + [10] }
        return SHA256Digest.hexadecimal(bytes.withUnsafeBytes { SHA256Digest.hash($0) }.prefix(8))
    }
}
