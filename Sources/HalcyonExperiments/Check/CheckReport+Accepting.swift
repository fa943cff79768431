import Foundation
import HalcyonEviction
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace

extension ResultStore {
    /// Whether results of a suite were accepted into the folder.
    var isAccepted: Bool { FileManager.default.fileExists(atPath: "\(folder)/\(CheckReport.acceptedFile)") }
}

extension CheckReport {
    /// What ``accept(into:reason:date:)`` changed.
    package struct Acceptance: Sendable, Equatable {
        /// The number of cells that were added or replaced.
        package var stored: Int
        /// The number of cells that were removed: those of other result versions, and those that belong to no run.
        package var removed: Int
    }

    /// The name of the file in a folder of results that says when and why its cells were accepted.
    package static let acceptedFile = "accepted.txt"

    /// Stores the measured results, so that the folder holds the cells of the suite and no others. Then appends the
    /// reason to ``acceptedFile``. Limits do not change. Results that are refused change no file.
    ///
    /// - Parameters:
    ///   - store: the folder that the check read.
    ///   - reason: why the results are right.
    ///   - date: the day, `2026-11-21`.
    /// - Returns: what changed; `nil` if the folder held exactly these results, in which case nothing is written.
    /// - Throws: `ReplayError.data(_:)` if something could not be run. `ReplayError.usage(_:)` if the folder has a
    ///   cell of a higher result version than the build's, results moved without a higher result version, or a limit
    ///   is missed. The same if the folder holds cells of other runs
    ///   that were not accepted here, or no result replaces its cells. `TraceError` if a file cannot be written.
    package func accept(into store: ResultStore, reason: String, date: String) throws -> Acceptance? {
        if let error = errors.first {
            throw ReplayError.data(
                "--accept stores the results of all runs, and not all were run: \(error.name): \(error.sentence)")
        }
        let stored = try RecordedCells(store).cells
        try verifyVersion(of: stored, in: store)
        try verifyResults(against: stored, in: store)
        try verifyLimits()
        let names = Set(cells.map { $0.cell.identity })
        let added = names.subtracting(stored.map(\.identity)).count
        let removed = stored.count { !names.contains($0.identity) }
        guard added > 0 || removed > 0 else { return nil }
        let owned = store.isAccepted
        let foreign = leftovers + replaced
        if !owned, foreign > 0 {
            throw ReplayError.usage(
                "\(store.folder) holds \(foreign.counted("cell")) that belong\(foreign == 1 ? "s" : "") to no run of "
                    + "\(suite), and --accept would remove them: name a folder of its own with 'results' or --results.")
        }
        if cells.isEmpty {
            throw ReplayError.usage(
                "\(suite) has no result that is the same on every machine, so that none replaces the "
                    + "\(removed.counted("cell")) in \(store.folder): remove the folder.")
        }
        let log = "\(store.folder)/\(Self.acceptedFile)"
        // Of two processes that accept at once, both reasons are kept.
        try store.prepare()
        let lock = try PackLock(path: "\(log).lock")
        defer { withExtendedLifetime(lock) {} }
        let text = try reasons(in: store.isAccepted ? log : nil, with: reason, date: date, stored: added)
        try store.replaceCells(with: cells.map { ($0.cell, $0.provenance) })
        try ResultStore.write(Data(text.utf8), to: log)
        return Acceptance(stored: added, removed: removed)
    }

    /// Returns the content of ``acceptedFile`` with a further reason.
    ///
    /// - Parameter path: the file so far; `nil` if there is none.
    private func reasons(in path: String?, with reason: String, date: String, stored: Int) throws -> String {
        var before = "When 'replay check --accept' stored cells in this folder, and why:\n"
        if let path {
            do { before = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self) } catch {
                throw ReplayError.data("\(path): cannot be read: \(SystemReason.text(of: error)).")
            }
        }
        let words = reason.split(whereSeparator: { $0.isWhitespace || $0.isNewline }).joined(separator: " ")
        let line =
            "\(date), result version \(resultVersion), Halcyon \(Halcyon.version), "
            + "\(stored.grouped) of \(cells.count.counted("cell")): \(words)\n"
        return before + line
    }

    /// Refuses a build of a lower result version than a stored cell, which would be removed.
    private func verifyVersion(of stored: [StoredCell], in store: ResultStore) throws(ReplayError) {
        guard let newest = stored.map(\.identity.resultVersion).max(), newest > resultVersion else { return }
        throw .usage(
            "\(store.folder) has cells of result version \(newest), and this build has \(resultVersion): use a build with "
                + "result version \(newest) or higher.")
    }

    /// Refuses results that differ from stored ones of the same result version, those of a single seed included.
    private func verifyResults(against stored: [StoredCell], in store: ResultStore) throws(ReplayError) {
        let unversioned = runs.filter { !$0.unversionedChanges.isEmpty }
        guard let first = unversioned.first else {
            // The folder may have changed since the check read it.
            let known = Dictionary(stored.map { ($0.identity, $0) }, uniquingKeysWith: { first, _ in first })
            for cell in cells.map(\.cell) where known[cell.identity].map({ !$0.hasResult(of: cell) }) ?? false {
                throw .usage(
                    "\(store.place(ofCell: cell.identity.hash)): another result of \(cell.label) on \(cell.trace.name) was "
                        + "stored during the check: check again.")
            }
            return
        }
        let rest = unversioned.count - 1
        throw .usage(
            "\(first.name) moved: \(first.unversionedChanges.joined(separator: ", "))\(rest > 0 ? "; \(rest.counted("other run")) moved as well" : ""). "
                + advice(on: first))
    }

    /// Refuses to store results while a limit is missed: a limit is changed by hand only.
    private func verifyLimits() throws(ReplayError) {
        for run in runs {
            guard let miss = run.missedLimits.first else { continue }
            throw .usage(
                "--accept changes no limit. \(run.name): \(miss) Change the limit by hand in \(suite) if that is meant."
            )
        }
    }
}
