import Crypto
import Foundation

/// The first 128 bits of a key's SHA-256 (FIPS 180-4), by which a log knows the key.
///
/// Among a billion keys, two share a digest with a chance of about 10⁻²¹.
struct KeyDigest: Hashable {
    let bytes: Data

    /// The digest of a key's UTF-8 bytes. O(length).
    init(_ key: String) {
        bytes = Data(ByteName(key).withBytes { SHA256.hash(data: $0) }.prefix(16))
    }

    /// 32 digits, in lower case.
    var hexadecimal: String {
        var text: [UInt8] = []
        text.reserveCapacity(32)
        for byte in bytes {
            for digit in [byte >> 4, byte & 15] { text.append(digit < 10 ? 48 + digit : 87 + digit) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
