import Foundation
import HalcyonAccessLog
import HalcyonCache
import HalcyonImages
import HalcyonNetworking
import HalcyonSupport

/// The load of an image from one source.
package struct ImageLoad: Sendable {
    package let source: Source
    /// The resource that was requested.
    let resource: Resource
    private var shared: SharedOptions
    package var options: ResolvedOptions {
        get { shared.values }
        set { shared = SharedOptions(newValue) }
    }
    package var context: AccessContext
    /// The user whose private entry is meant, empty for loads without a user; `nil` for the entry that all users share.
    var owner: String?
    /// The digest of the request fields that have selected the private entry; `nil` if none has.
    var variant: String?
    /// Whether it is a prefetch: no access, and not recorded in the log.
    package var isPrefetch = false
    /// Whether it wants the loaded bytes alone, of an image that is no variant: nothing is decoded.
    var wantsBytes = false
    /// The version of the file that it loads, if its source is a file.
    var fileVersion: FileVersion?
    /// The task that changes its priority, if it has one.
    var task: DownloadTask?
    /// The load, if it is observed.
    var observed: ObservedLoad?
    /// When its fetch began; `nil` before that.
    var begun: Int64?
    /// Whether the image is kept in memory, as far as the options allow it.
    package var keepsInMemory = true

    init(_ source: Source, of resource: Resource, _ options: SharedOptions) {
        self.source = source.resolved
        self.resource = resource
        shared = options
        context = AccessContext(categories: resource.categories, user: resource.user)
        // Its URL has the bytes: a file would be their second copy.
        let isCopy = self.source.isDataURL && !isVariant || self.source.isFile && !self.options.isDiskPolicyStated
        if isCopy { self.options.writes.remove(.disk) }
    }

    /// Records an event of a prefetch.
    func record(_ kind: RecordedEvent.Kind) {
        options.cache.recorded(
            RecordedEvent(time: options.cache.clock.now, kind: kind, key: computedKey, user: context.user))
    }

    /// The key of the original.
    package var key: String {
        owner.map { EntryOrigin.privateKey(source.cacheKey, of: $0, variant: variant) } ?? source.cacheKey
    }

    /// The key of the image.
    package var computedKey: String { key.computedKey(with: options.variant) }

    /// The name of the image's entry.
    var entryKey: EntryKey {
        EntryKey(key, processorIdentifier: options.variant, forcedExtension: options.forcedExtension)
    }

    /// The name of the original's entry, where an original is another entry than the image.
    var originalKey: EntryKey { isVariant ? EntryKey(key) : entryKey }

    /// The entry of the image.
    var entry: CacheEntry { CacheEntry(options.cache, entryKey) }

    /// The place of the image on disk.
    var diskPlace: KeptPlaces.Place {
        KeptPlaces.Place(
            cache: ObjectIdentifier(options.cache), key: ByteName(computedKey), tier: .disk,
            forcedExtension: options.forcedExtension.map(ByteName.init))
    }

    /// Whether the disk keeps the image itself.
    var keepsOnDisk: Bool { options.writes.contains(.disk) && options.diskPolicy.keeps(variant: isVariant) }

    /// Whether the disk keeps the original of which the image is made, and not the image.
    package var keepsOriginalAlone: Bool {
        isVariant && options.diskPolicy == .originals && options.writes.contains(.disk) && !source.isDataURL
    }

    /// The load of the original itself.
    var ofOriginal: ImageLoad {
        var original = self
        (original.options.processor, original.options.variant) = (DefaultImageProcessor(), "")
        (original.options.cache, original.options.serializer) = (options.originalCache, nil)
        original.options.forcedExtension = nil
        return original
    }

    /// Whether the image is made of the original, and not the original itself.
    package var isVariant: Bool { !options.variant.isEmpty }

    /// The load of the entry that is private to the user, or to loads without a user; `nil` if no entry is private.
    var ofPrivateEntry: ImageLoad? {
        guard options.cache.privateEntries.mayExist || isVariant && options.originalCache.privateEntries.mayExist else {
            return nil
        }
        var mine = self
        mine.owner = context.user ?? ""
        return mine
    }

    /// Returns the load of the private entry for the fields of this load's request, as its modifier changes it; `nil` if the request
    /// sets none, or no entry is private. The modifier is asked once more if the load goes to the network then.
    func ofSelectedEntry() async -> ImageLoad? {
        guard var mine = ofPrivateEntry, let digest = await request()?.fieldDigest?.name(ofUser: context.user) else {
            return nil
        }
        mine.variant = digest
        return mine
    }

    /// Returns the request that this load would send; `nil` without a server, or if the modifier sends none.
    func request() async -> TransportRequest? {
        guard let url = source.url else { return nil }
        var request = options.downloader.configuration.request(url)
        request.priority = options.download.priority
        guard let modifier = options.download.requestModifier else { return request }
        return await modifier.modified(for: request)
    }

    /// The load of the source for Low Data Mode, if that mode is on and the source takes the place of this load's.
    var ofLowDataSource: ImageLoad? {
        guard case .network = source, options.lowDataSource != nil,
            options.downloader.configuration.isNetworkConstrained()
        else { return nil }
        return ofOtherSource
    }

    /// The load of the source for Low Data Mode, if one is stated.
    var ofOtherSource: ImageLoad? {
        guard let other = options.lowDataSource else { return nil }
        var options = options
        (options.lowDataSource, options.download.allowsConstrainedNetwork) = (nil, true)
        var low = ImageLoad(other, of: resource, SharedOptions(options))
        (low.isPrefetch, low.keepsInMemory, low.task, low.observed) = (isPrefetch, keepsInMemory, task, observed)
        low.wantsBytes = wantsBytes
        return low
    }

    /// The options of the cache.
    package var cacheOptions: CacheOptions {
        var cache = options.caching
        cache.context = context
        cache.isPrefetch = isPrefetch
        if isPrefetch, case .dispatch(let queue) = options.download.processingQueue { cache.serializationQueue = queue }
        cache.fetchDuration = begun.map { max(options.cache.clock.now - $0, 0) }
        return cache
    }

    /// The serializer, if not the cache's; an original that is to be kept is kept as it came, if the cache's can read it.
    package var serializer: (any CacheSerializer<Bitmap>)? {
        if let serializer = options.serializer { return serializer }
        guard options.diskPolicy.keepsOriginals, !isVariant, options.cache.serializer.readsImageFiles else {
            return nil
        }
        return BitmapSerializer(prefersOriginal: true)
    }
}

/// An entry of one of several caches.
struct CacheEntry: Hashable, Sendable {
    let cache: ObjectIdentifier
    let key: EntryKey

    init(_ cache: ImageCache<Bitmap>, _ key: EntryKey) { (self.cache, self.key) = (ObjectIdentifier(cache), key) }
}
