import HalcyonEviction

/// An entry that left a file store.
struct Gone: Sendable {
    let departure: Departure
}

extension FileStore.State {
    /// Serves a store; see ``Ledger/store(_:cost:at:expiration:staysInBackground:context:deadline:renewal:)``.
    mutating func store(
        _ name: String, _ status: CacheFolder.Status, at now: Int64, expiration: StorageExpiration,
        context: AccessContext, print: UInt64
    ) -> (isKept: Bool, gone: [Gone]) {
        let wasThere = ledger.resident(name) != nil
        let entry = ledger.hasher.withHashed(name) {
            ledger.store(name, $0, cost: status.size, at: now, expiration: expiration, context: context)
        }
        var gone = takeGone()
        if let entry {
            if wasThere { prints.remove(entry) }
            note(entry, name, length: status.length, accessed: now, print: print)
            untouched.remove(name)
            undeleted.remove(name)
            // A file of that name is replaced, not removed, however the old value left.
            gone.removeAll { $0.departure.key == name }
        }
        return (entry != nil, gone)
    }

    /// Takes in what was found on the disk, and says whether it is kept.
    mutating func adopt(_ row: DiskIndex.Row) -> Bool {
        let wasThere = ledger.resident(row.name) != nil
        let entry = ledger.hasher.withHashed(row.name) {
            ledger.store(
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
        let unknown = files.filter { ledger.resident($0.name) == nil && !undeleted.contains($0.name) }
        for row in DiskRecovery.merge(files: unknown, rows: []).residents where !adopt(row) {
            undeleted.insert(row.name)
        }
        listing = .complete
    }

    /// Begins with another folder in the place of the old one, of which nothing is left to do: with the files in it, or `nil` if it
    /// could not be listed.
    mutating func beginAnew(with files: [(name: String, status: CacheFolder.Status)]?) {
        (unindexed, untouched, undeleted) = ([], [], [])
        if let files { complete(with: files) } else { listing = .failed }
    }

    /// Serves a load; whether it was a hit.
    mutating func load(_ name: String, at now: Int64, extending: ExpirationExtending, context: AccessContext) -> Bool {
        guard ledger.find(name, at: now) != nil,
            let entry = ledger.hasher.withHashed(
                name, { ledger.load($0, at: now, extending: extending, context: context) })
        else { return false }
        accessed[Int(entry)] = now
        untouched.insert(name)
        unindexed.insert(name)
        return true
    }

    /// Those that left since the last call.
    mutating func takeGone() -> [Gone] {
        defer { ledger.forgetGone() }
        return ledger.gone.map { one in
            prints.remove(one.entry)
            unindexed.insert(one.key)
            untouched.remove(one.key)
            return Gone(departure: ledger.departure(one))
        }
    }

    /// Whether files or index are behind the ledger.
    var isBehind: Bool { !(untouched.isEmpty && unindexed.isEmpty && undeleted.isEmpty) }

    /// What files and index are to be told, which then is due no more.
    mutating func takeDue(everything: Bool) -> (
        rows: (kept: [DiskIndex.Row], removed: [String]), touched: Set<String>, undeleted: [String]
    ) {
        defer { (unindexed, untouched, undeleted) = ([], [], []) }
        var (rows, removed): ([DiskIndex.Row], [String]) = ([], [])
        for name in unindexed {
            if let entry = ledger.resident(name) {
                if !everything { rows.append(row(entry)) }
            } else {
                removed.append(name)
            }
        }
        if everything { rows = ledger.residents { _, _ in true }.map { row($0) } }
        return ((rows, removed), untouched, undeleted.filter { ledger.resident($0) == nil })
    }

    /// The row of a resident.
    func row(_ entry: EntryID) -> DiskIndex.Row {
        DiskIndex.Row(
            name: ledger.key(of: entry), size: ledger.cost(of: entry), length: lengths[Int(entry)],
            accessed: accessed[Int(entry)], expires: ledger.deadline(of: entry),
            renewal: ledger.renewal(of: entry).span,
            fingerprint: prints.fingerprint(of: entry), categories: ledger.categories(of: entry))
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
