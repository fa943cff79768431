import Foundation
import HalcyonPrefetch

/// The file beside a cache in which it is kept what was spent of the budget.
struct PrefetchAccountFile: Sendable {
    /// Why it could not be written, in one sentence.
    struct Unwritable: Error, CustomStringConvertible {
        let description: String
    }

    /// The hidden folder within the cache's, where neither listing nor clearing it finds the file.
    let folder: URL

    var url: URL { folder.appendingPathComponent("prefetch-account.json") }

    /// What was kept; `nil` if nothing was, or the file is damaged.
    func read() -> PrefetchAccount? {
        (try? Data(contentsOf: url)).flatMap { try? JSONDecoder().decode(PrefetchAccount.self, from: $0) }
    }

    /// Keeps it, whole or not at all.
    func write(_ account: PrefetchAccount) throws(Unwritable) {
        do { try JSONEncoder().encode(account).write(to: url, options: .atomic) } catch {
            throw Unwritable(description: "\(url.path): What was spent on prefetching cannot be written.")
        }
    }
}
