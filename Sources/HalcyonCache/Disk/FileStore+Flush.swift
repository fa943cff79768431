import Foundation

extension FileStore {
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
        if isFolderGone { return }
        index.withLock { index in
            if index?.isInPlace == false { index = nil }
            let isAnew = index == nil
            if isAnew { index = try? DiskIndex.open(in: folder.hidden).index }
            let (rows, removed) = takeDue(everything: isAnew && index != nil)
            if rows.isEmpty && removed.isEmpty { return }
            do {
                try folder.onStep(.indexing)
                guard let open = index else { throw SystemError(code: EIO) }
                try open.update(rows, removing: removed)
                try folder.onStep(.indexed)
            } catch {
                index = nil
                state.withLock { $0.unindexed.formUnion(rows.map(\.name) + removed) }
            }
        }
    }

    /// What the index is to be told, and that only: files are seen to here.
    ///
    /// - Parameter everything: whether of all residents, not of those alone that changed.
    private func takeDue(everything: Bool) -> (rows: [DiskIndex.Row], removed: [String]) {
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

    /// Removes a file, now or as soon as that can be done. Called by whoever holds `mutation`.
    func removeFile(_ name: String) {
        if isFolderGone { return }
        if !folder.remove(name) { state.withLock { _ = $0.undeleted.insert(name) } }
    }
}
