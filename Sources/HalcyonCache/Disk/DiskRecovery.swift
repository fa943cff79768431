import Foundation
import HalcyonEviction
import HalcyonSupport

/// The entries on disk, computed from a folder's files and an index database that may be out of date or lost.
///
/// The files determine which values exist, their sizes and their expirations. The rows add what a file cannot
/// contain. It is a pure function, so that tests cover each way in which a process can end without ending one.
///
/// See `DiskExpirationTests.fileTimesHoldExpirationAndAccess()` and `DiskRecoveryTests.lostIndexIsRebuiltFromFiles()`.
enum DiskRecovery {
    /// The entries in the order of their last access, the damaged files, and the differences to the database.
    struct Result: Equatable {
        var residents: [IndexDatabase.Row] = []
        /// The files whose length differs from the stored value's. They are to be removed.
        var damaged: [String] = []
        /// The rows without a file.
        var vanished: [String] = []
        /// The files whose row was missing or out of date.
        var corrected: [String] = []
    }

    /// Merges files and rows. O(n log n).
    static func merge(files: [(name: String, status: CacheFolder.Status)], rows: [IndexDatabase.Row]) -> Result {
        var known = Dictionary(rows.map { ($0.name, $0) }) { first, _ in first }
        var result = Result()
        result.residents.reserveCapacity(files.count)
        for (name, status) in files {
            guard var row = known.removeValue(forKey: name) else {
                let renewal = status.expires == .max ? .max : max(status.expires - status.accessed, 0)
                result.residents.append(
                    IndexDatabase.Row(
                        name: name, size: status.size, length: status.length, accessed: status.accessed,
                        expires: status.expires, renewal: renewal, fingerprint: Fingerprints.unknown, categories: []))
                result.corrected.append(name)
                continue
            }
            let isSameFile = row.expires == status.expires
            if isSameFile && row.length != status.length {
                result.damaged.append(name)
                continue
            }
            let before = row
            row.size = status.size
            row.length = status.length
            row.expires = status.expires
            if !isSameFile {
                row.accessed = max(status.accessed, row.accessed)
                // The note may be of the earlier bytes.
                row.note = nil
            }
            if row != before { result.corrected.append(name) }
            result.residents.append(row)
        }
        result.vanished = known.keys.sorted()
        result.residents.sort { ($0.accessed, $0.name) < ($1.accessed, $1.name) }
        return result
    }
}

/// The opening of a disk storage, which ends with the listing of its folder.
@_spi(Observation) public struct DiskOpening: Sendable, Equatable {
    /// The duration in microseconds, by the cache's clock.
    @_spi(Observation) public let microseconds: Int64
    /// The number of entries found.
    @_spi(Observation) public let entryCount: Int
    /// The number of damaged files, which were removed.
    @_spi(Observation) public let damagedCount: Int
    /// Whether the index database was lost or damaged although there are files. The entries have no categories then.
    @_spi(Observation) public let isIndexRebuilt: Bool
    /// Whether the folder could be listed.
    @_spi(Observation) public let isListed: Bool
}

// The repair of differences between files, entry index and database: when the storage is opened, and by a
// measurement.
extension DiskStorage {
    // MARK: - Listing

    /// Lists the folder, merges files and rows, and adds the entries to the policy in the order of their last access.
    /// Those that have expired are removed.
    ///
    /// - Parameter start: the time at which the storage was opened.
    /// - Returns: the removed entries.
    func recover(from start: Int64) -> [Removal] {
        let opened = try? IndexDatabase.open(in: folder.hidden)
        database.withLock { $0 = opened?.database }
        let rows = opened?.rows ?? (try? IndexDatabase.rowsOfClosed(in: folder.hidden)) ?? []
        folder.removeParts()
        let kept = readKept()
        let files = try? list(known: Set(rows.map { ByteName($0.name) }))
        let found = files.map { DiskRecovery.merge(files: $0, rows: rows) }
        let removals = mutation.withLock { _ -> [Removal] in
            let (removals, refused, fault) = state.withLock { state -> ([Removal], [String], String?) in
                let now = clock.now
                let (refused, fault) = state.adopt(found?.residents ?? [], continuing: kept, at: now)
                for name in (found?.corrected ?? []) + (found?.vanished ?? []) + (found?.damaged ?? []) {
                    state.unindexed.insert(name)
                }
                state.endListing(isComplete: found != nil)
                state.removeExpired(at: now)
                return (state.takeRemovals(), refused, fault)
            }
            if let fault { onFault?(keptFile.fault(fault)) }
            for name in (found?.damaged ?? []) + refused + removals.map(\.key) { removeFile(name) }
            return removals
        }
        let description = DiskOpening(
            microseconds: max(clock.now - start, 0), entryCount: found?.residents.count ?? 0,
            damagedCount: found?.damaged.count ?? 0,
            isIndexRebuilt: rows.isEmpty && found?.residents.isEmpty == false, isListed: found != nil)
        opening.withLock { $0 = description }
        onListing?(found?.residents.contains { $0.origin.isPrivate || $0.origin.isUnknown } ?? true)
        scheduleFlush()
        return removals
    }

    /// Compares all entries with their files, corrects differences, and evicts entries until the limit holds. If the
    /// first listing failed, this repeats it.
    ///
    /// Files are compared while readers and writers continue. Only files that seem to differ are compared again while
    /// no file changes.
    @discardableResult
    func measure() -> [Removal] {
        waitUntilListed()
        noticeLoss()
        let (residents, isUnlisted) = state.withLock { state in (state.sizes, state.listing == .failed) }
        let differing = residents.filter { resident in
            (try? folder.calls.perform(.measuring) { folder.status(resident.name)?.size }) != resident.size
        }.map(\.name)
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
}
