import Crypto
import Foundation
import HalcyonNetworking

/// Until when an entry may be used and what to ask its server by, with what tells the bytes that this is true of.
struct FreshnessRecord: Codable, Sendable {
    var freshness: Freshness
    /// The SHA-256 of the bytes on disk.
    private let digest: Data

    /// What is known of some bytes. O(bytes).
    init(_ freshness: Freshness, of bytes: Data) {
        self.freshness = freshness
        digest = Data(SHA256.hash(data: bytes))
    }

    /// Whether it is about these bytes. O(bytes).
    func isOf(_ bytes: Data) -> Bool { Data(SHA256.hash(data: bytes)) == digest }

    /// Reads a record from a cache's note; `nil` if there is none or it is damaged.
    init?(note: Data?) {
        guard let note, let record = try? JSONDecoder().decode(FreshnessRecord.self, from: note) else { return nil }
        self = record
    }

    /// The record as a cache's note.
    var note: Data? { try? JSONEncoder().encode(self) }
}
