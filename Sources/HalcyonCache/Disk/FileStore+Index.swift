import Foundation
import HalcyonEviction

// How files, entries and index are brought into agreement: at the start, by a measurement, and by each flush.
extension FileStore {
    // MARK: - Listing

    /// Lists the folder, puts files and index together, and tells the policy of them in the order of their last access.
    ///
    /// - Returns: the entries that left.
    func recover(_ beforeListing: () throws -> Void) -> [Removal] {
        let opened = try? IndexDatabase.open(in: folder.hidden)
        database.withLock { $0 = opened?.database }
        let rows = opened?.rows ?? (try? IndexDatabase.rowsOfClosed(in: folder.hidden)) ?? []
        folder.removeParts()
        let found: DiskRecovery.Result?
        do {
            try beforeListing()
            found = DiskRecovery.merge(files: try list(known: Set(rows.map(\.name))), rows: rows)
        } catch {
            found = nil
        }
        let removals = mutation.withLock { _ -> [Removal] in
            let (removals, refused) = state.withLock { state -> ([Removal], [String]) in
                let refused = (found?.residents ?? []).filter { !state.adopt($0) }.map(\.name)
                for name in (found?.corrected ?? []) + (found?.vanished ?? []) + (found?.damaged ?? []) {
                    state.unindexed.insert(name)
                }
                state.listing = found == nil ? .failed : .complete
                let early = state.earlyLoads
                state.earlyLoads = []
                for (name, time, extending, context) in early {
                    _ = state.load(name, at: time, extending: extending, context: context)
                }
                return (state.takeRemovals(), refused)
            }
            for name in (found?.damaged ?? []) + refused + removals.map(\.key) { removeFile(name) }
            return removals
        }
        scheduleFlush()
        return removals
    }

    /// Compares all residents with their files, corrects what differs, and evicts until the limit holds. Where the first listing
    /// failed, it is made up for. Files are looked at while readers and writers go on; only those that seem to differ are looked at
    /// again while no file changes.
    @discardableResult
    func measure() -> [Removal] {
        waitUntilListed()
        noticeLoss()
        let (residents, isUnlisted) = state.withLock { state in (state.sizes, state.listing == .failed) }
        let differing = residents.filter { folder.status($0.name)?.size != $0.size }.map(\.name)
        return change(
            having: {
                (
                    files: isUnlisted && !isFolderMissing ? try? list() : nil,
                    statuses: differing.map { ($0, folder.status($0)) }
                )
            },
            { state, found, now in
                if state.listing == .failed, let files = found.files { state.complete(with: files) }
                for (name, status) in found.statuses { state.correct(name, status) }
                state.entries.limit(state.entries.limits, at: now)
            })
    }

    // MARK: - Flushing

    /// Brings the times of files and the index up to what is known, and removes the files that could not be removed when
    /// they were to be. Called in the background and at the end.
    ///
    /// What cannot be written into the index is due again the next time; the index is then opened anew and told of
    /// everything.
    func flush() {
        let isIdle = state.withLock { state in
            state.isFlushScheduled = false
            return !state.isBehind || state.listing == .pending
        }
        if isIdle { return }
        // Another's folder may be there now; its index and its files are not ours to touch.
        if isFolderMissing { return }
        database.withLock { database in
            if database?.isInPlace == false { database = nil }
            let isNew = database == nil
            if isNew { database = try? IndexDatabase.open(in: folder.hidden).database }
            let (rows, removed) = takeDue(everything: isNew && database != nil)
            if rows.isEmpty && removed.isEmpty { return }
            do {
                try folder.onStep(.indexing)
                guard let open = database else { throw SystemError(code: EIO) }
                try open.update(rows, removing: removed)
                try folder.onStep(.indexed)
            } catch {
                database = nil
                state.withLock { $0.unindexed.formUnion(rows.map(\.name) + removed) }
            }
        }
    }

    /// What the index is to be told, and that only: files are seen to here.
    ///
    /// - Parameter everything: whether of all residents, not of those alone that changed.
    private func takeDue(everything: Bool) -> (rows: [IndexDatabase.Row], removed: [String]) {
        mutation.withLock { _ in
            let (due, touched, undeleted) = state.withLock { state in
                state.isFlushScheduled = false
                return state.takeDue(everything: everything)
            }
            for name in undeleted { removeFile(name) }
            let (rows, removed) = due
            for row in rows where touched.contains(row.name) {
                folder.touch(row.name, accessed: row.accessed, expires: row.expires)
            }
            return (rows, removed)
        }
    }

    /// Removes a file, now or as soon as that can be done. Called with `mutation` held.
    func removeFile(_ name: String) {
        if isFolderMissing { return }
        if !folder.remove(name) { state.withLock { _ = $0.undeleted.insert(name) } }
    }
}
