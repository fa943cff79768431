import HalcyonAccessLog
import HalcyonCache

extension HalcyonManager {
    /// Announces the list of images that is shown in a place from now on: a feed, a grid, search results. O(images).
    ///
    /// ```swift
    /// manager.show(list: page.map { Resource($0.url, categories: [$0.topic], user: "u7") }, in: "home")
    /// manager.append(list: nextPage, in: "home")
    /// manager.hide(list: "home")
    /// ```
    ///
    /// Call it before the images are opened, as soon as the app has the list. The access log records it, and predictive prefetching
    /// may fetch what is likely to be opened from it, after everything that is visible. It replaces the list that the same place
    /// showed to the same user: what is no longer shown is no longer fetched for it, unless its fetch has started. A thumbnail
    /// stands for its ``Resource/detail``. This is no access, and loads nothing that is visible.
    ///
    /// Of a list, the first 1,000 images count. An empty list hides the place, as ``hide(list:user:)`` does.
    ///
    /// See `ShownListTests.listIsPlannedOnceAndReplaced()` and `ShownListTests.visibleLoadsPrecedeFetchesOfList()`.
    ///
    /// - Parameters:
    ///   - list: the images, in the order in which they are shown. The user of the list is that of the first image.
    ///   - place: the name of the place, such as that of a screen; any string.
    ///   - options: the options with which the images are requested when they are opened; by default ``defaultOptions``.
    public func show(list: [Resource], in place: String, options: ImageOptions? = nil) {
        if list.isEmpty { hide(list: place) } else { show(list, in: place, isAppended: false, options) }
    }

    /// Announces the next page of the list that is shown in a place. The images before it stay shown. Without a list, it is shown as a
    /// new one. O(images of the page).
    ///
    /// - Parameters:
    ///   - list: the images of the page alone, in their order.
    ///   - place: the name of the place.
    ///   - options: as for ``show(list:in:options:)``.
    public func append(list: [Resource], in place: String, options: ImageOptions? = nil) {
        if !list.isEmpty { show(list, in: place, isAppended: true, options) }
    }

    /// Ends the list that is shown in a place: nothing more is fetched for it. Fetches in flight go on. Ignored if there is none.
    ///
    /// - Parameter user: whose list; by default the lists of all users in the place.
    public func hide(list place: String, user: String? = nil) {
        (listCache(nil).observation.observer as? any RequestObserver)?.hidden(place, user: user)
    }

    private func listCache(_ options: ImageOptions?) -> ImageCache<Bitmap> {
        options?.cache ?? resolvedDefaults.values.cache
    }

    private func show(_ list: [Resource], in place: String, isAppended: Bool, _ options: ImageOptions?) {
        let cache = listCache(options)
        let shown = ListInPlace(
            place: place, resources: list.prefix(RecordedList.longest).map(\.opened), isAppended: isAppended,
            time: cache.clock.now, ignored: max(list.count - RecordedList.longest, 0))
        let variant = options?.processor?.identifier ?? resolvedDefaults.values.variant
        cache.recorded(
            list: RecordedList(
                time: shown.time,
                items: shown.resources.lazy.map {
                    RecordedList.Item(
                        key: EntryKey($0.cacheKey, processorIdentifier: variant).computed, categories: $0.categories)
                }, user: shown.user))
        (cache.observation.observer as? any RequestObserver)?.shown(shown, options)
    }
}

/// A list of images that is shown in a place.
package struct ListInPlace: Sendable {
    /// The name of the place.
    package let place: String
    /// The images that may be opened, in the order in which they are shown; at most `RecordedList.longest`.
    package let resources: [Resource]
    /// Whether it is a further page of what the place shows.
    package let isAppended: Bool
    /// When it was shown, in microseconds since 1970.
    package let time: Int64
    /// The number of images behind the last one that counts.
    package let ignored: Int

    /// The user to whom it is shown.
    package var user: String? { resources.first?.user.flatMap { $0.isEmpty ? nil : $0 } }
}
