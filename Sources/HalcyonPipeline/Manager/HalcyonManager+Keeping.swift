import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking

extension HalcyonManager {
    /// Stores an image, and the original if the options request it, unless another load that shares them has. Memory has the image
    /// when this returns, the disk later unless the load waits for it.
    func keep(_ made: MadeImage, original: Data?, _ freshness: Freshness?, _ load: ImageLoad) async {
        let options = load.options
        let heeds = options.freshness?.honoursServer == true
        // What is there of a truncated file is shown once, and never kept.
        let mayKeep = (!heeds || freshness?.isStorable != false) && made.image.provenance?.isComplete != false
        func claims(_ tier: MadeImage.Claim.Tier, _ cache: ImageCache<Bitmap>, _ key: String) -> Bool {
            mayKeep && made.claim(MadeImage.Claim(cache: ObjectIdentifier(cache), key: key, tier: tier))
        }
        let toDisk = !options.cacheMemoryOnly && claims(.disk, cache, load.computedKey)
        let toMemory = load.keepsInMemory && claims(.memory, cache, load.computedKey)
        let noted = heeds ? freshness : nil
        if let original, options.cacheOriginalImage || options.wantsOriginalData && !load.isPrefetch,
            !options.cacheMemoryOnly, load.isVariant,
            claims(.original, originalCache, load.key)
        {
            await done(waits: options.waitForCache) { done in
                self.keepOriginal(original, noted, load, done)
            }
        }
        // A prefetch leaves memory alone; what it has of the key is older.
        if load.isPrefetch, options.forceRefresh, !toMemory { cache.memoryStorage.remove(forKey: load.computedKey) }
        await done(waits: options.waitForCache) { done in
            self.keep(made.image, original, noted, load, toMemory: toMemory, toDisk: toDisk, done)
        }
    }

    private func keep(
        _ image: Bitmap, _ original: Data?, _ freshness: Freshness?, _ load: ImageLoad, toMemory: Bool, toDisk: Bool,
        _ done: @escaping @Sendable () -> Void
    ) {
        let (notes, computed) = (cache.notes, load.computedKey)
        cache.store(
            image, original: original, forKey: load.key, toMemory: toMemory, toDisk: toDisk,
            serializer: load.serializer, options: load.cacheOptions,
            kept: { data in notes.set(freshness.flatMap { FreshnessRecord($0, of: data).note }, of: computed) },
            done: { _ in done() })
    }

    private func keepOriginal(
        _ original: Data, _ freshness: Freshness?, _ load: ImageLoad, _ done: @escaping @Sendable () -> Void
    ) {
        let (notes, key) = (originalCache.notes, load.key)
        originalCache.keepOriginal(
            original, forKey: key, options: load.cacheOptions,
            kept: { notes.set(freshness.flatMap { FreshnessRecord($0, of: original).note }, of: key) }, done: done)
    }

    /// Does something that says when it is done, and waits for that if it is to.
    private func done(waits: Bool, _ work: @Sendable (@escaping @Sendable () -> Void) -> Void) async {
        guard waits else { return work {} }
        await withCheckedContinuation { continuation in work { continuation.resume() } }
    }
}
