/// How images are loaded ahead of need; one for all that are announced together.
final class ForesightRecipe: Sendable {
    let options: ImageOptions

    /// - Parameter options: how they are loaded when somebody asks.
    init(_ options: ImageOptions) { self.options = options.aheadOfNeed }

    /// The processor that they are made by.
    var processor: String { options.processor.identifier }
}

extension ImageOptions {
    /// The same for a load that nobody waits for.
    fileprivate var aheadOfNeed: ImageOptions {
        var options = self
        (options.forceRefresh, options.onlyFromCache, options.fromMemoryCacheOrRefresh) = (false, false, false)
        options.priority = .veryLow
        options.onProgress = nil
        options.waitForCache = true
        options.wantsOriginalData = true
        return options
    }
}
