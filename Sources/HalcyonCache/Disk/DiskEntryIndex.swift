import HalcyonEviction
import HalcyonSupport

/// The entries of a disk storage: its entry index, and the changes that are not yet written to the files and the
/// index database. It does no I/O and has no lock; ``FileStore`` provides both.
struct DiskEntryIndex: ~Copyable {
    /// The state of the listing of the folder.
    enum Listing {
        /// The folder was not listed yet. Files that are not in the index may exist.
        case pending
        /// All files are in the index.
        case complete
        /// The listing failed. Files that are not in the index may exist, until ``FileStore/measure()`` lists them.
        case failed
    }

    var config: DiskStorageConfig
    var entries: EntryIndex
    var listing = Listing.pending
    /// Whether the storage is closed, so that another one may use the folder.
    var isClosed = false
    var prints = Fingerprints()
    private var lengths: [Int] = []
    private var accessed: [Int64] = []
    private var origins: [EntryOrigin] = []
    /// The loads before the end of the listing. The policy receives them afterwards.
    var earlyLoads: [(name: String, time: Int64, extending: ExpirationExtending, context: AccessContext)] = []
    /// The files whose times on the disk are out of date.
    private var untouched: Set<ByteName> = []
    /// The files whose rows in the index database are out of date.
    var unindexed: Set<ByteName> = []
    /// The files whose removal failed.
    var undeleted: Set<ByteName> = []
    var isFlushScheduled = false

    init(config: DiskStorageConfig, entries: consuming EntryIndex) {
        self.config = config
        self.entries = entries
    }

    /// Serves a store; see ``EntryIndex/store(_:_:cost:at:expiration:staysInBackground:context:deadline:renewal:)``.
    mutating func store(
        _ name: String, _ status: CacheFolder.Status, at now: Int64, expiration: StorageExpiration,
        context: AccessContext, print: UInt64
    ) -> (isKept: Bool, removals: [Removal]) {
        let wasThere = entries.resident(name) != nil
        let entry = entries.hasher.withHashed(name) {
            entries.store(name, $0, cost: status.size, at: now, expiration: expiration, context: context)
        }
        var removals = takeRemovals()
        if let entry {
            if wasThere { prints.remove(entry) }
            note(
                entry, name, length: status.length, accessed: now, print: print, origin: context.origin ?? .unknown)
            untouched.remove(name)
            undeleted.remove(name)
            // The file of this name was replaced. It must not be removed, whatever the reason for the old value's
            // removal.
            removals.removeAll { ByteName($0.key) == name }
        }
        return (entry != nil, removals)
    }

    /// Adds an entry that was found on the disk, and returns whether it is kept.
    mutating func adopt(_ row: IndexDatabase.Row) -> Bool {
        let wasThere = entries.resident(row.name) != nil
        let entry = entries.hasher.withHashed(row.name) {
            entries.store(
                row.name, $0, cost: row.size, at: row.accessed, expiration: .never,
                context: AccessContext(categories: row.categories), deadline: row.expires,
                renewal: Renewal(span: row.renewal))
        }
        guard let entry else {
            unindexed.insert(row.name)
            return false
        }
        if wasThere { prints.remove(entry) }
        note(
            entry, row.name, length: row.length, accessed: row.accessed, print: row.fingerprint, origin: row.origin)
        unindexed.remove(row.name)
        return true
    }

    /// Adds the files that a repeated listing found and that are not in the index. Files that are not kept are to be
    /// removed.
    mutating func complete(with files: [(name: String, status: CacheFolder.Status)]) {
        let unknown = files.filter { entries.resident($0.name) == nil && !undeleted.contains($0.name) }
        for row in DiskRecovery.merge(files: unknown, rows: []).residents where !adopt(row) {
            undeleted.insert(row.name)
        }
        listing = .complete
    }

    /// Updates an entry to the metadata of its file; `nil` if there is no file.
    mutating func correct(_ name: String, _ status: CacheFolder.Status?) {
        guard let entry = entries.resident(name) else { return }
        guard let status else { return entries.remove(entry, reason: .lost) }
        var row = row(entry)
        if status.size == row.size { return }
        (row.size, row.length) = (status.size, status.length)
        _ = adopt(row)
        unindexed.insert(name)
    }

    /// Removes the entries whose origin satisfies a condition. O(numbers).
    mutating func remove(where holds: (EntryOrigin) -> Bool) {
        for entry in entries.residents(where: { entry, _ in holds(origins[Int(entry)]) }) {
            entries.remove(entry, reason: .removed)
        }
    }

    /// The sizes of all entries. O(n).
    var sizes: [(name: String, size: Int)] {
        entries.residents { _, _ in true }.map { (entries.key(of: $0), entries.cost(of: $0)) }
    }

    /// Removes all entries, because the folder no longer exists. Other files may be in its place.
    mutating func loseAll() {
        for entry in entries.residents(where: { _, _ in true }) { entries.remove(entry, reason: .lost) }
        listing = .failed
    }

