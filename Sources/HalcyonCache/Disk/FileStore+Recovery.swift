import Foundation
import HalcyonEviction

extension FileStore {
    /// Lists the folder, puts files and index together, and tells the policy of them in the order of their last access.
    ///
    /// - Returns: who had to go.
    func recover(_ beforeListing: () throws -> Void) -> [Departure] {
        let opened = try? DiskIndex.open(in: folder.hidden)
        index.withLock { $0 = opened?.index }
        let rows = opened?.rows ?? (try? DiskIndex.rowsOfClosed(in: folder.hidden)) ?? []
        folder.removeParts()
        let found: DiskRecovery.Result?
        do {
            try beforeListing()
            found = DiskRecovery.merge(files: try list(known: Set(rows.map(\.name))), rows: rows)
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
            for name in (found?.damaged ?? []) + refused + gone.map(\.departure.key) { removeFile(name) }
            return gone.map(\.departure)
        }
        scheduleFlush()
        return departures
    }

    /// Compares all residents with their files, corrects what differs, and evicts until the limit holds. Where the first
    /// listing failed, it is made up for.
    @discardableResult
    func measure() -> [Departure] {
        change { state, now in
            if state.listing == .failed, let files = try? list(state.config.naming) { state.complete(with: files) }
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
