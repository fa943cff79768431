import Foundation
import HalcyonSupport

// What a disk storage writes later, and what it does once its folder is gone.

extension DiskStorage {
    /// Writes all pending changes to the disk: access times, extended expirations and the index database, and what a
    /// policy has learned (``DiskStorageConfig/keepsLearning``).
    ///
    /// If the disk is full, all of them are written when there is room again. See
    /// `FullDiskTests.indexIsWrittenOnceThereIsSpace()`.
    public func flush() {
        waitUntilListed()
        flush(least: true)
        keepCalls()
    }

    /// Writes pending changes: the times of files, the index database, and removals of files that failed before.
    /// Called in the background and at the end.
    ///
    /// If the database cannot be written, its changes stay pending. The next flush opens it again and writes all
    /// rows.
    ///
    /// - Parameter least: whether to write the times of entries that have hardly moved, too;
    ///   see ``DiskEntryIndex/load(_:at:extending:context:)``.
    func flush(least: Bool) {
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
                try folder.calls.perform(.indexing) {
                    guard let open = database else { throw SystemError(code: EIO) }
                    try open.update(due.rows, renewed: due.renewed, removing: due.removed)
                }
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

    func scheduleFlush() {
        if state.withLock({ $0.beginsFlush() }) { flushLater() }
    }

    func flushLater() {
        background.asyncAfter(deadline: .now() + .microseconds(Int(flushDelay.microseconds))) { [weak self] in
            self?.flush(least: false)
        }
    }

    // MARK: - A folder that is gone

    /// Whether the locked folder is no longer in its place. Another storage's folder may be there.
    var isFolderMissing: Bool { lock.withLock { $0?.isMissing(from: folder.url) ?? true } }

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
    func restoreFolder() throws {
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
}
