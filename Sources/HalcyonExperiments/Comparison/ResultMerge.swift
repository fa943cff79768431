import Foundation
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace

/// Copies the cells of several folders of results into one, and adds up the parts of per-user caches.
///
/// ```swift
/// let outcome = try ResultMerge(into: ResultStore(folder: "results/all"), from: [one, other]).run()
/// print(outcome.added, outcome.incomplete)
/// ```
///
/// Everything is checked before the first file is written. The result does not depend on the order of the folders. The
/// cells are packed at the end; a merge that is killed before leaves files that the next one finds.
package struct ResultMerge: Sendable {
    /// What a merge did.
    package struct Outcome: Sendable, Equatable {
        /// The number of cells that were written, sums of parts included.
        package var added = 0
        /// The number of cells that were in the folder before.
        package var storedBefore = 0
        /// The number of cells that are sums of parts by user.
        package var summed = 0
        /// Parts by user that cannot be added up yet, one sentence for each cell. They are copied as they are.
        package var incomplete: [String] = []
        /// The number of cells without a file that says how they were run.
        package var withoutProvenance = 0
    }

    /// The folder that receives the cells.
    package let target: ResultStore
    /// The folders whose cells are copied.
    package let sources: [ResultStore]
    /// Whether cells of several builds with one result version are accepted. The default is false.
    package var acceptsBuilds: Bool

    /// Creates a merge.
    package init(into target: ResultStore, from sources: [ResultStore], acceptsBuilds: Bool = false) {
        self.target = target
        self.sources = sources
        self.acceptsBuilds = acceptsBuilds
    }

    /// A cell of a folder.
    private struct Source {
        let store: ResultStore
        let hash: String
        /// Whether the cell is in the target already.
        let isTarget: Bool

        /// Where the cell is, for a sentence.
        var place: String { store.place(ofCell: hash) }

        func data() throws(ReplayError) -> Data {
            guard let data = try store.data(ofCell: hash) else { throw .data("\(place): cannot be read.") }
            return data
        }
    }

    /// A file that says how a cell was run.
    private struct Sidecar {
        let provenance: CellProvenance
        let data: Data
        let isTarget: Bool

        /// Whether this file is kept rather than another: the one in the target, then the one that ended first.
        func precedes(_ other: Sidecar) -> Bool {
            if isTarget != other.isTarget { return isTarget }
            if provenance.finishedAt != other.provenance.finishedAt {
                return provenance.finishedAt < other.provenance.finishedAt
            }
            return data.lexicographicallyPrecedes(other.data)
        }
    }

    /// What the folders contain.
    private struct Contents {
        var cells: [String: Source] = [:]
        var sidecars: [String: Sidecar] = [:]
        var parts: [String: StoredCell] = [:]
        var versions: [Int: Int] = [:]
        var builds: [String: Set<String>] = [:]
    }

    /// Checks all folders, then copies. O(cells).
    ///
    /// - Throws: `ReplayError.usage(_:)` if the target is also a source; `ReplayError.data(_:)` if a file is broken, two
    ///   files of a cell differ, or builds are mixed; nothing is written then. `TraceError` if a file cannot be written.
    package func run() throws -> Outcome {
        let contents = try contents()
        let parted = try CellParts(contents.parts.map { ($0.key, $0.value) })
        var outcome = Outcome()
        var sums: [(hash: String, data: Data, sidecar: CellProvenance?)] = []
        var replaced: Set<String> = []
        for sum in parted.sums {
            let data = try sum.cell.json()
            if let whole = contents.cells[sum.hash], try whole.data() != data {
                throw ReplayError.data(
                    "\(whole.place): differs from the sum of its parts \(sum.parts.joined(separator: ", ")): one of the "
                        + "builds has changed its counts, or a file was edited.")
            }
            if let other = sums.first(where: { $0.hash == sum.hash }) {
                guard other.data == data else {
                    throw ReplayError.data(
                        "The parts \(sum.parts.joined(separator: ", ")) add up to another result of the cell \(sum.hash) "
                            + "than its other parts: a file was edited.")
                }
            } else {
                let sidecars = sum.parts.compactMap { contents.sidecars[$0]?.provenance }
                let isKnown = sidecars.count == sum.parts.count && contents.sidecars[sum.hash] == nil
                sums.append((sum.hash, data, isKnown ? CellProvenance(adding: sidecars, cell: sum.hash) : nil))
            }
            replaced.formUnion(sum.parts)
        }
        let sumHashes = Set(sums.map(\.hash))
        for group in parted.incomplete {
            if contents.cells[group.whole] != nil || sumHashes.contains(group.whole) {
                replaced.formUnion(group.parts)
            } else {
                outcome.incomplete.append(group.sentence)
            }
        }
        try target.prepare()
        for hash in contents.cells.keys.sorted() where !replaced.contains(hash) {
            guard let source = contents.cells[hash] else { continue }
            if source.isTarget {
                outcome.storedBefore += 1
            } else {
                try target.addFile(ofCell: hash, try source.data())
                outcome.added += 1
            }
            try write(contents.sidecars[hash], of: hash, &outcome)
        }
        for sum in sums {
            if contents.cells[sum.hash] == nil {
                try target.addFile(ofCell: sum.hash, sum.data)
                outcome.added += 1
                if sum.sidecar == nil { outcome.withoutProvenance += 1 }
            }
            if let sidecar = sum.sidecar {
                try ResultStore.write(JSONReport.data(sidecar), to: target.path(ofProvenance: sum.hash))
            }
            outcome.summed += 1
        }
        let removed = replaced.filter { contents.cells[$0]?.isTarget == true }
        for hash in removed.sorted() { try removeProvenance(hash) }
        try target.pack(without: removed)
        return outcome
    }

    private func write(_ sidecar: Sidecar?, of hash: String, _ outcome: inout Outcome) throws {
        guard let sidecar else {
            outcome.withoutProvenance += 1
            return
        }
        if !sidecar.isTarget { try ResultStore.write(sidecar.data, to: target.path(ofProvenance: hash)) }
    }

    /// Removes the file that says how a part was run that a whole cell replaces.
    private func removeProvenance(_ hash: String) throws {
        let path = target.path(ofProvenance: hash)
        guard FileManager.default.fileExists(atPath: path) else { return }
        do { try FileManager.default.removeItem(atPath: path) } catch {
            throw TraceError(
                file: path, message: "cannot be removed: \(SystemReason.text(of: error))", isOfOutput: true)
        }
    }

    /// Reads and checks all folders, that of the target included.
    private func contents() throws(ReplayError) -> Contents {
        var contents = Contents()
        let place = Self.place(target.folder)
        if target.exists { try add(target, isTarget: true, to: &contents) }
        for source in sources {
            if Self.place(source.folder) == place {
                throw .usage("\(source.folder): is the folder that receives the results: name only the others.")
            }
            try add(source, isTarget: false, to: &contents)
        }
        try verifyBuilds(contents)
        return contents
    }

    /// Reads and checks one folder.
    private func add(_ store: ResultStore, isTarget: Bool, to contents: inout Contents) throws(ReplayError) {
        for hash in try store.hashes() {
            let cell = try store.cell(hash)
            let source = Source(store: store, hash: hash, isTarget: isTarget)
            if let fault = cell.fault { throw .data("\(source.place): is broken: \(fault).") }
            if let sidecar = try sidecar(hash, in: store, isTarget: isTarget) {
                contents.builds[sidecar.provenance.buildId, default: []].insert(hash)
                if contents.sidecars[hash].map({ sidecar.precedes($0) }) ?? true { contents.sidecars[hash] = sidecar }
            }
            if let known = contents.cells[hash] {
                let (kept, added) = (try known.data(), try source.data())
                let isSame = kept == added ? true : try known.store.cell(hash).hasResult(of: cell)
                guard isSame else {
                    throw .data(
                        "\(known.place) and \(source.place): are different results of one cell: one of the builds has changed "
                            + "its counts without a new result version, or a file was edited.")
                }
                // Of two names of a trace, the order of the folders must not decide.
                if !known.isTarget, added.lexicographicallyPrecedes(kept) { contents.cells[hash] = source }
                continue
            }
            contents.cells[hash] = source
            contents.versions[cell.identity.resultVersion, default: 0] += 1
            if cell.identity.users != nil { contents.parts[hash] = cell }
        }
    }

    private func sidecar(_ hash: String, in store: ResultStore, isTarget: Bool) throws(ReplayError) -> Sidecar? {
        guard let provenance = try store.provenance(hash) else { return nil }
        let path = store.path(ofProvenance: hash)
        guard provenance.cell == hash else {
            throw .data("\(path): belongs to the cell \(provenance.cell.shortened): it was renamed or edited.")
        }
        guard let data = FileManager.default.contents(atPath: path) else { throw .data("\(path): cannot be read.") }
        return Sidecar(provenance: provenance, data: data, isTarget: isTarget)
    }

    private func verifyBuilds(_ contents: Contents) throws(ReplayError) {
        if contents.versions.count > 1 {
            let list = contents.versions.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value.counted("cell")))" }
            throw .data(
                "The folders have results of different result versions, \(list.joined(separator: " and ")): merge one "
                    + "version at a time.")
        }
        guard contents.builds.count > 1, !acceptsBuilds else { return }
        let list = contents.builds.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value.count.counted("cell")))" }
        throw .data(
            "The folders have results of \(contents.builds.count) builds, \(list.joined(separator: " and ")): run all cells "
                + "with one build, or accept builds of one result version with --accept-builds.")
    }

    /// Returns the location of a folder, links followed.
    private static func place(_ folder: String) -> String {
        URL(fileURLWithPath: folder).resolvingSymlinksInPath().standardizedFileURL.path
    }
}

