import Foundation
import HalcyonSupport

/// The key of the hashes that replace names in what is kept across starts: 32 random bytes.
package struct NameHashKey: Sendable, Equatable {
    /// What a name denotes. Equal names of two kinds have different hashes.
    package enum Kind: UInt8, Sendable { case identifier, key, user, category }

    /// The number of bytes.
    package static let count = 32

    package let bytes: Data

    /// Creates a random key.
    package init() {
        var generator = SystemRandomNumberGenerator()
        bytes = Data((0..<Self.count).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    /// Creates a key of some bytes; `nil` if their number is wrong.
    package init?(_ bytes: Data) {
        guard bytes.count == Self.count else { return nil }
        self.bytes = bytes
    }

    /// A text that tells keys apart and does not reveal them.
    package var identifier: String { hash("", .identifier) }

    /// Returns the first 128 bits of the HMAC-SHA-256 of a name (RFC 2104) as 32 hexadecimal digits. O(length).
    package func hash(_ name: String, _ kind: Kind) -> String {
        let code = SHA256Digest.authenticationCode(of: [[kind.rawValue], Array(name.utf8)], key: Array(bytes))
        return SHA256Digest.hexadecimal(code.prefix(Self.digits / 2))
    }

    private static let digits = 32

    /// Returns whether a text has the form of a hash.
    package static func isHash(_ text: String) -> Bool {
        text.utf8.count == digits && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }
}

/// The names of earlier starts of which only hashes are known.
///
/// In the tables of names, a *stand-in* takes the place of such a name. Once the name itself occurs, its hash leads
/// to the stand-in, and so to what was learnt under it. While there are stand-ins of a kind, each new name costs one
/// HMAC.
package struct HashedNames: Sendable {
    /// The key of the hashes; `nil` if names are kept in clear.
    package var key: NameHashKey?
    private var standIns: [NameHashKey.Kind: Set<ByteName>] = [:]

    package init() {}

    /// Returns the stand-in of a hash. No name has this text, except by chance (2⁻¹²⁸).
    package static func standIn(of hash: String) -> String { "\u{0}" + hash }

    /// Returns whether a text is a stand-in.
    package static func isStandIn(_ text: String) -> Bool { text.utf8.first == 0 }

    /// Adds the stand-in of a hash, and returns it.
    package mutating func add(_ hash: String, _ kind: NameHashKey.Kind) -> String {
        let standIn = Self.standIn(of: hash)
        standIns[kind, default: []].insert(standIn)
        return standIn
    }

    /// Removes a stand-in.
    package mutating func remove(_ standIn: String, _ kind: NameHashKey.Kind) { standIns[kind]?.remove(standIn) }

    /// Returns the stand-in of a name; `nil` if there is none.
    package func standIn(for name: String, _ kind: NameHashKey.Kind) -> String? {
        guard let key, let all = standIns[kind], !all.isEmpty else { return nil }
        let standIn = Self.standIn(of: key.hash(name, kind))
        return all.contains(standIn) ? standIn : nil
    }

    /// Returns a name or a stand-in as it is written to a file: hashed, or in clear if there is no key.
    package func kept(_ name: String, _ kind: NameHashKey.Kind) -> String {
        guard let key else { return name }
        return standIns[kind]?.contains(name) == true ? String(name.dropFirst()) : key.hash(name, kind)
    }
}
