import HalcyonEviction

/// A small made-up sequence of accesses that touches what policies trip over.
///
/// A second passes between accesses; object `n` has category set `n mod 5 + 1` and a size by ``Sizes``.
public struct MicroTrace: Sendable, CustomStringConvertible {
    /// Which objects follow which.
    public enum Pattern: String, Sendable, CaseIterable {
        /// Few objects take most of the requests.
        case zipf
        /// Every object once.
        case scan
        /// The same objects round and round.
        case loop
        /// Zipf, loops and scans in turn, so that adaptive policies change their mind.
        case mixed
    }

    /// The sizes of objects.
    public enum Sizes: String, Sendable, CaseIterable {
        /// 1 each.
        case unit
        /// 0 to 60, the same at every request.
        case varied
        /// As ``varied``, but one request in 16 finds the object at another size.
        case changing
    }

    /// Which objects follow which.
    public let pattern: Pattern
    /// The sizes of objects.
    public let sizes: Sizes
    /// The requests.
    public let accesses: [Access]
    /// One more than the largest entry.
    public let objectCount: Int

    /// The number of category sets, the empty one included.
    public static let categorySetCount = 6

    /// A trace of `count` requests for `objects` objects; the same seed gives the same trace.
    public init(_ pattern: Pattern, sizes: Sizes, count: Int = 1500, objects: Int = 120, seed: UInt64 = 1) {
        var random = SplitMix64(seed: seed)
        var accesses: [Access] = []
        var largest: EntryID = 0
        for index in 0..<count {
            let entry = MicroTrace.entry(pattern, index: index, objects: objects, random: &random)
            largest = max(largest, entry)
            accesses.append(
                Access(
                    entry: entry, requestNumber: index, time: Int64(index) * 1_000_000,
                    size: MicroTrace.size(sizes, of: entry, random: &random),
                    categories: entry % 5 + 1, user: entry % 3))
        }
        self.pattern = pattern
        self.sizes = sizes
        self.accesses = accesses
        objectCount = Int(largest) + 1
    }

    /// Every pattern at every kind of size.
    public static let all: [MicroTrace] = Pattern.allCases.flatMap { pattern in
        Sizes.allCases.map { MicroTrace(pattern, sizes: $0) }
    }

    /// The pattern and the sizes.
    public var description: String { "\(pattern.rawValue), \(sizes.rawValue) sizes" }

    /// The entries in order.
    public var entries: [EntryID] { accesses.map(\.entry) }

    /// The context of a policy for a cache of `capacity` that serves this trace.
    public func context(
        for policy: ConfiguredPolicy, capacity: Int, seed: UInt64 = 7, roomForEntries: Bool = true
    ) -> PolicyContext {
        PolicyContext(
            capacity: capacity, entries: roomForEntries ? objectCount : 0, usesUniformSizes: sizes == .unit, seed: seed,
            future: policy.info.traits.contains(.needsFuture)
                ? FutureKnowledge(entries: entries, entryCount: objectCount) : nil)
    }

    private static func entry(
        _ pattern: Pattern, index: Int, objects: Int, random: inout SplitMix64
    ) -> EntryID {
        switch pattern {
        case .zipf:
            // A power of a uniform number: close enough to Zipf for this.
            let unit = random.nextUnit()
            return EntryID(Double(objects) * unit * unit * unit)
        case .scan:
            return EntryID(index)
        case .loop:
            return EntryID(index % (objects / 2))
        case .mixed:
            let patterns: [Pattern] = [.zipf, .loop, .zipf, .scan]
            let phase = patterns[index / 150 % patterns.count]
            let entry = MicroTrace.entry(phase, index: index, objects: objects, random: &random)
            return phase == .scan ? entry + EntryID(objects) : entry
        }
    }

    private static func size(_ sizes: Sizes, of entry: EntryID, random: inout SplitMix64) -> Int {
        let own = Int(SplitMix64.mix(UInt64(entry)) % 61)
        switch sizes {
        case .unit: return 1
        case .varied: return own
        case .changing: return random.next(below: 16) == 0 ? own + 1 : own
        }
    }
}
