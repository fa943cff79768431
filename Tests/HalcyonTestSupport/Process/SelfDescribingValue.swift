import Foundation
import HalcyonSupport

/// Bytes that say whose they are and which, so that a truncated or mixed value is recognised.
public enum SelfDescribingValue {
    /// The bytes of a version of a key's value; their number follows from both.
    ///
    /// - Parameter words: their number is at most so many times 8, and what the two lines at the start take.
    public static func bytes(key: String, version: Int, words: UInt64 = 2_500) -> Data {
        var random = SplitMix64(seed: UInt64(version) &* 31 &+ UInt64(key.utf8.reduce(7) { ($0 &* 31) &+ Int($1) }))
        var data = Data("\(key)\n\(version)\n".utf8)
        for _ in 0..<Int(random.next() % words) {
            withUnsafeBytes(of: random.next()) { data.append(contentsOf: $0) }
        }
        return data
    }

    /// The version that these bytes are of that key, whole; `nil` if they are anything else.
    public static func version(of data: Data, key: String, words: UInt64 = 2_500) -> Int? {
        let lines = data.split(separator: 10, maxSplits: 2, omittingEmptySubsequences: false)
        guard lines.count == 3, lines[0].elementsEqual(key.utf8),
            let version = Int(String(decoding: lines[1], as: UTF8.self)),
            bytes(key: key, version: version, words: words) == data
        else { return nil }
        return version
    }
}