extension StoredCell {
    /// What does not add up in the cell, as the end of a sentence; `nil` for a sound cell.
    var fault: String? {
        let lengths = [units.hits, units.sizes, units.hitSizes].compactMap { $0?.count }
        if !lengths.allSatisfy({ $0 == units.requests.count }) { return "its units have lists of different lengths" }
        if series.hits.reduce(0, +) != counts.hits { return "its series does not add up to its hits" }
        let (requests, hits) = (units.requests.reduce(0, +), units.hits.reduce(0, +))
        // Requests without a user belong to no group of users.
        let isComplete = units.kind == .timeBlocks
        if isComplete
            ? requests != counts.requests || hits != counts.hits : requests > counts.requests || hits > counts.hits
        {
            return "its units do not add up to its counts"
        }
        return nil
    }
}

extension CellProvenance {
    /// Creates the provenance of a cell that is the sum of parts: their durations and metadata together.
    ///
    /// - Parameter parts: at least one.
    init?(adding parts: [CellProvenance], cell: String) {
        guard var sum = parts.first else { return nil }
        let requests = parts.reduce(0) { $0 + $1.requestsPerSecond * $1.seconds }
        func list(_ values: [String]) -> [String] { Set(values).sorted() }
        sum.cell = cell
        sum.isOptimised = parts.allSatisfy(\.isOptimised)
        sum.buildId = list(parts.map(\.buildId)).joined(separator: ", ")
        sum.halcyonVersion = list(parts.map(\.halcyonVersion)).joined(separator: ", ")
        sum.host = list(parts.map(\.host)).joined(separator: ", ")
        sum.system = list(parts.map(\.system)).joined(separator: ", ")
        sum.suite = list(parts.map(\.suite)).joined(separator: ", ")
        sum.kernels = list(parts.flatMap(\.kernels))
        sum.cores = parts.map(\.cores).max() ?? 0
        sum.finishedAt = parts.map(\.finishedAt).max() ?? ""
        sum.seconds = parts.reduce(0) { $0 + $1.seconds }
        sum.requestsPerSecond = sum.seconds > 0 ? requests / sum.seconds : 0
        sum.metadataBytes = parts.reduce(0) { $0 + $1.metadataBytes }
        sum.planningMicroseconds = nil
        self = sum
    }
}
