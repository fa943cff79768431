import HalcyonEviction

/// What a disk storage knows of the files in its folder, and what files and index have not been told yet. It does no I/O and has no
/// lock: ``FileStore`` does both.
struct DiskEntryIndex: ~Copyable {
    /// What is known of the folder's contents.
    enum Listing {
        /// Not listed yet: what is not known may be there.
        case pending
        /// Everything that is there is in the entries.
        case complete
        /// It could not be listed: what is not known may be there, until a cleaning lists it.
        case failed
    }

    var config: DiskStorageConfig
    var entries: EntryIndex
    var listing = Listing.pending
    /// Whether the storage is closed, and the folder another's to use.
    var isClosed = false
    var prints = Fingerprints()
    private var lengths: [Int] = []
    private var accessed: [Int64] = []
    /// What was read before the listing was done, to be told to the policy afterwards.
    var earlyLoads: [(name: String, time: Int64, extending: ExpirationExtending, context: AccessContext)] = []
    /// Files whose times on the disk are behind the entries.
    private var untouched: Set<String> = []
    /// Files whose rows in the index are behind the entries.
    var unindexed: Set<String> = []
    /// Files that were to be removed and could not be.
    var undeleted: Set<String> = []
    var isFlushScheduled = false

    init(config: DiskStorageConfig, entries: consuming EntryIndex) {
        self.config = config
        self.entries = entries
    }

    /// Serves a store; see ``EntryIndex/store(_:cost:at:expiration:staysInBackground:context:deadline:renewal:)``.
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
            note(entry, name, length: status.length, accessed: now, print: print)
            untouched.remove(name)
            undeleted.remove(name)
            // A file of that name is replaced, not removed, however the old value left.
            removals.removeAll { $0.key == name }
        }
        return (entry != nil, removals)
    }

    /// Takes in what was found on the disk, and says whether it is kept.
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
        note(entry, row.name, length: row.length, accessed: row.accessed, print: row.fingerprint)
        unindexed.remove(row.name)
        return true
    }

    /// Takes in what a late listing found and nobody knows; who is not kept is to be removed.
    mutating func complete(with files: [(name: String, status: CacheFolder.Status)]) {
        let unknown = files.filter { entries.resident($0.name) == nil && !undeleted.contains($0.name) }
        for row in DiskRecovery.merge(files: unknown, rows: []).residents where !adopt(row) {
            undeleted.insert(row.name)
        }
        listing = .complete
    }

    /// Takes in what a file turned out to be; `nil`: it is not there.
    mutating func correct(_ name: String, _ status: CacheFolder.Status?) {
        guard let entry = entries.resident(name) else { return }
        guard let status else { return entries.remove(entry, reason: .lost) }
        var row = row(entry)
        if status.size == row.size { return }
        (row.size, row.length) = (status.size, status.length)
        _ = adopt(row)
        unindexed.insert(name)
    }

    /// The sizes of all residents. O(n).
    var sizes: [(name: String, size: Int)] {
        entries.residents { _, _ in true }.map { (entries.key(of: $0), entries.cost(of: $0)) }
    }

    /// Forgets everything: the folder is gone. What may be there again is not known.
    mutating func loseAll() {
        for entry in entries.residents(where: { _, _ in true }) { entries.remove(entry, reason: .lost) }
        listing = .failed
    }

    /// Begins with another folder in the place of the old one, of which nothing is left to do: with the files in it, or `nil` if it
    /// could not be listed.
    mutating func restart(with files: [(name: String, status: CacheFolder.Status)]?) {
        (unindexed, untouched, undeleted) = ([], [], [])
        if let files { complete(with: files) } else { listing = .failed }
    }

    /// Serves a load; whether it was a hit.
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

    /// Those that left since the last call.
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

    /// Whether files or index are behind the entries.
    var isBehind: Bool { needsFlush || !undeleted.isEmpty }

    /// What files and index are to be told, which then is due no more.
    mutating func takeDue(everything: Bool) -> (
        rows: (kept: [IndexDatabase.Row], removed: [String]), touched: Set<String>, undeleted: [String]
    ) {
        defer { (unindexed, untouched, undeleted) = ([], [], []) }
        var (rows, removed): ([IndexDatabase.Row], [String]) = ([], [])
        for name in unindexed {
            if let entry = entries.resident(name) {
                if !everything { rows.append(row(entry)) }
            } else {
                removed.append(name)
            }
        }
        if everything { rows = entries.residents { _, _ in true }.map { row($0) } }
        return ((rows, removed), untouched, undeleted.filter { entries.resident($0) == nil })
    }

    /// The row of a resident.
    func row(_ entry: EntryID) -> IndexDatabase.Row {
        IndexDatabase.Row(
            name: entries.key(of: entry), size: entries.cost(of: entry), length: lengths[Int(entry)],
            accessed: accessed[Int(entry)], expires: entries.deadline(of: entry),
            renewal: entries.renewal(of: entry).span,
            fingerprint: prints.fingerprint(of: entry), categories: entries.categories(of: entry))
    }

    private mutating func note(_ entry: EntryID, _ name: String, length: Int, accessed time: Int64, print: UInt64) {
        while lengths.count <= Int(entry) {
            lengths.append(0)
            accessed.append(0)
        }
        lengths[Int(entry)] = length
        accessed[Int(entry)] = time
        prints.insert(print, for: entry)
        unindexed.insert(name)
    }
}

/// Which keys may be on disk, by 64 bits of each, so that an absent key is answered without hashing it in full and without
/// the file system.
///
/// False positives are allowed, false negatives are not: fingerprints are counted, and while there are files whose key is
/// not known every key may be there. The fingerprint of a key is the same in every process (FNV-1a, 64 bits).
struct Fingerprints {
    /// The fingerprint of a file whose key is not known.
    static let unknown: UInt64 = 0

    private var counts: [UInt64: UInt32] = [:]
    private var byEntry: [UInt64] = []
    private var unknownCount = 0

    /// The fingerprint of a key; never ``unknown``.
    static func fingerprint(_ key: String) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        let isWhole: Void? = key.utf8.withContiguousStorageIfAvailable { bytes in
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        }
        if isWhole == nil { for byte in key.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 } }
        return hash == unknown ? 1 : hash
    }

    /// Whether a key with that fingerprint may be there.
    func mayContain(_ print: UInt64) -> Bool { unknownCount > 0 || counts[print] != nil }

    /// The fingerprint of an entry that is there.
    func fingerprint(of entry: EntryID) -> UInt64 { byEntry[Int(entry)] }

    /// Notes that an entry is there.
    mutating func insert(_ print: UInt64, for entry: EntryID) {
        while byEntry.count <= Int(entry) { byEntry.append(Self.unknown) }
        byEntry[Int(entry)] = print
        if print == Self.unknown { unknownCount += 1 } else { counts[print, default: 0] += 1 }
    }

    /// Notes that an entry that was there has gone.
    mutating func remove(_ entry: EntryID) {
        let print = byEntry[Int(entry)]
        if print == Self.unknown {
            unknownCount -= 1
        } else if let count = counts[print] {
            counts[print] = count > 1 ? count - 1 : nil
        }
    }
}
