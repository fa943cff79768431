import HalcyonEviction

/// What a replay measured, before it is given names.
package struct Measured {
    package var counts: Counts
    /// The state of each cache after the warm-up and at the end.
    package var caches: [(before: CacheState, after: CacheState)]
    package var seconds: Double
    package var entries: EntryCounts
}

/// The entries that the bookkeeping of caches covers at the end of a replay.
package struct EntryCounts: Equatable {
    /// The entry numbers in use: the distinct objects of each cache, counted once for each tier.
    var numbers = 0
    /// The entries that are not resident and that their policy remembers.
    var remembered = 0

    /// Counts what a cache remembers of entries with the numbers from 0 up to `numbers`. O(numbers).
    mutating func add(_ cache: CacheRun, numbers: Int, tiers: Int = 1) {
        self.numbers += numbers * tiers
        remembered += cache.rememberedCount(EntryID(numbers))
    }

    /// The heap bytes for each resident; see ``RunResult/metadataBytesPerResident``.
    func bytesPerResident(_ bytes: MetadataBytes, residents: Int) -> Double {
        guard residents > 0, numbers > 0 else { return 0 }
        let perNumber = Double(bytes.perNumber) / Double(numbers)
        return (perNumber * Double(residents + remembered) + Double(bytes.perResident)) / Double(residents)
    }
}
