import Foundation
import HalcyonEviction

extension FileStore {
    /// Lists the folder, puts files and index together, and tells the policy of them in the order of their last access.
    ///
    /// - Returns: who had to go.
    func recover(_ beforeListing: () throws -> Void) -> [Departure] {
        let opened = try? DiskIndex.open(in: folder.hidden)
        index.withLock { $0 = opened?.index }
        let rows = opened?.rows ?? []
        folder.removeParts()
        let found: DiskRecovery.Result?
        do {
            try beforeListing()
            found = DiskRecovery.merge(files: try folder.list(), rows: rows)
        } catch {
            found = nil
        }
        let departures = mutation.withLock { _ -> [Departure] in
            let (gone, refused) = state.withLock { state -> ([Gone], [String]) in
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
                return (state.takeGone(), refused)
            }
            for name in (found?.damaged ?? []) + refused + gone.map(\.departure.key) { folder.remove(name) }
            return gone.map(\.departure)
        }
        scheduleFlush()
        return departures
    }

    /// Brings the times of files and the index up to what is known. Called in the background and at the end.
    func flush() {
        let (rows, removed) = mutation.withLock { _ -> ([DiskIndex.Row], [String]) in
            let (rows, removed, touched) = state.withLock { state -> ([DiskIndex.Row], [String], Set<String>) in
                state.isFlushScheduled = false
                guard state.listing != .pending else { return ([], [], []) }
                var (rows, removed): ([DiskIndex.Row], [String]) = ([], [])
                for name in state.unindexed {
                    if let entry = state.ledger.resident(name) {
                        rows.append(state.row(entry))
                    } else {
                        removed.append(name)
                    }
                }
                defer {
                    state.unindexed = []
                    state.untouched = []
                }
                return (rows, removed, state.untouched)
            }
            for row in rows where touched.contains(row.name) {
                folder.touch(row.name, accessed: row.accessed, expires: row.expires)
            }
            return (rows, removed)
        }
        if rows.isEmpty && removed.isEmpty { return }
        index.withLock { index in
            do {
                try folder.onStep(.indexing)
                try index?.update(rows, removing: removed)
                try folder.onStep(.indexed)
            } catch {
                // The files tell at the next start what this would have told; an index that is at fault is begun anew.
                index = try? DiskIndex.open(in: folder.hidden).index
            }
        }
    }

    /// Compares all residents with their files, corrects what differs, and evicts until the limit holds.
    @discardableResult
    func measure() -> [Departure] {
        change { state, now in
            for entry in state.ledger.residents(where: { _, _ in true }) {
                let row = state.row(entry)
                guard let status = folder.status(row.name) else {
                    state.ledger.depart(entry, .lost)
                    continue
                }
                if status.size == row.size { continue }
                var corrected = row
                corrected.size = status.size
                corrected.length = status.length
                _ = state.adopt(corrected)
                state.unindexed.insert(row.name)
            }
            state.ledger.limit(state.ledger.limits, at: now)
        }
    }
}
