import HalcyonPipeline

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
/// ``ImageBinding/setImage(with:placeholder:options:progress:completion:)``.
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

    private struct Displayed {
        let row: Row
        weak var binding: ImageBinding?
    }

    private struct Prefetch {
        let id: Int
        let prefetcher: ImagePrefetcher
    }

    private let resource: @MainActor (Row) -> Resource?
    private var displayed: [ObjectIdentifier: Displayed] = [:]
    /// The number of cells above which those that were released are removed.
    private var limit = 64
    private var prefetches: [Row: Prefetch] = [:]
    private var lastPrefetch = 0

    /// Creates a list.
    ///
    /// - Parameter resource: returns the resource of a row; `nil` for a row without an image.
    public init(
        manager: HalcyonManager = .shared, options: DisplayOptions = DisplayOptions(),
        resource: @escaping @MainActor (Row) -> Resource?
    ) {
        (self.manager, self.options, self.resource) = (manager, options, resource)
    }

    /// The rows on the screen.
    public var displayedRows: Set<Row> { Set(displayed.values.lazy.filter { $0.binding != nil }.map(\.row)) }

    /// The rows that are being prefetched.
    public var prefetchingRows: Set<Row> { Set(prefetches.keys) }

    /// Notes that a cell is about to appear on the screen, for a row. O(1), amortised.
    public func willDisplay(_ row: Row, in binding: ImageBinding) {
        displayed[ObjectIdentifier(binding)] = Displayed(row: row, binding: binding)
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

    /// Prefetches the images of rows, at a low priority. Rows that are being prefetched already, or have no image, are
    /// ignored. A cell that requests one of the images meanwhile joins its load and raises the priority.
    public func prefetch(_ rows: some Sequence<Row>) {
        let loadOptions = options.loadOptions(
            for: cellSize, defaultProcessor: manager.defaultOptions.processor)
        for row in rows where prefetches[row] == nil {
            guard let resource = resource(row) else { continue }
            var options = loadOptions ?? ImageOptions()
            options.callbackQueue = .untouch
            let prefetcher = ImagePrefetcher(
                resources: [resource], manager: manager, options: options, maxConcurrent: 1,
                toMemory: prefetchesToMemory)
            lastPrefetch += 1
            let id = lastPrefetch
            prefetches[row] = Prefetch(id: id, prefetcher: prefetcher)
            prefetcher.start { [weak self] _ in
                Task { @MainActor in self?.ended(row, id) }
            }
        }
    }

    /// Cancels the prefetches of rows, except the loads that a cell waits for.
    public func cancelPrefetching(_ rows: some Sequence<Row>) {
        for row in rows { prefetches.removeValue(forKey: row)?.prefetcher.stop() }
    }

    /// Cancels all prefetches, and the requests of all cells on the screen.
    public func cancelAll() {
        cancelPrefetching(Array(prefetches.keys))
        for cell in displayed.values { cell.binding?.cancel() }
    }

    /// Forgets a prefetch that has ended, unless another one of its row has started since.
    private func ended(_ row: Row, _ id: Int) {
        if prefetches[row]?.id == id { prefetches[row] = nil }
    }
}
