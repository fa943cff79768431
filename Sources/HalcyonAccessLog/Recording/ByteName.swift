import Foundation

/// A name whose identity is its bytes: Swift's strings are also equal where only their normalisation differs.
struct ByteName: Hashable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: ByteName, right: ByteName) -> Bool {
        left.withBytes { left in
            right.withBytes { right in
                guard left.count == right.count else { return false }
                guard let left = left.baseAddress, let other = right.baseAddress else { return true }
                return left == other || memcmp(left, other, right.count) == 0
            }
        }
    }

    func hash(into hasher: inout Hasher) { withBytes { hasher.combine(bytes: $0) } }

    /// The UTF-8 bytes, without a copy where the string holds them in one piece.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        text.utf8.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
            ?? Array(text.utf8).withUnsafeBytes(body)
    }
}

extension ByteName {
    /// The longest user or category that is kept as it is, in bytes.
    static let longest = 1_024

    /// The name under which a user or category is kept: itself, or its hash where it is longer than ``longest``.
    static func kept(_ name: String) -> ByteName {
        name.utf8.count <= longest ? ByteName(name) : ByteName("sha256:\(KeyDigest(name).hexadecimal)")
    }

    /// Several names, in order.
    struct List: Hashable {
        let names: [String]

        static func == (left: List, right: List) -> Bool {
            left.names.count == right.names.count
                && zip(left.names, right.names).allSatisfy { ByteName($0) == ByteName($1) }
        }

        func hash(into hasher: inout Hasher) { for name in names { ByteName(name).hash(into: &hasher) } }
    }
}
