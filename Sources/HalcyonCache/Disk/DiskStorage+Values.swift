import Foundation
import HalcyonEviction
import HalcyonSupport
import Synchronization

// The values of a disk storage, and the notes about them.

/// Returns the note of the bytes that are about to be written, or `nil` for none. It receives the note of the entry
/// that they replace, too.
package typealias NoteMaker = @Sendable (_ bytes: Data, _ earlier: Data?) -> Data?

extension DiskStorage {
    /// Stores a value under a key, and replaces an earlier value. Other values are evicted if there is no room.
    ///
    /// On a full disk, or beyond a quota, it evicts other values for the bytes that it needs and tries again. As for
    /// the size limit, values of low priority go first, those of protected categories last. A value that would not fit into
    /// the room of all values together evicts none, and the call throws. See
    /// `DiskExpirationTests.expiredStoreChangesNothing()` and `FullDiskTests.fullDiskEvicts()`.
    ///
    /// - Parameters:
    ///   - key: the key, or the name with the extension of the file (``EntryKey``).
    ///   - expiration: when the value expires. By default, the rule of its category decides, or else the
    ///     configuration. If it has already passed, the call has no effect.
    /// - Returns: whether the value is kept.
    /// - Throws: ``CacheError/cannotConvertToData(key:underlying:)``, ``CacheError/cannotWriteFile(_:underlying:)``
    ///   or ``CacheError/closed``. The earlier value is kept then, if there was one and a full disk has not evicted it.
    @discardableResult
    public func store(
        value: some DataTransformable, forKey key: some EntryNaming, expiration: StorageExpiration? = nil,
        context: AccessContext = AccessContext()
    ) throws -> Bool {
        let data: Data
        do {
            data = try value.toData()
        } catch {
            throw CacheError.cannotConvertToData(key: key.entryKey.computed, underlying: error)
        }
        return try store(data, key.entryKey, expiration: expiration, context: context)
    }

    /// Stores bytes, with a note (``EntryNotes``). No other change of the entry may run meanwhile if there is a note.
    func store(
        _ data: Data, _ key: EntryKey, expiration: StorageExpiration?, context: AccessContext, note: NoteMaker? = nil
    ) throws -> Bool {
        let now = clock.now
        let (name, expiration) = state.withLock { state in
            (
                state.config.naming.name(of: key),
                expiration ?? state.entries.expiration(ruledFor: context.categories) ?? state.config.expiration
            )
        }
        try checkIsOpen()
        if expiration.isPast(at: now) { return false }
        waitUntilListed()
        let note = note.flatMap { $0(data, self.note(of: key)) }
        let expires = expiration.deadline(from: now)
        let (part, status): (String, CacheFolder.Status)
        do {
            (part, status) = try writeMakingRoom(data, at: now, expires: expires)
        } catch CacheError.closed {
            throw CacheError.closed
        } catch {
            throw CacheError.cannotWriteFile(folder.url(name), underlying: error)
        }
        let print = Fingerprints.fingerprint(key.computed)
        let (failure, isKept, removals) = mutation.withLock { _ -> ((any Error)?, Bool, [Removal]) in
            // The file is placed first. If the rename fails, the old value is kept and no entry was evicted for the
            // new one.
            do {
                try checkIsOpen()
            } catch {
                folder.discard(part)
                return (error, false, [])
            }
            do { try folder.place(part, as: name) } catch { return (error, false, []) }
            let (isKept, removals) = state.withLock { state -> (Bool, [Removal]) in
                state.store(name, status, at: now, expiration: expiration, context: context, print: print, note: note)
            }
            // The file of this name contains the new value, whatever the reason for the old value's removal.
            removeFiles(removals.filter { !isKept || ByteName($0.key) != ByteName(name) })
            if !isKept { removeFile(name) }
            return (nil, isKept, removals)
        }
        scheduleFlush()
        report(removals)
        if case CacheError.closed? = failure { throw CacheError.closed }
        if let failure { throw CacheError.cannotWriteFile(folder.url(name), underlying: failure) }
        return isKept
    }

