import Foundation
import HalcyonPrefetch

/// The file of the planner's trained network in a cache's folder.
struct PlannerFile: Sendable {
    /// The hidden folder within the cache's folder. Listing or clearing the cache does not find the file.
    let folder: URL

    var path: String { folder.appendingPathComponent("planner.safetensors").path }

    /// Reads the network; `nil` if there is no file. O(bytes).
    ///
    /// - Throws: `ModelFileError` if the file is damaged or of a later release.
    func read() throws -> PretrainedPlanner? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        return try PretrainedPlanner(contentsOf: path)
    }

    /// Writes the network, whole or not at all.
    ///
    /// - Throws: `ModelFileError` if it cannot be written; the previous file is then still there.
    func write(_ planner: PretrainedPlanner) throws { try planner.write(to: path) }
}

/// The file of what a planner has learned of visits, in a cache's folder.
struct VisitsFile: Sendable {
    /// The hidden folder within the cache's folder.
    let folder: URL

    var path: String { folder.appendingPathComponent("visits.safetensors").path }

    /// Reads what was learned; `nil` if there is no file. O(bytes).
    ///
    /// - Throws: `ModelFileError` if the file is damaged or of a later release.
    func read() throws -> PretrainedVisits? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        return try PretrainedVisits(contentsOf: path)
    }

    /// Writes what was learned, whole or not at all.
    ///
    /// - Throws: `ModelFileError` if it cannot be written; the previous file is then still there.
    func write(_ visits: PretrainedVisits) throws { try visits.write(to: path) }
}

/// The file of the spending in a cache's folder.
struct PrefetchAccountFile: Sendable {
    /// The fault of a write, in one sentence.
    struct Unwritable: Error, CustomStringConvertible {
        let description: String
    }

    /// The hidden folder within the cache's folder. Listing or clearing the cache does not find the file.
    let folder: URL

    var url: URL { folder.appendingPathComponent("prefetch-account.json") }

    /// Reads the spending; `nil` if there is no file or it is damaged.
    func read() -> PrefetchAccount? {
        (try? Data(contentsOf: url)).flatMap { try? JSONDecoder().decode(PrefetchAccount.self, from: $0) }
    }

    /// Writes the spending, whole or not at all.
    func write(_ account: PrefetchAccount) throws(Unwritable) {
        do { try JSONEncoder().encode(account).write(to: url, options: .atomic) } catch {
            throw Unwritable(description: "\(url.path): What was spent on prefetching cannot be written.")
        }
    }
}
