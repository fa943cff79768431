import Foundation
import HalcyonEviction
import HalcyonSupport

/// The entries of a disk storage: its entry index, and the changes that are not yet written to the files and the
/// index database. It does no I/O and has no lock; ``DiskStorage`` provides both.
struct DiskEntryIndex: ~Copyable {
    /// The state of the listing of the folder.
    enum Listing {
        /// The folder was not listed yet. Files that are not in the index may exist.
        case pending
        /// All files are in the index.
        case complete
        /// The listing failed. Files that are not in the index may exist, until ``DiskStorage/measure()`` lists them.
        case failed
    }

    var config: DiskStorageConfig
    var entries: EntryIndex
    var listing = Listing.pending
    /// Whether the storage is closed, so that another one may use the folder.
    var isClosed = false
    var prints = Fingerprints()
    /// The data of an entry that only the disk has.
    private struct Fact {
        var length = 0
        var stored: Int64 = 0
        var accessed: Int64 = 0
        var origin = EntryOrigin.unknown
        /// The access and the expiration that the file and its row have.
        var written: (accessed: Int64, expires: Int64) = (0, 0)
    }

    private var facts: [Fact] = []
    /// The removals since the last ``takeRemovals()``.
    private var removals: [Removal] = []
    /// The notes of the entries that have one; see ``EntryNotes``.
    private var notes: [EntryID: Data] = [:]
    /// The loads before the end of the listing. The policy receives them afterwards.
    var earlyLoads: [(name: String, time: Int64, extending: ExpirationExtending, context: AccessContext)] = []
    /// The categories of the misses before the end of the listing. They are counted afterwards, so that categories of
    /// earlier starts have their numbers first.
    private var earlyMisses: [[String]] = []
    /// The entries whose times on the disk are out of date by more than a hundredth of their time to live.
    private var renewed: Set<EntryID> = []
    /// The entries whose times on the disk are out of date by less. A flush on request and the closing write them; no
    /// flush is scheduled for them.
    private var accessedSince: Set<EntryID> = []
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
        context: AccessContext, print: UInt64, note: Data? = nil
    ) -> (isKept: Bool, removals: [Removal]) {
        let wasThere = entries.resident(name) != nil
        let entry = entries.hasher.withHashed(name) {
            entries.store(name, $0, cost: status.size, at: now, expiration: expiration, context: context)
        }
        var removals = takeRemovals()
        if let entry {
            if wasThere { prints.remove(entry) }
            place(
                entry, name,
                Fact(
                    length: status.length, stored: now, accessed: now, origin: context.origin ?? .unknown,
                    written: (now, entries.deadline(of: entry))), print: print, note: note)
            undeleted.remove(name)
            // The file of this name was replaced. It must not be removed, whatever the reason for the old value's
            // removal.
            removals.removeAll { ByteName($0.key) == name }
        }
        return (entry != nil, removals)
    }

    /// Adds the entries that were found on the disk, in the order of their last access, and returns the names of
    /// those that are not kept.
    ///
    /// - Parameters:
    ///   - kept: what the policy had learned in an earlier start; `nil` for nothing.
    ///   - now: the time that none of the entries' times may exceed; see ``IndexDatabase/Row/redated(to:)``.
    /// - Returns: the names, and the reason why the model in `kept` is not used, if there is one.
    mutating func adopt(
        _ found: [IndexDatabase.Row], continuing kept: (calls: KeptCalls, key: NameHashKey)?, at now: Int64
    ) -> (refused: [String], fault: String?) {
        guard let kept else { return (found.filter { !adopt($0, at: now) }.map(\.name), nil) }
        let rows = found.map { $0.redated(to: now) }
        let restored = entries.restore(
            kept.calls, kept.key,
            found: rows.map {
                EntryIndex.FoundEntry(
                    key: $0.name, cost: $0.size, accessed: $0.accessed, deadline: $0.expires, categories: $0.categories)
            })
        var refused: [String] = []
        for (place, row) in rows.enumerated() {
            guard let entry = restored.entries[place] else { continue }
            if entry == .none {
                unindexed.insert(row.name)
                refused.append(row.name)
            } else {
                entries.notes[entry].renewal = Renewal(span: row.renewal)
                settle(entry, row, found: found[place])
            }
        }
        for (place, one) in found.enumerated() where restored.entries[place] == nil && !adopt(one, at: now) {
            refused.append(one.name)
        }
        return (refused, restored.fault)
    }

    /// Adds an entry that was found on the disk, and returns whether it is kept.
    ///
    /// - Parameter now: the time that none of the entry's times may exceed; see ``IndexDatabase/Row/redated(to:)``.
    mutating func adopt(_ found: IndexDatabase.Row, at now: Int64 = .max) -> Bool {
        let row = found.redated(to: now)
        let wasThere = entries.resident(row.name) != nil
        let entry = entries.hasher.withHashed(row.name) {
            entries.store(
                row.name, $0, cost: row.size, at: row.accessed, expiration: .never,
                context: AccessContext(categories: row.categories), deadline: row.expires,
                renewal: Renewal(span: row.renewal))
        }
        collectRemovals()
        guard let entry else {
            unindexed.insert(row.name)
            return false
        }
        if wasThere { prints.remove(entry) }
        settle(entry, row, found: found)
        return true
    }

    /// Notes what the disk has of an entry that was found on it.
    private mutating func settle(_ entry: EntryID, _ row: IndexDatabase.Row, found: IndexDatabase.Row) {
        place(
            entry, row.name,
            Fact(
                length: row.length, stored: row.stored, accessed: row.accessed, origin: row.origin,
                written: (found.accessed, found.expires)), print: row.fingerprint, note: row.note)
        if row == found { unindexed.remove(row.name) } else { renewed.insert(entry) }
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
        if adopt(row) { renewed.insert(entry) }
        unindexed.insert(name)
    }

    /// Removes the entries whose origin satisfies a condition. O(numbers).
    mutating func remove(where holds: (EntryOrigin) -> Bool) {
        for entry in entries.residents(where: { entry, _ in holds(facts[Int(entry)].origin) }) {
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
        (unindexed, renewed, accessedSince, undeleted) = ([], [], [], [])
        if let files { complete(with: files) } else { listing = .failed }
    }

    /// Serves a load, and returns whether it was a hit.
    ///
    /// The new times are written soon if the access or the expiration has moved by more than a hundredth of the
    /// entry's time to live (at most of a week). Otherwise the next flush on request writes them, so that a hit usually
    /// writes nothing. After a kill, an entry is therefore at most that much older than it was.
    mutating func load(_ name: String, at now: Int64, extending: ExpirationExtending, context: AccessContext) -> Bool {
        guard let resident = entries.find(name, at: now) else { return false }
        let set = entries.notes[resident].set
        guard
            let entry = entries.hasher.withHashed(
                name, { entries.load($0, at: now, extending: extending, context: context) })
        else { return false }
        facts[Int(entry)].accessed = now
        if entries.notes[entry].set != set { unindexed.insert(name) }
        let written = facts[Int(entry)].written
        let span = entries.renewal(of: entry).span
        let step = min(span < 0 ? .max : span, Self.week) / 100
        let moved = max(
            Self.distance(now, written.accessed), Self.distance(entries.deadline(of: entry), written.expires))
        if moved > step { renewed.insert(entry) } else { accessedSince.insert(entry) }
        return true
    }

    /// Counts a miss of a look-up that named these categories.
    mutating func miss(_ categories: [String]) {
        if listing == .pending { earlyMisses.append(categories) } else { entries.miss(categories) }
    }

    /// Passes on what happened before the end of the listing.
    mutating func endListing(isComplete: Bool) {
        listing = isComplete ? .complete : .failed
        for categories in earlyMisses { entries.miss(categories) }
        for (name, time, extending, context) in earlyLoads {
            _ = load(name, at: time, extending: extending, context: context)
        }
        (earlyMisses, earlyLoads) = ([], [])
    }

    /// A week in microseconds.
    private static let week: Int64 = 7 * 86_400 * 1_000_000

    private static func distance(_ first: Int64, _ second: Int64) -> Int64 {
        let (distance, overflows) = max(first, second).subtractingReportingOverflow(min(first, second))
        return overflows ? .max : distance
    }

    /// Removes expired entries. Entries of the future get the times of now before: those that were stored or accessed
    /// while the clock was ahead would not expire for as long as it was. O(numbers).
    mutating func removeExpired(at now: Int64) {
        let future = entries.residents { entry, _ in max(facts[Int(entry)].stored, facts[Int(entry)].accessed) > now }
        for row in future.map({ row($0) }).sorted(by: { ($0.accessed, $0.name) < ($1.accessed, $1.name) }) {
            _ = adopt(row, at: now)
        }
        entries.removeExpired(at: now)
    }

    // MARK: - Notes

    /// Returns the note of an entry. It can have expired: memory may still have its value.
    func note(of name: String) -> Data? { entries.resident(name).flatMap { notes[$0] } }

    /// Replaces the note of an entry, if there is the entry; `nil` removes it.
    mutating func set(note: Data?, of name: String) {
        guard let entry = entries.resident(name), notes[entry] != note else { return }
        notes[entry] = note
        unindexed.insert(name)
    }

    /// The number of notes.
    var noteCount: Int { notes.count }

    // MARK: - Pending changes

    /// Takes the removals since the last call.
    mutating func takeRemovals() -> [Removal] {
        collectRemovals()
        defer { removals = [] }
        return removals
    }

    /// Forgets what is known of removed entries, before another entry gets the number of one.
    private mutating func collectRemovals() {
        for one in entries.removed {
            prints.remove(one.entry)
            notes[one.entry] = nil
            unindexed.insert(one.key)
            renewed.remove(one.entry)
            accessedSince.remove(one.entry)
            removals.append(entries.removal(of: one))
        }
        entries.forgetRemoved()
    }

    /// Whether a flush has to be scheduled.
    var needsFlush: Bool { !(renewed.isEmpty && unindexed.isEmpty) }

    /// Returns whether a flush has to be scheduled now. It counts as scheduled then.
    mutating func beginsFlush() -> Bool {
        if isFlushScheduled || !needsFlush { return false }
        isFlushScheduled = true
        return true
    }

    /// Whether files or rows are out of date, or files are to be removed.
    ///
    /// - Parameter least: whether changes count for which no flush is scheduled.
    func isBehind(least: Bool) -> Bool { needsFlush || !undeleted.isEmpty || least && !accessedSince.isEmpty }

    /// The changes that are to be written.
    struct Due {
        var rows: [IndexDatabase.Row] = []
        /// What hits have changed. The times of these files are to be set, too.
        var renewed: [IndexDatabase.Renewed] = []
        var removed: [String] = []
        var undeleted: [String] = []

        var isEmpty: Bool { rows.isEmpty && renewed.isEmpty && removed.isEmpty }
    }

    /// Takes the changes that are to be written. They are no longer pending then.
    ///
    /// - Parameters:
    ///   - everything: whether the rows of all entries are returned, or only those that are out of date.
    ///   - least: whether changes count for which no flush is scheduled.
    mutating func takeDue(everything: Bool, least: Bool) -> Due {
        var due = Due()
        for name in unindexed {
            guard let entry = entries.resident(name.text) else {
                due.removed.append(name.text)
                continue
            }
            // A row states the times that its file has.
            if !everything { due.rows.append(row(entry)) }
            if accessedSince.remove(entry) != nil { renewed.insert(entry) }
        }
        if everything {
            due.rows = entries.residents { _, _ in true }.map { row($0) }
        }
        if least || everything {
            renewed.formUnion(accessedSince)
            accessedSince = []
        }
        for entry in renewed {
            let times = (accessed: facts[Int(entry)].accessed, expires: entries.deadline(of: entry))
            facts[Int(entry)].written = times
            due.renewed.append(
                IndexDatabase.Renewed(name: entries.key(of: entry), accessed: times.accessed, expires: times.expires))
        }
        due.undeleted = undeleted.map(\.text).filter { entries.resident($0) == nil }
        (unindexed, renewed, undeleted) = ([], [], [])
        return due
    }

    /// Returns the row of an entry.
    func row(_ entry: EntryID) -> IndexDatabase.Row {
        let fact = facts[Int(entry)]
        return IndexDatabase.Row(
            name: entries.key(of: entry), size: entries.cost(of: entry), length: fact.length,
            accessed: fact.accessed, expires: entries.deadline(of: entry),
            renewal: entries.renewal(of: entry).span,
            fingerprint: prints.fingerprint(of: entry), categories: entries.categories(of: entry),
            origin: fact.origin, stored: fact.stored, note: notes[entry])
    }

    private mutating func place(_ entry: EntryID, _ name: String, _ fact: Fact, print: UInt64, note: Data?) {
        while facts.count <= Int(entry) { facts.append(Fact()) }
        facts[Int(entry)] = fact
        notes[entry] = note
        renewed.remove(entry)
        accessedSince.remove(entry)
        prints.insert(print, for: entry)
        unindexed.insert(name)
    }
}

extension IndexDatabase.Row {
    /// Returns the row with times that are after `now` moved back to it, as if the entry was stored and accessed now.
    /// An expiration at a
    /// date stays.
    func redated(to now: Int64) -> IndexDatabase.Row {
        if max(stored, accessed) <= now { return self }
        var row = self
        (row.stored, row.accessed) = (min(stored, now), min(accessed, now))
        if let latest = Renewal(span: renewal).deadline(from: now) { row.expires = min(expires, latest) }
        return row
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

    /// Whether no key is present.
    var isEmpty: Bool { unknownCount == 0 && counts.isEmpty }

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
