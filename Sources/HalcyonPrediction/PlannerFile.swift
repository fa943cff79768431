import Foundation
import HalcyonPrefetch

/// The file beside a cache in which it is kept what the planner has learnt.
struct PlannerFile: Sendable {
    /// The hidden folder within the cache's, where neither listing nor clearing it finds the file.
    let folder: URL

    var path: String { folder.appendingPathComponent("planner.safetensors").path }

    /// What was kept; `nil` if nothing was. O(bytes).
    ///
    /// - Throws: `ModelFileError` if the file is damaged or of a later release.
    func read() throws -> PretrainedPlanner? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        return try PretrainedPlanner(contentsOf: path)
    }

    /// Keeps it, whole or not at all.
    ///
    /// - Throws: `ModelFileError` if it cannot be written; what was kept before is then still there.
    func write(_ planner: PretrainedPlanner) throws { try planner.write(to: path) }
}
