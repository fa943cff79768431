import Halcyon
import Testing

@testable import HalcyonCache

extension KeyHasher {
    fileprivate func hash(_ key: String) -> UInt32 { withHashed(key) { $0.hash } }
}

@Suite("Hash of a key", .timeLimit(.minutes(20)))
struct KeyHasherTests {
    @Test("Keys that differ in one digit fill the buckets evenly")
    func similarKeysFillBucketsEvenly() {
        let hasher = KeyHasher()
        let buckets = 1 << 16
        var filled = [Int](repeating: 0, count: buckets)
        for number in 0..<4 * buckets {
            filled[Int(hasher.hash("https://images.example.com/\(number)/full.jpg")) & (buckets - 1)] += 1
        }
        // Pearson's chi-squared over 65,536 buckets of 4 expected: mean 65,535, standard deviation 362.
        let chiSquared = filled.reduce(0.0) { $0 + (Double($1) - 4) * (Double($1) - 4) / 4 }
        #expect(abs(chiSquared - 65_535) < 6 * 362)
    }

    @Test("Length and each byte change the hash, at every length up to 40")
    func lengthAndEveryByteChangeHash() {
        let hasher = KeyHasher()
        var seen: Set<UInt32> = []
        var number = 0
        for length in 0...40 {
            let text = String(repeating: "a", count: length)
            seen.insert(hasher.hash(text))
            number += 1
            for place in 0..<length {
                var changed = Array(text.utf8)
                changed[place] ^= 1
                seen.insert(hasher.hash(String(decoding: changed, as: UTF8.self)))
                number += 1
            }
        }
        #expect(seen.count == number)
    }

    @Test("Two tables hash a key differently")
    func tablesHashDifferently() { #expect(KeyHasher().hash("a") != KeyHasher().hash("a")) }
}
