import HalcyonEviction
import HalcyonLearning

extension PolicyCatalogue {
    /// The policies of the laboratory: those of ``PolicyCatalogue/standard``, ``LRB`` and ``ThreeLCache``.
    ///
    /// A policy that needs LightGBM is refused, in one sentence, where the library cannot be loaded.
    public static let laboratory = laboratory(willRun: true)

    /// The same policies, to name and describe them: none is refused. A policy that needs LightGBM ends the process if it
    /// runs without the library.
    public static let named = laboratory(willRun: false)

    private static func laboratory(willRun: Bool) -> PolicyCatalogue {
        var catalogue = PolicyCatalogue.standard
        var (lrb, threeLCache) = (LRB.Parameters(), ThreeLCache.Parameters())
        (lrb.boosting.willRun, threeLCache.boosting.willRun) = (willRun, willRun)
        catalogue.add(PolicyEntry(LRB.self, defaults: lrb))
        catalogue.add(PolicyEntry(ThreeLCache.self, defaults: threeLCache))
        return catalogue
    }
}
