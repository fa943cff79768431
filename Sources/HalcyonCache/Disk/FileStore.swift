import Foundation
import HalcyonEviction
import HalcyonSupport
import Synchronization

/// A store for bytes in files with a limited total size: the implementation of ``DiskStorage``.
///
/// Three locks are always taken in this order:
///
/// 1. `database` is held while SQLite reads or writes.
/// 2. `mutation` is held while files change, so that files and entry index change together.
/// 3. `state` is held briefly, without system calls.
///
/// Readers take `state` only. The first listing runs on its own queue. Until it ends, readers read the folder itself,
/// and writers wait.
package final class FileStore: Sendable {
    let state: Mutex<DiskEntryIndex>
    let mutation = Mutex(())
    package let folder: CacheFolder
    let clock: any CacheClock
    let flushDelay: Duration
    let onRemoval: (@Sendable ([Removal]) -> Void)?
    let onListing: (@Sendable (_ mayHavePrivateEntries: Bool) -> Void)?
    let onFull: (@Sendable (any Error) -> Void)?
    /// The index database. It is `nil` until the next flush if it could not be opened or failed.
    let database = Mutex<IndexDatabase?>(nil)
    /// The lock on the folder; `nil` once the storage is closed.
    private let lock: Mutex<DirectoryLock?>
    /// The description of the opening; `nil` until the folder was listed.
    let opening = Mutex<DiskOpening?>(nil)
    private let closing = Mutex(())
    private let background = DispatchQueue(label: "halcyon.disk", qos: .utility)
    private let listed = DispatchGroup()
    /// The closures to call after the listing; `nil` once it has ended.
    private let listingWaiters = Mutex<[@Sendable () -> Void]?>([])
    private let sweeper = Sweeper()
    private let parts = Atomic<UInt64>(0)

    /// Opens a folder, and starts to list it in the background.
    ///
    /// - Parameters:
    ///   - patience: the maximum time to wait for another storage that uses the folder.
    ///   - beforeListing: called on the background queue before the listing; a test may wait there.
    ///   - onListing: called after each listing, with whether it has found entries that can be private to a user.
    ///   - onFull: called with the error of the full disk after a store has evicted entries because of it.
    /// - Throws: ``CacheError``.
    init(
        config: DiskStorageConfig, policy: ConfiguredPolicy, seed: UInt64, clock: any CacheClock,
        users: UserNumbers = UserNumbers(), prefetches: Bool = false,
        patience: Duration = .seconds(1), flushDelay: Duration = .seconds(1),
        onStep: @escaping @Sendable (DiskStep) throws -> Void = { _ in },
        beforeListing: @escaping @Sendable () throws -> Void = {},
        onListing: (@Sendable (_ mayHavePrivateEntries: Bool) -> Void)? = nil,
        onRemoval: (@Sendable ([Removal]) -> Void)? = nil, onFull: (@Sendable (any Error) -> Void)? = nil
    ) throws {
        let start = clock.now
        var config = config
        folder = CacheFolder(url: try config.folder(), onStep: onStep)
        config.cachePathBlock = nil
        try folder.create()
        lock = Mutex(try DirectoryLock(folder.url, patience: patience))
        self.clock = clock
        self.flushDelay = flushDelay
        self.onRemoval = onRemoval
        self.onListing = onListing
        self.onFull = onFull
        state = Mutex(
            DiskEntryIndex(
                config: config,
                entries: EntryIndex(
                    policy: policy, limits: config.limits, rules: config.categoryRules,
                    usualExpiration: config.expiration, seed: seed, users: users, prefetches: prefetches)))
        listed.enter()
        background.async { [self] in
            let removals = recover(from: start, beforeListing)
            listed.leave()
            let waiters = listingWaiters.withLock { $0.take() }
            report(removals)
            for waiter in waiters ?? [] { waiter() }
        }
        sweep()
    }

    /// Starts the periodic removal of expired values in the background, or stops it if the interval is 0.
    func sweep() {
        guard state.withLock({ $0.config.cleanInterval > .zero && !$0.isClosed }) else { return sweeper.stop() }
        sweeper.start(
            clock: clock,
            interval: { [weak self] in
                let span = self?.state.withLock { $0.config.cleanInterval } ?? .zero
                return span > .zero ? span.microseconds : nil
            },
            work: { [weak self] in
                guard let background = self?.background else { return false }
                await withCheckedContinuation { continuation in
                    background.async { [weak self] in
                        self?.removeExpired()
                        continuation.resume()
                    }
                }
                return true
            })
    }

    private func removeExpired() {
        if state.withLock({ $0.listing == .pending }) { return }
        change { state, now in state.removeExpired(at: now) }
    }

    deinit { flush() }

    /// Whether the folder was not listed yet.
    var isListing: Bool { state.withLock { $0.listing == .pending } }

    /// Waits until the folder was listed.
    func waitUntilListed() { listed.wait() }

    /// Returns whether the folder was listed. If not, it calls `block` after the listing.
    func whenListed(_ block: @escaping @Sendable () -> Void) -> Bool {
        listingWaiters.withLock { waiters in
            waiters?.append(block)
            return waiters == nil
        }
    }

    /// Writes all pending changes and frees the folder. From then on, stores throw ``CacheError/closed``, look-ups
    /// miss, and nothing changes. A second call has no effect.
    func close() {
        closing.withLock { _ in
            waitUntilListed()
            sweeper.stop()
            mutation.withLock { _ in state.withLock { $0.isClosed = true } }
            flush()
            database.withLock { $0 = nil }
            lock.withLock { $0 = nil }
        }
    }

    // MARK: - Files

    /// Stores bytes under a key.
    ///
    /// - Parameter note: the note of the new entry; see ``EntryNotes``.
    /// - Returns: whether they are kept.
    /// - Throws: ``CacheError/cannotWriteFile(_:underlying:)`` or ``CacheError/closed``. The earlier bytes are kept
    ///   then, if there were any and a full disk has not evicted them.
    func store(
        _ data: Data, forKey key: String, forcedExtension: String?, expiration: StorageExpiration?,
        context: AccessContext, note: Data? = nil
    ) throws -> Bool {
        let now = clock.now
        let (name, expiration) = state.withLock { state in
            (
                state.config.naming.name(of: key, forcedExtension: forcedExtension),
                expiration ?? state.entries.expiration(ruledFor: context.categories) ?? state.config.expiration
            )
        }
        try checkIsOpen()
        if expiration.isPast(at: now) { return false }
        waitUntilListed()
        let expires = expiration.deadline(from: now)
        let (part, status): (String, CacheFolder.Status)
        do {
            (part, status) = try writeMakingRoom(data, at: now, expires: expires)
        } catch CacheError.closed {
            throw CacheError.closed
        } catch {
            throw CacheError.cannotWriteFile(folder.url(name), underlying: error)
        }
        let print = Fingerprints.fingerprint(key)
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

    /// Returns the bytes of a key; `nil` if there are none or they have expired.
    ///
    /// - Throws: ``CacheError/cannotLoadDataFromDisk(_:underlying:)``.
    func data(
        forKey key: String, forcedExtension: String?, extending: ExpirationExtending, context: AccessContext
    ) throws -> Data? {
        let now = clock.now
        let print = Fingerprints.fingerprint(key)
        let (naming, listing) = state.withLock { state -> (FileNaming?, DiskEntryIndex.Listing) in
            if state.isClosed { return (nil, state.listing) }
            if state.listing != .complete || state.prints.mayContain(print) {
                return (state.config.naming, state.listing)
            }
            state.entries.miss(context)
            return (nil, state.listing)
        }
        guard let name = naming?.name(of: key, forcedExtension: forcedExtension) else { return nil }
        guard mayBeThere(name, at: now, context: context) else { return nil }
        // Without a listing, the folder itself is read. It may be another storage's folder by now.
        if listing == .failed && isFolderMissing { return nil }
        let found: (data: Data, status: CacheFolder.Status)?
        do {
            found = try folder.read(name)
        } catch let error as SystemError where error.code == EACCES && folder.status(name) == nil {
            // The folder itself cannot be searched at present. What is in it is not lost.
            state.withLock { $0.entries.miss(context) }
            return nil
        } catch {
            throw CacheError.cannotLoadDataFromDisk(folder.url(name), underlying: error)
        }
        guard let found else {
            report(mutation.withLock { _ in folder.status(name) == nil ? lose(name) : [] })
            state.withLock { $0.entries.miss(context) }
            return nil
        }
        let (isFresh, isUnknown, isFlushDue) = state.withLock { state -> (Bool, Bool, Bool) in
            if state.listing == .pending {
                if found.status.expires <= now { return (false, false, false) }
                state.earlyLoads.append((name, now, extending, context))
                return (true, false, false)
            }
            if state.load(name, at: now, extending: extending, context: context) {
                return (true, false, state.beginsFlush())
            }
            // Another thread removed the entry meanwhile, or it was never known because the folder could not be
            // listed.
            let isUnknown = state.listing == .failed && state.entries.resident(name) == nil
            return (found.status.expires > now, isUnknown, false)
        }
        if !isFresh { return nil }
        if isUnknown { adopt(name, found.status, print: print, at: now, context: context) }
        if isFlushDue { flushLater() }
        return found.data
    }

    /// Returns the bytes of a key without an access; `nil` if there are none, they have expired or they cannot be
    /// read.
    func bytes(forKey key: String, forcedExtension: String?) -> Data? {
        guard isCached(forKey: key, forcedExtension: forcedExtension) else { return nil }
        let name = state.withLock { $0.config.naming }.name(of: key, forcedExtension: forcedExtension)
        return (try? folder.read(name))?.data
    }

    // MARK: - Notes

    /// Returns the note of a key's entry; `nil` if there is none, and before the listing. Reads no file.
    func note(forKey key: String, forcedExtension: String?) -> Data? {
        guard let naming = state.withLock({ $0.isClosed || $0.noteCount == 0 ? nil : $0.config.naming }) else {
            return nil
        }
        let name = naming.name(of: key, forcedExtension: forcedExtension)
        return state.withLock { $0.isClosed ? nil : $0.note(of: name) }
    }

    /// Replaces the note of a key's entry, if there is one; `nil` removes it. It is written with the next flush.
    func set(note: Data?, forKey key: String, forcedExtension: String?) {
        let name = state.withLock { $0.config.naming }.name(of: key, forcedExtension: forcedExtension)
        state.withLock { if !$0.isClosed { $0.set(note: note, of: name) } }
        scheduleFlush()
    }

    /// Returns whether there are bytes that have not expired. The call does not extend the expiration and is not an
    /// access.
    func isCached(forKey key: String, forcedExtension: String?) -> Bool {
        let now = clock.now
        let print = Fingerprints.fingerprint(key)
        let naming = state.withLock { state -> FileNaming? in
            if state.isClosed { return nil }
            return state.listing != .complete || state.prints.mayContain(print) ? state.config.naming : nil
        }
        guard let name = naming?.name(of: key, forcedExtension: forcedExtension) else { return false }
        let (isKnown, listing) = state.withLock { state -> (Bool?, DiskEntryIndex.Listing) in
            if state.undeleted.contains(name) { return (false, state.listing) }
            return (state.listing == .complete ? state.entries.find(name, at: now) != nil : nil, state.listing)
        }
        if isKnown == false || listing == .failed && isFolderMissing { return false }
        guard let status = folder.status(name) else { return false }
        return isKnown == true || status.expires > now
    }

    /// Returns whether there may be a file of a key. Does not read the disk.
    func mayContain(_ key: String) -> Bool {
        let print = Fingerprints.fingerprint(key)
        return state.withLock { !$0.isClosed && ($0.listing != .complete || $0.prints.mayContain(print)) }
    }

    /// Returns the URL of a key's file, whether the file exists or not.
    func url(forKey key: String, forcedExtension: String?) -> URL {
        folder.url(state.withLock { $0.config.naming }.name(of: key, forcedExtension: forcedExtension))
    }

    /// Updates whether a prefetched entry is still likely to be requested. An unlikely entry is evicted first.
    func reconsider(_ key: String, forcedExtension: String?, isLikely: Bool) {
        let name = state.withLock { $0.config.naming }.name(of: key, forcedExtension: forcedExtension)
        let now = clock.now
        state.withLock { $0.entries.reconsider(name, isLikely: isLikely, at: now) }
    }

    /// Sets the keys whose files are evicted next when room is needed, in this order. They replace those of the last call.
    func evictNext(_ keys: [String], forcedExtension: String?) {
        let naming = state.withLock { $0.config.naming }
        let names = keys.map { naming.name(of: $0, forcedExtension: forcedExtension) }
        state.withLock { $0.entries.evictNext(names) }
    }

    /// Removes the bytes of a key.
    func remove(forKey key: String, forcedExtension: String?) {
        let name = state.withLock { $0.config.naming }.name(of: key, forcedExtension: forcedExtension)
        change { state, _ in
            if let entry = state.entries.resident(name) { state.entries.remove(entry, reason: .removed) }
        } then: {
            // The file may exist although the index does not contain it.
            removeFile(name)
        }
    }

    /// Returns the files of the cache: those that its naming can give, and those in `known`. O(files).
    ///
    /// - Throws: ``SystemError`` if the folder cannot be listed.
    func list(_ naming: FileNaming? = nil, known: Set<ByteName> = []) throws -> [(
        name: String, status: CacheFolder.Status
    )] {
        let naming = naming ?? state.withLock { $0.config.naming }
        return try folder.list().filter { naming.isOwn($0.name) || known.contains($0.name) }
    }

    /// Reads the entries after the listing. If the folder no longer exists, there are none.
    ///
    /// - Parameter none: the result for a closed storage.
    func look<Result: Sendable>(_ none: Result, _ body: (borrowing DiskEntryIndex) -> Result) -> Result {
        waitUntilListed()
        noticeLoss()
        return state.withLock { $0.isClosed ? none : body($0) }
    }

    /// Changes the entries, removes the files of removed entries, and returns the removals.
    @discardableResult
    func change(
        _ body: (inout DiskEntryIndex, _ now: Int64) -> Void, then finish: () -> Void = {}
    ) -> [Removal] {
        change(having: {}, { state, _, now in body(&state, now) }, then: finish)
    }

    /// Changes the entries as above. `find` runs first, while no file changes but without the lock that readers need.
    func change<Found: Sendable>(
        having find: () -> Found, _ body: (inout DiskEntryIndex, Found, _ now: Int64) -> Void,
        then finish: () -> Void = {}
    ) -> [Removal] {
        waitUntilListed()
        let now = clock.now
        let removals = mutation.withLock { _ -> [Removal] in
            if state.withLock({ $0.isClosed }) { return [] }
            let found = find()
            let removals = state.withLock { state -> [Removal] in
                body(&state, found, now)
                return state.takeRemovals()
            }
            removeFiles(removals)
            finish()
            return removals
        }
        scheduleFlush()
        report(removals)
        return removals
    }

    // MARK: - Flushing

    /// Writes pending changes: the times of files, the index database, and removals of files that failed before.
    /// Called in the background and at the end.
    ///
    /// If the database cannot be written, its changes stay pending. The next flush opens it again and writes all
    /// rows.
    ///
    /// - Parameter least: whether to write the times of entries that have hardly moved, too;
    ///   see ``DiskEntryIndex/load(_:at:extending:context:)``.
    func flush(least: Bool = true) {
        let isIdle = state.withLock { state in
            state.isFlushScheduled = false
            return !state.isBehind(least: least) || state.listing == .pending
        }
        if isIdle { return }
        // The folder may have been replaced by another storage's, whose database and files must not be changed.
        if isFolderMissing { return }
        database.withLock { database in
            if database?.isInPlace == false { database = nil }
            let isNew = database == nil
            if isNew { database = try? IndexDatabase.open(in: folder.hidden).database }
            let due = takeDue(everything: isNew && database != nil, least: least)
            if due.isEmpty { return }
            do {
                try folder.onStep(.indexing)
                guard let open = database else { throw SystemError(code: EIO) }
                try open.update(due.rows, renewed: due.renewed, removing: due.removed)
                try folder.onStep(.indexed)
            } catch {
                database = nil
                state.withLock {
                    let names = due.rows.map(\.name) + due.renewed.map(\.name) + due.removed
                    $0.unindexed.formUnion(names.map(ByteName.init))
                }
            }
        }
    }

    /// Takes the pending changes of the database, and writes those of the files.
    private func takeDue(everything: Bool, least: Bool) -> DiskEntryIndex.Due {
        mutation.withLock { _ in
            let due = state.withLock { state in
                state.isFlushScheduled = false
                return state.takeDue(everything: everything, least: least)
            }
            for name in due.undeleted { removeFile(name) }
            for one in due.renewed { folder.touch(one.name, accessed: one.accessed, expires: one.expires) }
            return due
        }
    }

    /// Removes a file. If this fails, a flush tries again. `mutation` must be held.
    func removeFile(_ name: String) {
        if isFolderMissing { return }
        if !folder.remove(name) { state.withLock { _ = $0.undeleted.insert(name) } }
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

    /// Whether the locked folder is no longer in its place. Another storage's folder may be there.
    var isFolderMissing: Bool { lock.withLock { $0?.isMissing(from: folder.url) ?? true } }

    /// - Throws: ``CacheError/closed``.
    private func checkIsOpen() throws {
        if state.withLock({ $0.isClosed }) { throw CacheError.closed }
    }

    /// Removes all entries if the folder no longer exists.
    func noticeLoss() {
        guard isFolderMissing, state.withLock({ !$0.isClosed && $0.entries.count > 0 }) else { return }
        let removals = mutation.withLock { _ -> [Removal] in
            guard isFolderMissing else { return [] }
            return state.withLock { state in
                if state.isClosed { return [] }
                state.loseAll()
                return state.takeRemovals()
            }
        }
        report(removals)
    }

    /// Creates a folder that was removed, or takes over the folder that another process has created and freed since.
    /// The entries of the old folder are lost.
    ///
    /// - Throws: ``CacheError/directoryInUse(_:)`` while another process uses the folder.
    private func restoreFolder() throws {
        let (removals, failure) = mutation.withLock { _ -> ([Removal]?, (any Error)?) in
            do { try checkIsOpen() } catch { return (nil, error) }
            let isMissing = isFolderMissing
            if !isMissing && FileManager.default.fileExists(atPath: folder.hidden.path) { return (nil, nil) }
            var failure: (any Error)?
            do {
                try folder.create()
                if isMissing {
                    let fresh = try DirectoryLock(folder.url, patience: .zero)
                    lock.withLock { $0 = fresh }
                }
            } catch CacheError.directoryInUse(let url) {
                failure = CacheError.directoryInUse(url)
            } catch {
                return (nil, error)
            }
            let missing = state.withLock { $0.sizes }.map(\.name).filter { isMissing || folder.status($0) == nil }
            let files = isMissing ? (failure == nil ? try? list() : []) : nil
            if isMissing, files?.isEmpty != true { onListing?(true) }
            let (lost, evicted) = state.withLock { state -> ([Removal], [Removal]) in
                for name in missing { state.correct(name, nil) }
                let lost = state.takeRemovals()
                if isMissing { state.restart(with: files) }
                return (lost, state.takeRemovals())
            }
            removeFiles(evicted)
            return (lost + evicted, failure)
        }
        if let removals {
            // The old database no longer exists. The next flush creates one with all rows.
            database.withLock { $0 = nil }
            report(removals)
        }
        if let failure { throw failure }
    }

    private func mayBeThere(_ name: String, at now: Int64, context: AccessContext) -> Bool {
        let (isThere, hasExpired) = state.withLock { state -> (Bool, Bool) in
            if state.listing != .complete && !state.undeleted.contains(name) { return (true, false) }
            if state.entries.find(name, at: now) != nil { return (true, false) }
            state.entries.miss(context)
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

    private func removeFiles(_ removals: [Removal]) {
        for one in removals { removeFile(one.key) }
    }

    func report(_ removals: [Removal]) {
        if !removals.isEmpty { onRemoval?(removals) }
    }

    func scheduleFlush() {
        if state.withLock({ $0.beginsFlush() }) { flushLater() }
    }

    private func flushLater() {
        background.asyncAfter(deadline: .now() + .microseconds(Int(flushDelay.microseconds))) { [weak self] in
            self?.flush(least: false)
        }
    }
}
