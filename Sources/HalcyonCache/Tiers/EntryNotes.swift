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

    /// Returns the note of a computed key's entry on disk once the pending changes of the key have ended; `nil` if
    /// there is none. It does not suspend if no change is pending and the folder was listed.
    ///
    /// - Parameter forcedExtension: the extension with which the file was stored (``CacheOptions/forcedExtension``).
    package func settled(of computed: String, forcedExtension: String? = nil) async -> Data? {
        guard let files = disk.storage?.files, disk.isFree(computed) else {
            return await after(.read(computed)) { note(of: computed, forcedExtension: forcedExtension) } ?? nil
        }
        if files.isListing {
            await withCheckedContinuation { continuation in
                if files.whenListed({ continuation.resume() }) { continuation.resume() }
            }
        }
        return files.note(forKey: computed, forcedExtension: forcedExtension)
    }

    /// Returns the note of a computed key's entry as it is now, without waiting. It returns `nil` if there is none,
    /// and while a store is pending or the folder is being listed.
    package func note(of computed: String, forcedExtension: String? = nil) -> Data? {
        disk.openStorage?.files.note(forKey: computed, forcedExtension: forcedExtension)
    }

    /// Replaces the note of a computed key's entry on disk, once the pending changes of the key have ended. Without
    /// an entry it has no effect.
    ///
    /// - Parameters:
    ///   - note: the note; `nil` removes it.
    ///   - isExpected: whether the note is of these bytes, which the entry has; by default they are not read.
    package func set(
        _ note: Data?, of computed: String, forcedExtension: String? = nil,
        where isExpected: (@Sendable (Data) -> Bool)? = nil
    ) async {
        _ = await after(.change(computed)) { [disk] in
            guard let files = disk.openStorage?.files else { return }
            if let isExpected {
                guard files.bytes(forKey: computed, forcedExtension: forcedExtension).map(isExpected) == true else {
                    return
                }
            }
            files.set(note: note, forKey: computed, forcedExtension: forcedExtension)
        }
    }

    private func after<Result: Sendable>(
        _ operation: DiskOwner.Schedule.Operation, _ work: @escaping @Sendable () -> Result
    ) async -> Result? {
        await withCheckedContinuation { continuation in
            disk.perform(operation) { storage in
                // A read does not wait for the listing, which has the notes.
                storage.files.waitUntilListed()
                return work()
            } done: {
                continuation.resume(returning: try? $0.get())
            }
        }
    }
}
