import HalcyonPipeline
import HalcyonSupport

/// The images of a list whose views are reused, such as a table or a grid: which rows are on the screen, and which are
/// prefetched.
///
/// ```swift
/// let list = ImageList<Int> { row in Resource(urls[row]) }
/// list.prefetch(10..<20)
/// list.willDisplay(3, in: cell.images)
/// list.didEndDisplaying(3, in: cell.images)
/// ```
///
/// Each method is called where the list of the platform calls its delegate. The image of a cell is set as ever, by
/// ``ImageBinding/setImage(with:placeholder:options:progress:completion:)-(Resource?,_,_,_,_)``.
///
/// A list with a ``place`` announces its rows as they become visible (`HalcyonManager.show(list:in:options:)`), so that what
/// is opened from them can be prefetched:
///
/// ```swift
/// list.place = "home"
/// list.setRows(feed)            // replaces the list; appendRows(_:) adds a page
/// list.rowsVisible(0..<6)       // while scrolling; or willDisplay(_:in:) for each cell
/// ```
///
/// Releasing the list stops its prefetches (`ImageListTests.releasedListStopsPrefetches()`).
///
/// Only what is visible ``reportInterval`` after the first change counts as shown. Rows that a fast scroll passes do not. Each row
/// is announced once, until the rows are replaced. See `ImageListTests.visibleRowsAreAnnouncedOnce()` and
/// `ImageListTests.fastScrollAnnouncesWhereItStops()`.
@MainActor
public final class ImageList<Row: Hashable & Sendable> {
    /// Loads the images.
    public let manager: HalcyonManager
    /// The options of prefetches. A prefetched image serves a cell only if both have the same size and processor.
    public var options: DisplayOptions
    /// The size of the cells, for ``Downsampling/toView``. Default: `nil`, not known.
    public var cellSize: DisplaySize?
    /// Whether prefetched images are taken into memory, so that a cell shows them at once. Default: `true`.
    public var prefetchesToMemory = true
    /// The name of the place in which the list is shown, such as that of its screen. Default: `nil`, rows are not announced. A
    /// change takes effect with the next visible row; ``hide()`` ends the list of the old place.
    public var place: String?
    /// The options with which images are requested when they are opened (`Resource.detail`, or the rows' own images). Default:
    /// `nil`, those of the manager.
    public var openedOptions: ImageOptions?
    /// The time between a change of what is visible and its announcement, in which further changes are collected.
    public static var reportInterval: Duration { .milliseconds(100) }

    private struct Displayed {
        let row: Row
        /// The number of the call, for the order of rows.
        let number: Int
        weak var binding: ImageBinding?
    }

    private let resource: @MainActor (Row) -> Resource?
    private var displayed: [ObjectIdentifier: Displayed] = [:]
    /// The number of cells above which those that were released are removed.
    private var limit = 64
    /// The prefetches to memory and those to the disk alone.
    private let toMemory: RunningPrefetches<Row>
    private let toDisk: RunningPrefetches<Row>
    private var lastDisplayed = 0
    private var rows: [Row] = []
    /// The rows that are visible, as indices of ``rows``.
    private var visible = 0..<0
    /// The rows that were announced since the rows were replaced.
    private var announced: Set<Row> = []
    private var isReplaced = true
    /// Announces what is visible, after an interval.
    private var report: Task<Void, Never>?

    /// Creates a list.
    ///
    /// - Parameter resource: returns the resource of a row; `nil` for a row without an image.
    public init(
        manager: HalcyonManager = .shared, options: DisplayOptions = DisplayOptions(),
        resource: @escaping @MainActor (Row) -> Resource?
    ) {
        (self.manager, self.options, self.resource) = (manager, options, resource)
        toMemory = RunningPrefetches(manager, maxConcurrent: .max, toMemory: true)
        toDisk = RunningPrefetches(manager, maxConcurrent: .max, toMemory: false)
    }

    deinit { for prefetches in [toMemory, toDisk] { prefetches.stopAll() } }

    /// The rows on the screen.
    public var displayedRows: Set<Row> { Set(displayed.values.lazy.filter { $0.binding != nil }.map(\.row)) }

