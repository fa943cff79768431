import HalcyonEviction

/// A sequence of accesses worked by hand, with what is expected of each.
///
/// One word an access: the entry as a letter, `+` for a hit, `-` for a miss that is kept, `!` for one that is refused, and the
/// letters of those it evicts in order. `a- b- a+ c-b` reads: a and b come in, a is hit, c comes in and b goes.
public struct WorkedSequence {
    /// The words as expected.
    public let expected: String
    private let letters: [UInt8]
    private let sizes: [Character: Int]

    /// A worked sequence; entries that `sizes` does not name size 1.
    public init(_ expected: String, sizes: [Character: Int] = [:]) {
        self.expected = expected
        self.sizes = sizes
        letters = expected.split(separator: " ").compactMap(\.utf8.first)
    }

    /// What `policy` makes of the same accesses, in the same notation; breaches of the rules are appended.
    public func played(by policy: String, capacity: Int) throws -> String {
        try played(by: PolicyCatalogue.classical.policy(policy), capacity: capacity)
    }

    /// What a policy makes of the same accesses, in the same notation; breaches of the rules are appended.
    public func played(by configured: ConfiguredPolicy, capacity: Int) throws -> String {
        let a = UInt8(ascii: "a")
        let entries = letters.map { EntryID($0 - a) }
        let future =
            configured.info.traits.contains(.needsFuture) ? FutureKnowledge(entries: entries, entryCount: 26) : nil
        let context = PolicyContext(capacity: capacity, usesUniformSizes: sizes.isEmpty, future: future)
        let run = CheckedRun(configured, context)
        var words: [String] = []
        for (index, entry) in entries.enumerated() {
            let letter = Character(UnicodeScalar(letters[index]))
            let before = run.record.victims.count
            let outcome = run.cache.access(Access(entry: entry, requestNumber: index, size: sizes[letter] ?? 1))
            let sign = outcome == .hit ? "+" : outcome == .miss ? "-" : "!"
            let victims = run.record.victims[before...].map { Character(UnicodeScalar(UInt8($0) + a)) }
            words.append("\(letter)\(sign)\(String(victims))")
        }
        return (words + run.record.breaches).joined(separator: " ")
    }
}
