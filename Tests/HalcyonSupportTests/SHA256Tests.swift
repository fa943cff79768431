import Foundation
import HalcyonSupport
import Testing

#if canImport(CSHA256)
    import CSHA256
#endif

@Suite("SHA-256 and HMAC-SHA-256", .timeLimit(.minutes(20)), .serialized)
struct SHA256Tests {
    /// The examples of FIPS 180-4 (NIST, "Examples with Intermediate Values: SHA256") and of its long message.
    static let published: [(message: [UInt8], digest: String)] = [
        (Array("abc".utf8), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        ([], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (
            Array(repeating: UInt8(ascii: "a"), count: 1_000_000),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        ),
    ]

    @Test("The digests of NIST's examples are the published ones")
    func publishedExamplesHaveTheirDigests() {
        for (message, digest) in Self.published {
            #expect(SHA256Digest.hexadecimal(message.withUnsafeBytes { SHA256Digest.hash($0) }) == digest)
            #expect(SHA256Digest.hexadecimal(SHA256Digest.hash(Data(message))) == digest)
        }
    }

    /// Test cases 1, 2, 6 and 7 of RFC 4231.
    @Test("The codes of RFC 4231 are the published ones, for keys shorter and longer than a block, whole or in pieces")
    func authenticationCodesOfRFC4231() {
        let cases: [(key: [UInt8], message: String, code: String)] = [
            (
                Array(repeating: 0x0b, count: 20), "Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                Array("Jefe".utf8), "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                Array(repeating: 0xaa, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
            (
                Array(repeating: 0xaa, count: 131),
                "This is a test using a larger than block-size key and a larger than block-size data. The key needs "
                    + "to be hashed before being used by the HMAC algorithm.",
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
            ),
        ]
        for (key, message, code) in cases {
            let bytes = Array(message.utf8)
            for cut in [0, 1, bytes.count / 2, bytes.count] {
                let pieces = [Array(bytes[..<cut]), Array(bytes[cut...])]
                #expect(SHA256Digest.hexadecimal(SHA256Digest.authenticationCode(of: pieces, key: key)) == code)
            }
        }
    }

    #if canImport(CSHA256)
        /// Around the ends of blocks and of the padding; the digest of all digests was made by Python's hashlib:
        /// `sha256(b"".join(sha256(bytes(i * 7 % 256 for i in range(n))).digest() for n in range(300)))`.
        @Test(
            "The portable code and the processor's instructions give the digests of hashlib for each length below 300")
        func bothImplementationsAgreeWithHashlib() {
            defer { halcyon_sha256_use_instructions(1) }
            for instructions: Int32 in [0, 1] {
                halcyon_sha256_use_instructions(instructions)
                let digests = (0..<300).flatMap { count in
                    SHA256Digest.hash(Data((0..<count).map { UInt8($0 * 7 % 256) }))
                }
                #expect(
                    SHA256Digest.hexadecimal(SHA256Digest.hash(Data(digests)))
                        == "f65f14b090e805017546322e618401d41f0710c213e013a5131eb38bbe8f367f")
            }
        }

        @Test("A message that is appended in pieces has the digest of the whole message")
        func piecesHaveTheDigestOfTheWhole() {
            let message = (0..<1_000).map { UInt8($0 * 31 % 251) }
            let whole = SHA256Digest.hash(Data(message))
            for size in [1, 3, 63, 64, 65, 127, 500] {
                var hash = halcyon_sha256()
                halcyon_sha256_start(&hash)
                for start in stride(from: 0, to: message.count, by: size) {
                    let piece = Array(message[start..<min(start + size, message.count)])
                    halcyon_sha256_add(&hash, piece, piece.count)
                }
                var digest = [UInt8](repeating: 0, count: 32)
                halcyon_sha256_finish(&hash, &digest)
                #expect(digest == whole)
            }
        }
    #endif
}
