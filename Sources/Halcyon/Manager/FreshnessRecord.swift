import Crypto
import Foundation

/// Until when an entry may be used and what to ask its server by, with what tells the bytes that this is true of.
struct FreshnessRecord: Codable, DataTransformable, Sendable {
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

    func toData() throws -> Data { try JSONEncoder().encode(self) }
    static func fromData(_ data: Data) throws -> FreshnessRecord {
        try JSONDecoder().decode(FreshnessRecord.self, from: data)
    }
}