    /// Returns the bytes of a key; `nil` if there are none or they have expired, and while the folder cannot be searched.
    ///
    /// The access and the extended expiration are written in the background if they have moved by more than a hundredth
    /// of the time to live (at most of a week). Otherwise ``flush()`` and ``close()`` write them. See
    /// `DiskExpirationTests.hitWritesNothingUntilExpirationMoves()`.
    ///
    /// A reader does not wait for that write. See `DiskExpirationTests.readerDoesNotWaitForExtension()` and
    /// `DiskStorageTests.unreadableBytesAreAnError()`.
    ///
    /// - Throws: ``CacheError/cannotLoadDataFromDisk(_:underlying:)`` if a file cannot be read.
    public func value(
        forKey key: some EntryNaming, extendingExpiration: ExpirationExtending = .cacheTime,
        context: AccessContext = AccessContext()
    ) throws -> Data? {
        let (now, key) = (clock.now, key.entryKey)
        if misses(key, context) { return nil }
        let (naming, listing) = state.withLock { ($0.isClosed ? nil : $0.config.naming, $0.listing) }
        guard let name = naming?.name(of: key) else { return nil }
        guard mayBeThere(name, at: now, context: context) else { return nil }
        // Without a listing, the folder itself is read. It may be another storage's folder by now.
        if listing == .failed && isFolderMissing { return nil }
        let found: (data: Data, status: CacheFolder.Status)?
        do {
            found = try folder.read(name)
        } catch let error as SystemError where error.code == EACCES && folder.status(name) == nil {
            // The folder itself cannot be searched at present. What is in it is not lost.
            state.withLock { $0.miss(context.categories) }
            return nil
        } catch {
            throw CacheError.cannotLoadDataFromDisk(folder.url(name), underlying: error)
        }
        guard let found else {
            report(mutation.withLock { _ in folder.status(name) == nil ? lose(name) : [] })
            state.withLock { $0.miss(context.categories) }
            return nil
        }
        let (isFresh, isUnknown, isFlushDue) = state.withLock { state -> (Bool, Bool, Bool) in
            if state.listing == .pending {
                if found.status.expires <= now { return (false, false, false) }
                state.earlyLoads.append((name, now, extendingExpiration, context))
                return (true, false, false)
            }
            if state.load(name, at: now, extending: extendingExpiration, context: context) {
                return (true, false, state.beginsFlush())
            }
            // Another thread removed the entry meanwhile, or it was never known because the folder could not be
            // listed.
            let isUnknown = state.listing == .failed && state.entries.resident(name) == nil
            return (found.status.expires > now, isUnknown, false)
        }
        if !isFresh { return nil }
        if isUnknown {
            let print = Fingerprints.fingerprint(key.computed)
            adopt(name, found.status, print: print, at: now, context: context)
        }
        if isFlushDue { flushLater() }
        return found.data
    }

    /// Counts a miss of a key that certainly has no file. If there may be one, it counts nothing and returns `false`. Reads no file.
    func misses(_ key: EntryKey, _ context: AccessContext) -> Bool {
        let print = Fingerprints.fingerprint(key.computed)
        return state.withLock { state in
            if state.isClosed || state.listing != .complete || state.prints.mayContain(print) { return false }
            state.miss(context.categories)
            return true
        }
    }

    /// Returns the value of a key, as ``value(forKey:extendingExpiration:context:)`` its bytes.
    ///
    /// - Throws: ``CacheError/cannotLoadDataFromDisk(_:underlying:)`` if a file cannot be read or its bytes are not a
    ///   value.
    public func value<Value: DataTransformable>(
        forKey key: some EntryNaming, as type: Value.Type, extendingExpiration: ExpirationExtending = .cacheTime,
        context: AccessContext = AccessContext()
    ) throws -> Value? {
        guard let found = try value(forKey: key, extendingExpiration: extendingExpiration, context: context) else {
            return nil
        }
        do {
            return try Value.fromData(found)
        } catch {
            throw CacheError.cannotLoadDataFromDisk(cacheFileURL(forKey: key), underlying: error)
        }
    }

    /// Returns the bytes of a key without an access; `nil` if there are none, they have expired or they cannot be
    /// read.
    func bytes(of key: EntryKey) -> Data? { isCached(forKey: key) ? (try? folder.read(name(of: key)))?.data : nil }

    /// Returns whether there is a value that has not expired. The call does not extend the expiration and is not an
    /// access.
    ///
    /// An absent key needs no file system call, unless the folder could not be listed. See
    /// `DiskStorageTests.absentNameNeedsNoFileSystem()`.
    public func isCached(forKey key: some EntryNaming) -> Bool {
        let (now, key) = (clock.now, key.entryKey)
        let print = Fingerprints.fingerprint(key.computed)
        let naming = state.withLock { state -> FileNaming? in
            if state.isClosed { return nil }
            return state.listing != .complete || state.prints.mayContain(print) ? state.config.naming : nil
        }
        guard let name = naming?.name(of: key) else { return false }
        let (isKnown, listing) = state.withLock { state -> (Bool?, DiskEntryIndex.Listing) in
            if state.undeleted.contains(name) { return (false, state.listing) }
            return (state.listing == .complete ? state.entries.find(name, at: now) != nil : nil, state.listing)
        }
        if isKnown == false || listing == .failed && isFolderMissing { return false }
        guard let status = folder.status(name) else { return false }
        return isKnown == true || status.expires > now
    }

