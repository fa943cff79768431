import HalcyonSimulation

/// A part of a suite's cells: part i of n, as in `--shard 2/4`.
///
/// A cell belongs to the part that the hash of its identity gives, so every machine divides a suite in the same way.
package struct Shard: Sendable, Equatable, CustomStringConvertible {
    /// The number of this part, from 1.
    package let number: Int
    /// The number of parts.
    package let count: Int

    /// Reads `i/n`.
    ///
    /// - Throws: `ReplayError.usage(_:)` for other text.
    package init(parsing text: String) throws(ReplayError) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let number = parts[0], let count = parts[1], count >= 1, (1...count).contains(number)
        else {
            throw .usage("'\(text.shortened)' is not a part: write i/n with i from 1 to n, such as 2/4.")
        }
        self.number = number
        self.count = count
    }

    /// The notation that ``init(parsing:)`` reads.
    package var description: String { "\(number)/\(count)" }

    /// Returns whether a cell belongs to this part.
    ///
    /// - Parameter hash: the name of the cell, in hexadecimal digits.
    func contains(_ hash: String) -> Bool {
        (UInt64(hash.prefix(15), radix: 16) ?? 0) % UInt64(count) == UInt64(number - 1)
    }
}
