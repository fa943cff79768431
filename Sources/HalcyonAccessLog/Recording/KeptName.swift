import HalcyonSupport

extension ByteName {
    /// The longest user or category that is kept as it is, in bytes.
    static let longest = 1_024

    /// The name under which a user or category is kept: itself, or its hash where it is longer than ``longest``.
    static func kept(_ name: String) -> ByteName {
        name.utf8.count <= longest ? ByteName(name) : ByteName("sha256:\(KeyDigest(name).hexadecimal)")
    }
}
