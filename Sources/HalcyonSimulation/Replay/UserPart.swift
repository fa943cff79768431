import HalcyonSupport

/// A part of the users of a trace, so that per-user caches can be replayed in parts, on one machine or many.
///
/// A user belongs to part 1 + `hash(of:)` mod n of n. The number of a user is that in the whole trace, in order of first
/// appearance, so the parts do not depend on names or machines. All counts of n parts add up to those of the whole trace:
/// a cache of one user does the same in both.
///
/// ```swift
/// job.users = try UserPart(parsing: "1/4")
/// ```
public struct UserPart: Sendable, Hashable, CustomStringConvertible {
    /// The number of this part, from 1.
    public let number: Int
    /// The number of parts.
    public let count: Int

    /// Reads `i/n`: part i, from 1, of n parts.
    ///
    /// - Throws: ``ReplayError/usage(_:)`` for any other text.
    public init(parsing text: String) throws(ReplayError) {
        let sides = text.split(separator: "/", omittingEmptySubsequences: false)
        guard sides.count == 2, let number = Self.whole(sides[0]), let count = Self.whole(sides[1]), number >= 1,
            number <= count, count <= Int(UInt32.max)
        else {
            throw .usage("'\(text)' is no part of the users: write i/n with i from 1 to n, such as 1/4.")
        }
        self.number = number
        self.count = count
    }

    /// Creates part `number`, from 1, of `count` parts.
    init(number: Int, of count: Int) { (self.number, self.count) = (number, count) }

    /// Returns a part of this part, from 1.
    func divided(_ part: Int, of parts: Int) -> UserPart {
        UserPart(number: number + count * (part - 1), of: count * parts)
    }

    /// `1/4`.
    public var description: String { "\(number)/\(count)" }

    /// Returns whether a user belongs to this part. O(1).
    ///
    /// - Parameter user: the number of the user in the whole trace.
    @inline(__always)
    package func contains(_ user: UInt32) -> Bool { Self.hash(of: user) % UInt64(count) == UInt64(number - 1) }

    /// Returns the hash that assigns a user to a part. It is the first output of SplitMix64 that starts from the number of
    /// the user, and is fixed for all versions. Source: Steele, Lea and Flood, "Fast splittable pseudorandom number
    /// generators", 2014.
    @inline(__always)
    package static func hash(of user: UInt32) -> UInt64 { SplitMix64.mix(UInt64(user) &+ 0x9E37_79B9_7F4A_7C15) }

    /// Returns the number that digits without a sign stand for.
    private static func whole(_ digits: Substring) -> Int? {
        digits.utf8.allSatisfy { (48...57).contains($0) } ? Int(digits) : nil
    }
}
