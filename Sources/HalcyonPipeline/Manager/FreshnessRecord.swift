import Foundation
import HalcyonCache
import HalcyonNetworking
import HalcyonSupport

/// What a server says of cached bytes: how long they may be used and how to revalidate them, with a digest of the bytes.
struct FreshnessRecord: Sendable, Equatable {
    var freshness: Freshness
    /// The SHA-256 of the bytes on disk.
    let digest: [UInt8]

    /// The first byte of a note: the version of its form.
    private static let version: UInt8 = 1
    /// The bytes of the digest, and of the check sum behind a note.
    private static let (digestLength, checkLength) = (32, 8)

    /// Creates a record of some bytes. O(bytes).
    init(_ freshness: Freshness, of bytes: Data) {
        self.freshness = freshness
        digest = SHA256Digest.hash(bytes)
    }

    /// Whether it describes these bytes. O(bytes).
    func isOf(_ bytes: Data) -> Bool { SHA256Digest.hash(bytes) == digest }

    /// Reads a record from a cache's note: the version, the digest, the freshness, and the first bytes of the SHA-256 of all that. `nil`
    /// if there is none, or if a byte of it has changed. O(length).
    init?(note: Data?) {
        guard let note, note.count > 1 + Self.digestLength + Self.checkLength, note.first == Self.version else {
            return nil
        }
        let content = note.dropLast(Self.checkLength)
        guard Self.check(content).elementsEqual(note.suffix(Self.checkLength)),
            let freshness = Freshness(encoded: content.dropFirst(1 + Self.digestLength))
        else { return nil }
        self.freshness = freshness
        digest = Array(content.dropFirst().prefix(Self.digestLength))
    }

    /// The record as a cache's note.
    var note: Data {
        let content = Data([Self.version] + digest + freshness.encoded)
        return content + Self.check(content)
    }

    /// Returns what makes the notes of stored bytes: the record of what the server says of them. Without anything to note, the earlier
    /// note stays if it is of the same bytes.
    static func noting(_ freshness: Freshness?) -> NoteMaker {
        { bytes, earlier in
            if let freshness { return FreshnessRecord(freshness, of: bytes).note }
            return FreshnessRecord(note: earlier)?.isOf(bytes) == true ? earlier : nil
        }
    }

    private static func check(_ content: Data) -> ArraySlice<UInt8> {
        SHA256Digest.hash(content).prefix(checkLength)
    }
}
