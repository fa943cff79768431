import Foundation
import HalcyonSupport

/// The first 128 bits of a key's SHA-256 (FIPS 180-4), by which a log knows the key.
///
/// Among a billion keys, two share a digest with a chance of about 10⁻²¹.
struct KeyDigest: Hashable {
    let bytes: Data

    /// The digest of a key's UTF-8 bytes. O(length).
    init(_ key: String) {
        bytes = Data(ByteName(key).withBytes { SHA256Digest.hash($0) }.prefix(16))
    }

    /// 32 digits, in lower case.
    var hexadecimal: String { SHA256Digest.hexadecimal(bytes) }
}