    /// The rows that are being prefetched.
    public var prefetchingRows: Set<Row> { toMemory.keys.union(toDisk.keys) }

    /// Notes that a cell is about to appear on the screen, for a row. O(1), amortised.
    public func willDisplay(_ row: Row, in binding: ImageBinding) {
        lastDisplayed += 1
        displayed[ObjectIdentifier(binding)] = Displayed(row: row, number: lastDisplayed, binding: binding)
        announceLater()
        if displayed.count > limit {
            displayed = displayed.filter { $0.value.binding != nil }
            limit = max(2 * displayed.count, 64)
        }
        binding.appeared()
    }

    /// Notes that a cell has left the screen; see ``DisplayOptions/whenDisappearing``. Ignored if the cell shows
    /// another row by now, because it was reused. O(1).
    public func didEndDisplaying(_ row: Row, in binding: ImageBinding) {
        guard displayed[ObjectIdentifier(binding)]?.row == row else { return }
        displayed[ObjectIdentifier(binding)] = nil
        binding.disappeared()
    }

    // MARK: - Announcing what is visible

    /// Replaces the rows, as a reload does. What becomes visible from now on replaces what the place showed. O(rows).
    public func setRows(_ rows: some Sequence<Row>) {
        (self.rows, visible, isReplaced) = (Array(rows), 0..<0, true)
        announced.removeAll(keepingCapacity: true)
    }

    /// Appends a page of rows. O(rows of the page).
    public func appendRows(_ rows: some Sequence<Row>) { self.rows += rows }

    /// Notes which of the rows are on the screen, as indices from the first row on; others than those of rows are ignored. A list whose
    /// cells call ``willDisplay(_:in:)`` need not call it. O(1).
    public func rowsVisible(_ range: Range<Int>) {
        visible = range.clamped(to: rows.indices)
        announceLater()
    }

    /// Ends the list in its place, as when its screen is closed: nothing more is prefetched for it. Rows that become visible later are
    /// announced as a new list.
    public func hide() {
        report?.cancel()
        (report, visible, isReplaced) = (nil, 0..<0, true)
        announced.removeAll(keepingCapacity: true)
        if let place { manager.hide(list: place) }
    }

    private func announceLater() {
        guard place != nil, report == nil else { return }
        let end = manager.cache.clock.now + Self.reportInterval.microseconds
        report = Task { [weak self, clock = manager.cache.clock] in
            do { try await clock.sleep(until: end) } catch { return }
            self?.announceVisible()
        }
    }

    private func announceVisible() {
        if Task.isCancelled { return }
        report = nil
        guard let place else { return }
        let cells = displayed.values.filter { $0.binding != nil }.sorted { $0.number < $1.number }.map(\.row)
        let list = (rows[visible] + cells).filter { announced.insert($0).inserted }.compactMap(resource)
        if list.isEmpty { return }
        if isReplaced {
            manager.show(list: list, in: place, options: openedOptions)
        } else {
            manager.append(list: list, in: place, options: openedOptions)
        }
        isReplaced = false
    }

    // MARK: - Prefetching

    /// Prefetches the images of rows, at a low priority. Rows that are being prefetched already, or have no image, are
    /// ignored. A cell that requests one of the images meanwhile joins its load and raises the priority.
    public func prefetch(_ rows: some Sequence<Row>) {
        let loadOptions = options.loadOptions(
            for: cellSize, defaultProcessor: manager.defaultOptions.processor)
        let known = prefetchingRows
        let (items, prefetches) = (rows.filter { !known.contains($0) }, prefetchesToMemory ? toMemory : toDisk)
        prefetches.start(
            items.compactMap { row in
                resource(row).map { .init(key: row, resource: $0, options: loadOptions) }
            })
    }

    /// Cancels the prefetches of rows, except the loads that a cell waits for.
    public func cancelPrefetching(_ rows: some Sequence<Row>) {
        let rows = Array(rows)
        for prefetches in [toMemory, toDisk] { prefetches.stop(rows) }
    }

    /// Cancels all prefetches, and the requests of all cells on the screen.
    public func cancelAll() {
        for prefetches in [toMemory, toDisk] { prefetches.stopAll() }
        for cell in displayed.values { cell.binding?.cancel() }
    }
}
