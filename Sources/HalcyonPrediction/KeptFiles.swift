import Foundation
import HalcyonLearning
import HalcyonPrefetch

/// What a planner has learned, in a file of a cache's hidden folder. Listing or clearing the cache does not find the
/// file.
extension PretrainedPlanner {
    static func path(in folder: URL) -> String { folder.appendingPathComponent("planner.safetensors").path }

    /// Reads the model that is kept in a folder; `nil` if there is none. O(bytes).
    ///
    /// - Throws: `ModelFileError` if the file is damaged or of a later release.
    static func kept(in folder: URL) throws -> Self? {
        let path = path(in: folder)
        return FileManager.default.fileExists(atPath: path) ? try Self(contentsOf: path) : nil
    }

    /// Writes the model, whole or not at all.
    ///
    /// - Throws: `ModelFileError` if it cannot be written; the previous file is then still there.
    func keep(in folder: URL) throws { try write(to: Self.path(in: folder)) }
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