    /// Restarts with another folder in place of the old one, and drops all pending changes.
    ///
    /// - Parameter files: the files in the folder; `nil` if it could not be listed.
    mutating func restart(with files: [(name: String, status: CacheFolder.Status)]?) {
        (unindexed, untouched, undeleted) = ([], [], [])
        if let files { complete(with: files) } else { listing = .failed }
    }

    /// Serves a load, and returns whether it was a hit.
    mutating func load(_ name: String, at now: Int64, extending: ExpirationExtending, context: AccessContext) -> Bool {
        guard entries.find(name, at: now) != nil,
            let entry = entries.hasher.withHashed(
                name, { entries.load($0, at: now, extending: extending, context: context) })
        else { return false }
        accessed[Int(entry)] = now
        untouched.insert(name)
        unindexed.insert(name)
        return true
    }

    /// Takes the removals since the last call.
    mutating func takeRemovals() -> [Removal] {
        defer { entries.forgetRemoved() }
        return entries.removed.map { one in
            prints.remove(one.entry)
            unindexed.insert(one.key)
            untouched.remove(one.key)
            return entries.removal(of: one)
        }
    }

    /// Whether a flush has anything to write.
    var needsFlush: Bool { !(untouched.isEmpty && unindexed.isEmpty) }

    /// Whether files or rows are out of date, or files are to be removed.
    var isBehind: Bool { needsFlush || !undeleted.isEmpty }

    /// Takes the changes that are to be written. They are no longer pending then.
    ///
    /// - Parameter everything: whether the rows of all entries are returned, or only those that are out of date.
    mutating func takeDue(everything: Bool) -> (
        rows: (kept: [IndexDatabase.Row], removed: [String]), touched: Set<ByteName>, undeleted: [String]
    ) {
        defer { (unindexed, untouched, undeleted) = ([], [], []) }
        var (rows, removed): ([IndexDatabase.Row], [String]) = ([], [])
        for name in unindexed {
            if let entry = entries.resident(name.text) {
                if !everything { rows.append(row(entry)) }
            } else {
                removed.append(name.text)
            }
        }
        if everything { rows = entries.residents { _, _ in true }.map { row($0) } }
        return ((rows, removed), untouched, undeleted.map(\.text).filter { entries.resident($0) == nil })
    }

    /// Returns the row of an entry.
    func row(_ entry: EntryID) -> IndexDatabase.Row {
        IndexDatabase.Row(
            name: entries.key(of: entry), size: entries.cost(of: entry), length: lengths[Int(entry)],
            accessed: accessed[Int(entry)], expires: entries.deadline(of: entry),
            renewal: entries.renewal(of: entry).span,
            fingerprint: prints.fingerprint(of: entry), categories: entries.categories(of: entry),
            origin: origins[Int(entry)])
    }

    private mutating func note(
        _ entry: EntryID, _ name: String, length: Int, accessed time: Int64, print: UInt64, origin: EntryOrigin
    ) {
        while lengths.count <= Int(entry) {
            lengths.append(0)
            accessed.append(0)
            origins.append(.unknown)
        }
        origins[Int(entry)] = origin
        lengths[Int(entry)] = length
        accessed[Int(entry)] = time
        prints.insert(print, for: entry)
        unindexed.insert(name)
    }
}

/// The 64-bit fingerprints of the keys on disk. Most absent keys are found by them, without a SHA-256 or a system
/// call.
///
/// There may be false positives but no false negatives. Fingerprints are counted, and while a file has an unknown
/// key, every key may be present. The fingerprint of a key is the same in every process (FNV-1a, 64 bits).
struct Fingerprints {
    /// The fingerprint of a file whose key is unknown.
    static let unknown: UInt64 = 0

    private var counts: [UInt64: UInt32] = [:]
    private var byEntry: [UInt64] = []
    private var unknownCount = 0

    /// Returns the fingerprint of a key, which is never ``unknown``.
    static func fingerprint(_ key: String) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        let isWhole: Void? = key.utf8.withContiguousStorageIfAvailable { bytes in
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        }
        if isWhole == nil { for byte in key.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 } }
        return hash == unknown ? 1 : hash
    }

    /// Returns whether a key with this fingerprint may be present.
    func mayContain(_ print: UInt64) -> Bool { unknownCount > 0 || counts[print] != nil }

    /// Returns the fingerprint of an entry that is present.
    func fingerprint(of entry: EntryID) -> UInt64 { byEntry[Int(entry)] }

    /// Adds an entry.
    mutating func insert(_ print: UInt64, for entry: EntryID) {
        while byEntry.count <= Int(entry) { byEntry.append(Self.unknown) }
        byEntry[Int(entry)] = print
        if print == Self.unknown { unknownCount += 1 } else { counts[print, default: 0] += 1 }
    }

    /// Removes an entry that is present.
    mutating func remove(_ entry: EntryID) {
        let print = byEntry[Int(entry)]
        if print == Self.unknown {
            unknownCount -= 1
        } else if let count = counts[print] {
            counts[print] = count > 1 ? count - 1 : nil
        }
    }
}
