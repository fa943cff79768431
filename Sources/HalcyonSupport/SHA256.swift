import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#else
    import CSHA256
#endif

/// SHA-256 (FIPS 180-4) and the message authentication code that is made of it (RFC 2104).
///
/// Apple's platforms use CryptoKit (never compiled). Elsewhere a C file of this package computes it, so that a cache links
/// no library of TLS for the names of its files.
package enum SHA256Digest {
    /// Returns the 32 bytes of the digest of some bytes. O(bytes).
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        #if canImport(CryptoKit)
            return Array(SHA256.hash(data: bytes))
        #else
            var hash = halcyon_sha256()
            halcyon_sha256_start(&hash)
            halcyon_sha256_add(&hash, bytes.baseAddress, bytes.count)
            return finish(&hash)
        #endif
    }

    /// Returns the 32 bytes of the digest of some data. O(bytes).
    package static func hash(_ data: Data) -> [UInt8] { data.withUnsafeBytes { hash($0) } }

    /// Returns the 32 bytes of HMAC-SHA-256 of a message, a list of pieces that are read as one. O(bytes).
    package static func authenticationCode(of pieces: [[UInt8]], key: [UInt8]) -> [UInt8] {
        #if canImport(CryptoKit)
            var code = HMAC<SHA256>(key: SymmetricKey(data: key))
            for piece in pieces { code.update(data: piece) }
            return Array(code.finalize())
        #else
            let block = 64
            let short = key.count > block ? key.withUnsafeBytes { hash($0) } : key
            let padded = short + Array(repeating: 0, count: block - short.count)
            var inner = halcyon_sha256()
            halcyon_sha256_start(&inner)
            for piece in [padded.map { $0 ^ 0x36 }] + pieces { halcyon_sha256_add(&inner, piece, piece.count) }
            var outer = halcyon_sha256()
            halcyon_sha256_start(&outer)
            for piece in [padded.map { $0 ^ 0x5c }, finish(&inner)] { halcyon_sha256_add(&outer, piece, piece.count) }
            return finish(&outer)
        #endif
    }

    /// Returns bytes as hexadecimal digits in lower case, two a byte.
    package static func hexadecimal(_ bytes: some Collection<UInt8>) -> String {
        String(unsafeUninitializedCapacity: 2 * bytes.count) { digits in
            var place = 0
            for byte in bytes {
                for digit in [byte >> 4, byte & 15] {
                    digits[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit
                    place += 1
                }
            }
            return place
        }
    }

    #if !canImport(CryptoKit)
        private static func finish(_ hash: inout halcyon_sha256) -> [UInt8] {
            [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
                if let start = digest.baseAddress { halcyon_sha256_finish(&hash, start) }
                count = 32
            }
        }
    #endif
}
