import Foundation

/// The numbers of look-ups by the tier that answered them.
public struct TierCounts: Sendable, Equatable {
    /// The look-ups answered from memory.
    public var memory = 0
    /// The look-ups answered from disk.
    public var disk = 0
    /// The look-ups that missed in both tiers.
    public var none = 0

    /// Creates counts, by default 0.
    public init(memory: Int = 0, disk: Int = 0, none: Int = 0) {
        self.memory = memory
        self.disk = disk
        self.none = none
    }

    static func + (left: TierCounts, right: TierCounts) -> TierCounts {
        TierCounts(memory: left.memory + right.memory, disk: left.disk + right.disk, none: left.none + right.none)
    }

    package mutating func add(_ type: CacheType) {
        switch type {
        case .memory: memory += 1
        case .disk: disk += 1
        case .none: none += 1
        }
    }
}

/// The counts of an ``ImageCache`` since it was created.
public struct CacheStatistics: Sendable, Equatable {
    /// The look-ups.
    public var lookUps = TierCounts()
    /// The look-ups by the categories that the caller named. Names that Swift's strings hold to be equal, such as the two encodings of
    /// `é`, are categories of their own everywhere else, and counted together in tables by `String`.
    public var lookUpsByCategory: [String: TierCounts] = [:]
    /// The number of stores on disk that failed.
    public var diskFailures = 0
    /// The last reason why what a policy had learned (``DiskStorageConfig/keepsLearning``) was not used or not
    /// written, in one sentence.
    public var policyFault: String?
    /// The prefetches and their uses.
    public var prefetches = PrefetchCounts()
    /// The statistics of the memory storage: removals by reason, sizes, and contents by category.
    public var memory = StorageStatistics()
    /// The statistics of the disk storage. Its sizes are bytes on the disk.
    public var disk = StorageStatistics()
}

extension CacheStatistics {
    /// Adds the hits that the memory storage counted: in total, and by the categories that the caller named.
    mutating func add(_ hits: (all: Int, byCategory: [String: Int])) {
        lookUps.memory += hits.all
        for (category, count) in hits.byCategory {
            lookUpsByCategory[category, default: TierCounts()].memory += count
        }
    }
}

extension CacheStatistics: CustomStringConvertible {
    /// Lines for people: hit ratios, contents, removals, prefetches and failures. Ratios are shares of all look-ups.
    ///
    /// ```
    /// look-ups: 1,000; memory 71.2 %, disk 18.8 %, misses 10.0 %
    /// memory: 4,194,304 bytes, 64 entries; 212 stores, 0 refused; removed: 148 evicted
    /// disk: 9,437,184 bytes, 160 entries; 100 stores, 0 refused; removed: 3 evicted, 1 expired
    /// ```
    public var description: String {
        let total = lookUps.memory + lookUps.disk + lookUps.none
        func share(_ count: Int) -> String { total == 0 ? "–" : "\(Self.decimal(count, of: total)) %" }
        var lines = [
            "look-ups: \(Self.grouped(total)); memory \(share(lookUps.memory)), disk \(share(lookUps.disk)), "
                + "misses \(share(lookUps.none))",
            "memory: \(memory.summary)", "disk: \(disk.summary)",
        ]
        if prefetches.prefetched > 0 {
            lines.append(
                "prefetches: \(Self.grouped(prefetches.prefetched)); \(Self.grouped(prefetches.used)) used, "
                    + "\(Self.grouped(prefetches.wasted)) wasted")
        }
        if diskFailures > 0 { lines.append("failures: \(Self.grouped(diskFailures))") }
        return lines.joined(separator: "\n")
    }

    /// Returns a percentage with one decimal place, rounded half up, in the same form in every locale.
    private static func decimal(_ count: Int, of total: Int) -> String {
        let tenths = Int((Double(count) / Double(total) * 1_000).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// Returns a number with a comma before each three digits.
    fileprivate static func grouped(_ number: Int) -> String {
        var digits = Array(String(number.magnitude))
        for place in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: place) }
        return (number < 0 ? "-" : "") + String(digits)
    }
}

extension StorageStatistics {
    /// The contents, stores and removals in one line.
    fileprivate var summary: String {
        let reasons = RemovalReason.allCases.compactMap { reason in
            removals[reason].map { "\(CacheStatistics.grouped($0)) \(reason.rawValue)" }
        }
        let removed = reasons.isEmpty ? "none" : reasons.joined(separator: ", ")
        let (bytes, entries) = (CacheStatistics.grouped(cost), CacheStatistics.grouped(count))
        let followed = Int(policyMetrics["shadow_decisions"] ?? 0)
        let shadows = followed == 0 ? "" : "; \(CacheStatistics.grouped(followed)) decisions left to another policy"
        return "\(bytes) bytes, \(entries) entries; \(CacheStatistics.grouped(stores)) stores, "
            + "\(CacheStatistics.grouped(refusals)) refused; removed: \(removed)\(shadows)"
    }
}
