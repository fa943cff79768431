import HalcyonPipeline

/// The load template of prefetches: the options of a request, changed for a load that no request waits for.
final class ForesightRecipe: Sendable {
    let options: ImageOptions
    /// The identifier of the processor that makes the images.
    let processor: String
    /// Whether the images are kept in memory alone.
    let isMemoryOnly: Bool

    /// - Parameters:
    ///   - options: the options of requests; `nil` for the defaults.
    ///   - defaults: the manager's default options.
    init(_ options: ImageOptions?, defaults: ImageOptions) {
        let options = options ?? ImageOptions()
        self.options = options.aheadOfNeed
        processor = options.processorIdentifier(defaults)
        isMemoryOnly = options.cacheMemoryOnly ?? defaults.cacheMemoryOnly ?? false
    }
}

extension ForesightCatalogue.Known {
    /// Returns whether a tier of its load template can hold the object, as far as its size is known.
    ///
    /// Without a processor, an object takes about as many bytes on disk as over the network, and no fewer in memory.
    ///
    /// - Parameter toMemory: whether an object for the disk goes to memory, too.
    func fits(_ capacity: CacheCapacity, toMemory: Bool) -> Bool {
        guard let recipe else { return true }
        let loaded = recipe.processor.isEmpty ? bytes ?? 0 : 0
        if !recipe.isMemoryOnly, capacity.disk > 0, loaded <= capacity.disk { return true }
        return (toMemory || recipe.isMemoryOnly) && (cost > 0 ? cost : loaded) <= capacity.memory
    }
}

extension ImageOptions {
    /// The identifier of the processor that these options and the manager's defaults name.
    func processorIdentifier(_ defaults: ImageOptions) -> String { (processor ?? defaults.processor)?.identifier ?? "" }

    /// The options for a load that no request waits for.
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
