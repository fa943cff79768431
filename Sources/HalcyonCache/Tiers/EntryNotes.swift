import Foundation

/// Notes about the entries on a cache's disk, such as the freshness that servers state.
///
/// A note is a column of its entry's row in the index database, and is held in memory beside the entry. It therefore
/// takes as long as its entry lives and no longer: an eviction, an expiration or a removal of any kind removes both,
/// and a store replaces both. There is no limit but that of the entries, and reading a note reads no file. An entry
/// that is in memory alone has no note. One that has expired on disk keeps it until it is removed there.
///
/// After a kill, notes of the last second can be missing. An entry can then even have the note of its earlier bytes,
/// if these had the same length and expiration. A note should therefore contain a digest of the bytes that it
/// describes.
///
/// See `EntryNoteTests`.
package struct EntryNotes: Sendable {
    let disk: DiskOwner

    /// Returns the note of an entry on disk once the pending changes of its key have ended; `nil` if there is none. It does
    /// not suspend if no change is pending and the folder was listed.
    package func settled(of key: some EntryNaming) async -> Data? {
        let key = key.entryKey
        guard let storage = disk.storage, disk.isFree(key) else {
            return await after(.read(key)) { $0.note(of: key) } ?? nil
        }
        if storage.isListing {
            await withCheckedContinuation { continuation in
                if storage.whenListed({ continuation.resume() }) { continuation.resume() }
            }
        }
        return storage.note(of: key)
    }

    /// Replaces the note of an entry on disk, once the pending changes of its key have ended. Without an entry it has no
    /// effect.
    ///
    /// - Parameters:
    ///   - note: the note; `nil` removes it.
    ///   - isExpected: whether the note is of these bytes, which the entry has; by default they are not read.
    package func set(
        _ note: Data?, of key: some EntryNaming, where isExpected: (@Sendable (Data) -> Bool)? = nil
    ) async {
        let key = key.entryKey
        await after(.change(key)) { storage in
            if let isExpected, storage.bytes(of: key).map(isExpected) != true { return }
            storage.set(note: note, of: key)
        }
    }

    @discardableResult
    private func after<Result: Sendable>(
        _ operation: DiskOwner.Schedule.Operation, _ work: @escaping @Sendable (DiskStorage) -> Result
    ) async -> Result? {
        await withCheckedContinuation { continuation in
            disk.perform(operation) { storage in
                // A read does not wait for the listing, which has the notes.
                storage.waitUntilListed()
                return work(storage)
            } done: {
                continuation.resume(returning: try? $0.get())
            }
        }
    }
}