    /// Returns whether there may be a file of a key. Does not read the disk.
    func mayContain(_ computed: String) -> Bool {
        let isEmpty = state.withLock { $0.isClosed || $0.listing == .complete && $0.prints.isEmpty }
        if isEmpty { return false }
        let print = Fingerprints.fingerprint(computed)
        return state.withLock { !$0.isClosed && ($0.listing != .complete || $0.prints.mayContain(print)) }
    }

    /// Returns the URL of a key's file, whether the file exists or not.
    public func cacheFileURL(forKey key: some EntryNaming) -> URL { folder.url(name(of: key.entryKey)) }

    /// Returns the name of an entry's file.
    func name(of key: EntryKey) -> String { state.withLock { $0.config.naming }.name(of: key) }

    // MARK: - Notes

    /// Returns the note of an entry; `nil` if there is none, and before the listing. Reads no file.
    func note(of key: EntryKey) -> Data? {
        guard let naming = state.withLock({ $0.isClosed || $0.noteCount == 0 ? nil : $0.config.naming }) else {
            return nil
        }
        let name = naming.name(of: key)
        return state.withLock { $0.isClosed ? nil : $0.note(of: name) }
    }

    /// Replaces the note of an entry, if there is the entry; `nil` removes it. It is written with the next flush.
    func set(note: Data?, of key: EntryKey) {
        let name = name(of: key)
        state.withLock { if !$0.isClosed { $0.set(note: note, of: name) } }
        scheduleFlush()
    }

    // MARK: - Inside

    /// The number of times that a store evicts entries because the disk is full, each time twice as many bytes as
    /// before.
    private static let fullDiskTries = 4

    /// Writes a part. While the disk or a quota is full, it evicts entries for as many bytes as it needs and tries
    /// again.
    ///
    /// Nothing is evicted for bytes that would not fit even if the cache were empty.
    private func writeMakingRoom(_ data: Data, at now: Int64, expires: Int64) throws -> (
        part: String, status: CacheFolder.Status
    ) {
        // Whole blocks, and a block for the directory.
        var needed = (data.count / 4_096 + 2) * 4_096
        var failure: (any Error)?
        for _ in 0..<Self.fullDiskTries {
            do {
                let written = try write(data, at: now, expires: expires)
                if let failure { onFull?(failure) }
                return written
            } catch let error as SystemError where error.code == ENOSPC || error.code == EDQUOT {
                let used = state.withLock { $0.entries.used }
                guard used > 0, folder.availableSize.map({ needed <= $0 + used }) ?? true else { throw error }
                failure = error
                change { [needed] state, now in state.entries.trim(to: max(used - needed, 0), at: now) }
                needed *= 2
            }
        }
        return try write(data, at: now, expires: expires)
    }

    private func write(_ data: Data, at now: Int64, expires: Int64) throws -> (part: String, status: CacheFolder.Status)
    {
        let number = parts.add(1, ordering: .relaxed).newValue
        if !isFolderMissing {
            do {
                return try folder.writePart(data, number: number, accessed: now, expires: expires)
            } catch let error as SystemError where error.code == ENOENT {}
        }
        try restoreFolder()
        return try folder.writePart(data, number: number, accessed: now, expires: expires)
    }

    /// - Throws: ``CacheError/closed``.
    func checkIsOpen() throws {
        if state.withLock({ $0.isClosed }) { throw CacheError.closed }
    }

    private func mayBeThere(_ name: String, at now: Int64, context: AccessContext) -> Bool {
        let (isThere, hasExpired) = state.withLock { state -> (Bool, Bool) in
            if state.listing != .complete && !state.undeleted.contains(name) { return (true, false) }
            if state.entries.find(name, at: now) != nil { return (true, false) }
            state.miss(context.categories)
            return (false, state.entries.resident(name) != nil)
        }
        if hasExpired {
            change { state, now in
                if state.entries.find(name, at: now) == nil, let entry = state.entries.resident(name) {
                    state.entries.remove(entry, reason: .expired)
                }
            }
        }
        return isThere
    }

    /// Adds the entry of a file that is unknown because the folder could not be listed.
    private func adopt(
        _ name: String, _ status: CacheFolder.Status, print: UInt64, at now: Int64, context: AccessContext
    ) {
        change { state, now in
            guard state.entries.resident(name) == nil, folder.status(name) == status else { return }
            let span = status.expires == .max ? .max : max(status.expires - status.accessed, 0)
            _ = state.adopt(
                IndexDatabase.Row(
                    name: name, size: status.size, length: status.length, accessed: now, expires: status.expires,
                    renewal: span, fingerprint: print, categories: context.categories))
        }
    }

    /// Removes an entry whose file does not exist.
    private func lose(_ name: String) -> [Removal] {
        state.withLock { state -> [Removal] in
            state.correct(name, nil)
            return state.takeRemovals()
        }
    }
}
