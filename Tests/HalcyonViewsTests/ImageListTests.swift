import Foundation
import Halcyon
import HalcyonTestSupport
import Observation
import Synchronization
import Testing

@testable import HalcyonNetworking
@testable import HalcyonViews

@MainActor
@Suite("Lists and binders", .timeLimit(.minutes(20)))
struct ImageListTests {
    private let results = Results()

    private func list(_ fixture: ViewFixture) -> ImageList<Int> {
        ImageList(manager: fixture.manager) { row in row < 0 ? nil : Resource(held("\(row)")) }
    }

    @Test("Rows are prefetched once at a low priority; a cell joins and raises its row's prefetch")
    func cellJoinsPrefetchOfItsRow() async throws {
        let fixture = try ViewFixture()
        let (list, view) = (list(fixture), RecordingView(fixture.manager))
        list.prefetch([1, 2, -1])
        list.prefetch([2])
        #expect(list.prefetchingRows == [1, 2])
        await waitUntil { fixture.transport.waiting.sorted() == ["1", "2"] }
        view.images.setImage(with: Resource(held("2")), completion: results.note("2"))
        list.willDisplay(2, in: view.images)
        await waitUntil { fixture.transport.calls.contains(.priority("2", .normal)) }
        for row in [1, 2] { await fixture.transport.answer("\(row)", try NumberedPicture(row).file) }
        await waitUntil { list.prefetchingRows.isEmpty && results.words == ["2 shown"] }
        #expect(fixture.transport.starts == 2 && list.displayedRows == [2])
        #expect(view.images.setImage(with: Resource(held("1"))))
        #expect(view.picture == (try NumberedPicture(1)).picture)
    }

    @Test("Cancelling a prefetch cancels its transfer unless a cell waits for it")
    func cancelledPrefetchKeepsCellsTransfer() async throws {
        let fixture = try ViewFixture()
        let (list, view) = (list(fixture), RecordingView(fixture.manager))
        list.prefetch(1...2)
        await waitUntil { fixture.transport.waiting.sorted() == ["1", "2"] }
        view.images.setImage(with: Resource(held("2")), completion: results.note("2"))
        await waitUntil { fixture.downloader.waiterCount == 3 }
        list.cancelPrefetching(1...3)
        #expect(list.prefetchingRows.isEmpty)
        await waitUntil { fixture.transport.calls.contains(.cancel("1")) && fixture.downloader.waiterCount == 1 }
        #expect(!fixture.transport.calls.contains(.cancel("2")))
        await fixture.transport.answer("2", try NumberedPicture(2).file)
        await waitUntil { results.words == ["2 shown"] }
        // A row that was cancelled may be prefetched again.
        list.prefetch([1])
        await fixture.transport.waitForStart(of: "1")
        list.cancelAll()
        await waitUntil { fixture.downloader.waiterCount == 0 }
        #expect(fixture.transport.waiting.isEmpty)
    }

