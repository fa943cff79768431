import HalcyonEviction
import HalcyonLearning

extension PolicyCatalogue {
    /// The names of all policies that can serve a live cache.
    static let liveNames = standard.entries.map(\.info).filter { !$0.traits.contains(.needsFuture) }.map(\.name)
}
