import HalcyonPipeline

/// How images are loaded ahead of need; one for all that are announced together.
final class ForesightRecipe: Sendable {
    let options: ImageOptions

    /// - Parameter options: how they are loaded when somebody asks.
    init(_ options: ImageOptions) { self.options = options.aheadOfNeed }

    /// The processor that they are made by.
    var processor: String { options.processor.identifier }
}

extension ForesightCatalogue.Known {
    /// Whether a tier might hold it that it goes to, as far as its size is known: what no processor changes takes about as many bytes on
    /// disk as come over the network, and no fewer in memory.
    ///
    /// - Parameter toMemory: whether it goes to memory where it goes to the disk.
    func fits(_ capacity: CacheCapacity, toMemory: Bool) -> Bool {
        guard let recipe else { return true }
        let loaded = recipe.processor.isEmpty ? bytes ?? 0 : 0
        if !recipe.options.cacheMemoryOnly, capacity.disk > 0, loaded <= capacity.disk { return true }
        return (toMemory || recipe.options.cacheMemoryOnly) && (cost > 0 ? cost : loaded) <= capacity.memory
    }
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