    @Test("The end of a row its cell no longer shows is ignored; its own row's end lowers the priority")
    func endOfReusedCellsRowIsIgnored() async throws {
        let fixture = try ViewFixture()
        let (list, view) = (list(fixture), RecordingView(fixture.manager))
        list.willDisplay(1, in: view.images)
        view.images.setImage(with: Resource(held("2")), completion: results.note("2"))
        list.willDisplay(2, in: view.images)
        await fixture.transport.waitForStart(of: "2")
        list.didEndDisplaying(1, in: view.images)
        #expect(list.displayedRows == [2])
        list.didEndDisplaying(2, in: view.images)
        list.didEndDisplaying(2, in: view.images)
        #expect(list.displayedRows.isEmpty)
        await waitUntil { fixture.transport.calls.contains(.priority("2", .low)) }
        list.willDisplay(2, in: view.images)
        list.cancelAll()
        #expect(results.words == ["2 cancelled"])
        await waitUntil { fixture.transport.calls.last == .cancel("2") }
        #expect(
            fixture.transport.calls == [
                .start("2"), .priority("2", .low), .priority("2", .normal), .cancel("2"),
            ])
    }

    @Test("A list retains neither its cells nor itself; released, it stops its prefetches")
    func releasedListStopsPrefetches() async throws {
        let fixture = try ViewFixture()
        weak var weakList: ImageList<Int>?
        weak var weakView: RecordingView?
        var list: ImageList<Int>? = list(fixture)
        weakList = list
        do {
            let view = RecordingView(fixture.manager)
            weakView = view
            list?.willDisplay(1, in: view.images)
            list?.prefetch(2..<22)
        }
        #expect(weakView == nil && list?.displayedRows == [])
        await waitUntil { fixture.downloader.waiterCount == 20 }
        // A load that a view waits for continues.
        let visible = RecordingView(fixture.manager)
        visible.images.setImage(with: held("2"))
        await waitUntil { fixture.downloader.waiterCount == 21 }
        list = nil
        #expect(weakList == nil)
        await waitUntil { fixture.downloader.waiterCount == 1 }
        let sample = try NumberedPicture(2)
        await fixture.transport.answer("2", sample.file)
        await waitUntil { visible.picture == sample.picture }
        #expect(!fixture.transport.calls.contains(.cancel("2")))
    }

    @Test("Visible rows are announced once, in their order; replaced rows again, appended ones as a page")
    func visibleRowsAreAnnouncedOnce() async throws {
        let fixture = try ViewFixture()
        let list = list(fixture)
        list.place = "home"
        list.setRows(0..<10)
        list.rowsVisible(0..<3)
        await waitUntil { fixture.shown.lists.count == 1 }
        list.rowsVisible(1..<5)
        await waitUntil { fixture.shown.lists.count == 2 }
        // Nothing new, and rows that there are not.
        list.rowsVisible(0..<4)
        list.rowsVisible(-3..<2)
        list.rowsVisible(8..<99)
        await waitUntil { fixture.shown.lists.count == 3 }
        list.appendRows(10..<14)
        list.rowsVisible(9..<12)
        await waitUntil { fixture.shown.lists.count == 4 }
        list.setRows([3, 1, -1])
        list.rowsVisible(0..<3)
        await waitUntil { fixture.shown.lists.count == 5 }
        #expect(fixture.shown.lists == [["0", "1", "2"], ["3", "4"], ["8", "9"], ["10", "11"], ["3", "1"]])
        // Without a place, nothing is announced; hidden rows are announced again when they become visible.
        list.hide()
        list.place = nil
        list.rowsVisible(0..<2)
        list.place = "other"
        list.rowsVisible(0..<1)
        await waitUntil { fixture.shown.lists.count == 6 }
        #expect(fixture.shown.lists.last == ["3"])
        #expect(fixture.transport.starts == 0)
    }

    @Test("Of a fast scroll, the rows are announced that are visible when it stops; reused cells show their last row")
    func fastScrollAnnouncesWhereItStops() async throws {
        let fixture = try ViewFixture()
        let list = list(fixture)
        list.place = "home"
        list.setRows(0..<100_000)
        for first in 0..<20_000 { list.rowsVisible(first..<first + 5) }
        await waitUntil { fixture.shown.lists.count == 1 }
        #expect(fixture.shown.lists == [["19999", "20000", "20001", "20002", "20003"]])

        let views = (0..<3).map { _ in RecordingView(fixture.manager) }
        list.setRows(0..<100_000)
        for row in 0..<10_000 { list.willDisplay(row, in: views[row % 3].images) }
        list.didEndDisplaying(9_998, in: views[9_998 % 3].images)
        await waitUntil { fixture.shown.lists.count == 2 }
        #expect(fixture.shown.lists.last == ["9997", "9999"])
    }

    @Test("A list with a place announces the details of its thumbnails to the predictor, replaces them, and hides them")
    func listInAPlaceReachesThePredictor() async throws {
        let fixture = try ViewFixture()
        let predictive = fixture.manager.startPredicting()
        let list = ImageList<Int>(manager: fixture.manager) { row in
            var thumbnail = Resource(held("\(row)-small"))
            thumbnail.detail = Resource(held("\(row)"))
            return thumbnail
        }
        list.place = "home"
        list.setRows(0..<2)
        list.rowsVisible(0..<2)
        await waitUntil { fixture.shown.lists == [["0", "1"]] }
        list.hide()
        // What it prefetches of the list, if it has begun to, is never answered.
        while await predictive.statistics.lists.shown < 2 { try await Task.sleep(for: .milliseconds(1)) }
        let statistics = await predictive.statistics.lists
        #expect(statistics.lists == 1 && statistics.shown == 2)
    }

    @Test("A binder's observers are notified of loading, progress, picture and error")
    func binderNotifiesObservers() async throws {
        let (fixture, sample, grey) = (try ViewFixture(), try NumberedPicture(1), try NumberedPicture(0))
        let binder = ImageBinder(manager: fixture.manager)
        let changes = Counter()
        func read<Value>(_ value: @escaping @MainActor () -> Value) {
            withObservationTracking {
                _ = value()
            } onChange: {
                changes.add()
            }
        }
        read { binder.picture }
        binder.show(.url(held("a")).placeholder(grey.picture).onResult(results.note("a")))
        #expect(changes.count == 1 && binder.picture == grey.picture && binder.isLoading && binder.error == nil)
        read { (binder.picture, binder.isLoading, binder.progress?.received) }
        await fixture.transport.answer("a", sample.file)
        await waitUntil { results.words == ["a shown"] }
        #expect(changes.count == 2 && binder.picture == sample.picture)
        #expect(!binder.isLoading && binder.progress == nil && binder.error == nil)
        read { binder.error }
        binder.show(.url(held("b")).keepCurrentImage())
        await fixture.transport.fail("b", .timedOut(.idle))
        await waitUntil { binder.error != nil }
        #expect(changes.count == 3 && binder.picture == sample.picture && !binder.isLoading)
        guard case .loadFailed(let error)? = binder.error else {
            Issue.record("\(String(describing: binder.error))")
            return
        }
        #expect(error as? NetworkError == .timedOut(.idle))
        binder.show(.url(held("c")))
        binder.show(.url(nil))
        guard case .noResource? = binder.error else {
            Issue.record("\(String(describing: binder.error))")
            return
        }
        #expect(binder.picture == nil)
    }

    @Test("Releasing a binder cancels its load; an image in memory is shown at once")
    func releasedBinderCancelsLoad() async throws {
        let (fixture, sample) = (try ViewFixture(), try NumberedPicture(1))
        weak var weakBinder: ImageBinder?
        var binder: ImageBinder? = ImageBinder(manager: fixture.manager)
        weakBinder = binder
        binder?.show(.url(held("a")).whenDisappearing(.cancels).onResult(results.note("a")))
        await fixture.transport.waitForStart(of: "a")
        binder?.disappeared()
        await waitUntil { fixture.transport.calls == [.start("a"), .cancel("a")] }
        binder?.appeared()
        await fixture.transport.waitForStart(of: "a")
        binder = nil
        await waitUntil { fixture.transport.cancels == 2 && results.words == ["a gone"] }
        #expect(weakBinder == nil && fixture.downloader.waiterCount == 0)
        await fixture.remember("a", sample)
        let second = ImageBinder(manager: fixture.manager)
        second.show(.url(held("a")))
        #expect(second.picture == sample.picture && !second.isLoading)
        second.show(.url(held("b")).onResult(results.note("b")))
        second.cancel()
        #expect(results.words == ["a gone", "b cancelled"])
    }

    @Test("A context collects its steps in any order, and later steps do not change a copy")
    func contextCollectsItsSteps() async throws {
        let (fixture, sample, grey) = (try ViewFixture(), try NumberedPicture(1), try NumberedPicture(0))
        let base = ImageContext.url(held("a")).categories(["c"]).user("u")
        let context = base.placeholder(grey.picture).onFailureImage(sample.picture).fade(.seconds(1)).forceTransition()
            .keepCurrentImage().downsampling(.toView).whenDisappearing(.cancels).priority(.high).forceRefresh()
            .onlyFromCache().cacheOriginalImage().setProcessor(BlackWhiteImageProcessor())
            .appendProcessor(ResizingImageProcessor(referenceSize: PixelSize(width: 2, height: 2)))
            .retry(DelayRetryStrategy(maxRetryCount: 1))
        let (options, load) = (context.options, try #require(context.options.load))
        #expect(context.resource?.cacheKey == held("a").absoluteString)
        #expect(context.resource?.categories == ["c"] && context.resource?.user == "u")
        #expect(options.forcesTransition && options.keepsCurrentImage && options.downsampling == .toView)
        #expect(options.failureImage == sample.picture && options.whenDisappearing == .cancels)
        guard case .fade(.seconds(1)) = options.transition, case .picture(grey.picture)? = context.placeholder else {
            Issue.record("\(options.transition)")
            return
        }
        #expect(load.priority == .high && load.forceRefresh == true && load.onlyFromCache == true)
        #expect(load.cacheOriginalImage == true && load.retryStrategy != nil)
        let chain = BlackWhiteImageProcessor() |> ResizingImageProcessor(referenceSize: PixelSize(width: 2, height: 2))
        #expect(load.processor?.identifier == chain.identifier)
        #expect(base.options.load == nil && base.placeholder == nil && !base.options.keepsCurrentImage)

        // The receivers are called in the order in which they were added.
        let view = RecordingView(fixture.manager)
        var words: [String] = []
        ImageContext.data(sample.file, cacheKey: "d")
            .onSuccess { words.append("first \($0.image.size)") }
            .onFailure { words.append("\($0)") }
            .onResult { _ in words.append("second") }
            .set(to: view.images)
        await waitUntil { words.count == 2 }
        #expect(words == ["first 8x6", "second"] && view.picture == sample.picture)
        ImageContext.source(nil).onFailure { words.append("\($0)") }.set(to: view.images)
        #expect(words.last == "No resource was requested.")
    }
}

/// Counts calls from any thread.
private final class Counter: Sendable {
    private let number = Atomic(0)

    var count: Int { number.load(ordering: .relaxed) }

    func add() { number.add(1, ordering: .relaxed) }
}
