import Foundation
import HalcyonEviction
import HalcyonSimulation
import HalcyonTrace

extension CheckReport {
    /// What ``accept(into:reason:date:)`` changed.
    public struct Acceptance: Sendable, Equatable {
        /// The number of cells that were added or replaced.
        public var stored: Int
        /// The number of cells that were removed: those of other result versions, and those that belong to no run.
        public var removed: Int
    }

    /// The name of the file in a folder of results that says when and why its cells were accepted.
    public static let acceptedFile = "accepted.txt"

    /// Stores the measured results, so that the folder holds the cells of the suite and no others, and appends the
    /// reason to ``acceptedFile``. Limits do not change.
    ///
    /// - Parameters:
    ///   - store: the folder that the check read.
    ///   - reason: why the results are right.
    ///   - date: the day, `2026-11-21`.
    /// - Returns: what changed; `nil` if the folder held exactly these results, in which case nothing is written.
    /// - Throws: `ReplayError.usage(_:)` if the folder has a higher result version than the build, results moved
    ///   without a higher result version, a limit is missed, or the folder holds cells of other runs that were not
    ///   accepted here. `TraceError` if a file cannot be written.
    public func accept(into store: ResultStore, reason: String, date: String) throws -> Acceptance? {
        try verifyVersion(store)
        try verifyLimits()
        let stored = try RecordedCells(store).cells
        let names = Set(cells.map { $0.cell.identity })
        let added = names.subtracting(stored.map(\.identity)).count
        let removed = stored.count { !names.contains($0.identity) }
        guard !cells.isEmpty, added > 0 || removed > 0 else { return nil }
        let log = "\(store.folder)/\(Self.acceptedFile)"
        let isNew = !FileManager.default.fileExists(atPath: log)
        if isNew, leftovers > 0 {
            throw ReplayError.usage(
                "\(store.folder) holds \(leftovers.counted("cell")) that belong\(leftovers == 1 ? "s" : "") to no run of "
                    + "\(suite), and --accept would remove them: name a folder of its own with 'results' or --results.")
        }
        try append(reason: reason, date: date, to: log, isNew: isNew, stored: added, in: store)
        try store.replaceCells(with: cells.map { ($0.cell, $0.provenance) })
        return Acceptance(stored: added, removed: removed)
    }

    private func append(
        reason: String, date: String, to path: String, isNew: Bool, stored: Int, in store: ResultStore
    ) throws {
        let before =
            isNew
            ? "When 'replay check --accept' stored cells in this folder, and why:\n"
            : String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
        let words = reason.split(whereSeparator: { $0.isWhitespace || $0.isNewline }).joined(separator: " ")
        let line =
            "\(date), result version \(resultVersion), Halcyon \(Halcyon.version), "
            + "\(stored.grouped) of \(cells.count.counted("cell")): \(words)\n"
        try store.prepare()
        try ResultStore.write(Data((before + line).utf8), to: path)
    }

    /// Refuses a build whose results must not replace the stored ones.
    private func verifyVersion(_ store: ResultStore) throws(ReplayError) {
        if let recordedVersion, recordedVersion > resultVersion {
            throw .usage(
                "\(store.folder) has cells of result version \(recordedVersion), and this build has \(resultVersion): use a "
                    + "build with result version \(recordedVersion) or higher.")
        }
        let unversioned = moved.filter { $0.recordedVersion == resultVersion }
        guard let first = unversioned.first else { return }
        let rest = unversioned.count - 1
        throw .usage(
            "\(first.name) moved: \(first.changes.joined(separator: ", "))\(rest > 0 ? "; \(rest.counted("other run")) moved as well" : ""). "
                + "The stored cells have the result version of this build, \(resultVersion): raise it (Halcyon.resultVersion) "
                + "first.")
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
