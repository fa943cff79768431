import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonNetworking
@testable import HalcyonViews

@MainActor
@Suite("Binding of a view and its image", .timeLimit(.minutes(20)))
struct ImageBindingTests {
    private let results = Results()
    private let indicator = RecordingIndicator()

    private func resource(_ name: String) -> Resource { Resource(held(name)) }

    private func view(_ fixture: ViewFixture) -> RecordingView {
        let view = RecordingView(fixture.manager)
        view.images.indicator = indicator
        return view
    }

    @Test("The placeholder is followed by the picture, with progress, one completion and a transition")
    func placeholderIsFollowedByPicture() async throws {
        let (fixture, sample, grey) = (try ViewFixture(), try NumberedPicture(1), try NumberedPicture(0))
        let view = view(fixture)
        var received: [Int] = []
        let isShown = view.images.setImage(
            with: resource("a"), placeholder: .picture(grey.picture),
            options: DisplayOptions { $0.transition = .fade(.milliseconds(100)) },
            progress: { received.append($0.received) }, completion: results.note("a"))
        #expect(!isShown && view.shown == [.picture(grey.picture)] && view.images.isLoading)
        await fixture.transport.answer("a", sample.file)
        await waitUntil { !results.words.isEmpty }
        #expect(view.shown == [.picture(grey.picture), .faded(sample.picture)] && results.words == ["a shown"])
        #expect(!view.images.isLoading && indicator.starts == 1 && indicator.stops == 1)
        #expect(indicator.calls.first == .start && indicator.calls.last == .stop)
        // Reports may be merged, and none comes after the end.
        #expect(received == received.sorted() && (received.last ?? 0) <= sample.file.count)
        #expect(indicator.calls.count == received.count + 2)
    }

    @Test("Previews of a progressive JPEG are shown until the image is there, and none of a request that was replaced")
    func previewsAreFollowedByPicture() async throws {
        let fixture = try ViewFixture()
        let file = try Data(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .appendingPathComponent("HalcyonTests/Processing/Fixtures/jpeg-progressive.jpg"))
        // The first scan is whole where the second begins.
        let first = try #require(file.range(of: Data([0xFF, 0xDA]))).upperBound
        let part = file[..<(try #require(file.range(of: Data([0xFF, 0xDA]), in: first..<file.endIndex)).upperBound)]
        var decoder = ImageDecoder()
        decoder.options.showsTruncated = true
        let preview = try decoder.decode(part.dropLast(2))
        let view = view(fixture)
        ImageContext.resource(resource("a")).previews().onResult(results.note("a")).set(to: view.images)
        await fixture.transport.begin("a", part)
        await waitUntil { view.shown == [.nothing, .picture(preview)] }
        fixture.transport.finish("a", file[part.endIndex...])
        await waitUntil { !results.words.isEmpty }
        // The last bytes may have given another preview before.
        let whole = try decoder.decode(file)
        #expect(view.shown.prefix(2) == [.nothing, .picture(preview)] && view.shown.last == .picture(whole))
        #expect(preview != view.picture && preview.size == view.picture?.size && results.words == ["a shown"])

        // The preview of a request that is replaced does not come any more.
        ImageContext.resource(resource("b")).previews().set(to: view.images)
        await fixture.transport.begin("b", part)
        view.images.setImage(with: resource("a"))
        try await Task.sleep(for: .milliseconds(20))
        #expect(view.picture == whole)
    }

    @Test("An image in memory is shown before the call returns, without placeholder, indicator or transition")
    func imageInMemoryIsShownAtOnce() async throws {
        let (fixture, sample) = (try ViewFixture(), try NumberedPicture(1))
        await fixture.remember("a", sample)
        let view = view(fixture)
        var options = DisplayOptions { $0.transition = .fade(.milliseconds(100)) }
        #expect(view.images.setImage(with: resource("a"), options: options, completion: results.note("a")))
        #expect(view.shown == [.picture(sample.picture)] && results.words == ["a shown"] && indicator.calls.isEmpty)
        options.forcesTransition = true
        #expect(view.images.setImage(with: resource("a"), options: options))
        #expect(view.shown.last == .faded(sample.picture) && fixture.transport.calls.isEmpty)
    }

    @Test("A replaced image is superseded at once and its transfer cancelled; the new one is shown")
    func replacedImageIsSupersededAndCancelled() async throws {
        let (fixture, b) = (try ViewFixture(), try NumberedPicture(2))
        let view = view(fixture)
        view.images.setImage(with: resource("a"), completion: results.note("a"))
        await fixture.transport.waitForStart(of: "a")
        view.images.setImage(with: resource("b"), completion: results.note("b"))
        #expect(results.words == ["a superseded"])
        await waitUntil { fixture.transport.calls.contains(.cancel("a")) }
        await fixture.transport.answer("b", b.file)
        await waitUntil { results.words.count == 2 }
        #expect(results.words == ["a superseded", "b shown"])
        #expect(view.shown == [.nothing, .nothing, .picture(b.picture)])
        #expect(indicator.calls.filter { $0 == .start || $0 == .stop } == [.start, .stop])
    }

    /// The image of A has been decoded and waits for the main actor when B is set.
    @Test("An image that arrives after its request was replaced is not shown")
    func lateImageOfReplacedRequestIsNotShown() async throws {
        let (fixture, a, b) = (try ViewFixture(), try NumberedPicture(1), try NumberedPicture(2))
        let (view, other) = (view(fixture), RecordingView(fixture.manager))
        view.images.setImage(with: resource("a"), completion: results.note("a"))
        other.images.setImage(with: resource("a"), completion: results.note("other"))
        await waitUntil { fixture.downloader.waiterCount == 2 }
        await fixture.transport.answer("a", a.file)
        #expect(isAnswered(fixture))
        view.images.setImage(with: resource("b"), completion: results.note("b"))
        await fixture.transport.answer("b", b.file)
        await waitUntil { results.words.count == 3 }
        #expect(Set(results.words) == ["a superseded", "other shown", "b shown"])
        #expect(view.picture == b.picture && !view.shown.contains(.picture(a.picture)))
        #expect(other.picture == a.picture)
    }

    /// Waits without leaving the main actor until no load waits for its transfer.
    private func isAnswered(_ fixture: ViewFixture) -> Bool {
        while fixture.downloader.waiterCount > 0, !Task.isCancelled { Thread.sleep(forTimeInterval: 0.001) }
        return fixture.downloader.waiterCount == 0
    }

    @Test("The indicator stops once after success, failure, cancellation, clearing, replacement and release")
    func indicatorStopsOncePerRequest() async throws {
        let (fixture, sample) = (try ViewFixture(), try NumberedPicture(1))
        var view: RecordingView? = view(fixture)
        func isBalanced(_ count: Int) -> Bool { indicator.starts == count && indicator.stops == count }
        view?.images.setImage(with: resource("a"), completion: results.note("a"))
        await fixture.transport.answer("a", sample.file)
        await waitUntil { results.words == ["a shown"] }
        #expect(isBalanced(1))
        view?.images.setImage(with: resource("b"), completion: results.note("b"))
        await fixture.transport.fail("b", .timedOut(.idle))
        await waitUntil { results.words.last == "b failed" }
        #expect(isBalanced(2))
        view?.images.setImage(with: resource("c"), completion: results.note("c"))
        view?.images.cancel()
        view?.images.cancel()
        #expect(isBalanced(3) && results.words.last == "c cancelled")
        view?.images.setImage(with: resource("d"), completion: results.note("d"))
        view?.images.setImage(with: nil, completion: results.note("e"))
        #expect(isBalanced(4) && results.words.suffix(2) == ["d superseded", "e none"])
        view?.images.setImage(with: resource("f"), completion: results.note("f"))
        #expect(indicator.starts == 5 && indicator.stops == 4)
        view = nil
        await waitUntil { results.words.last == "f gone" && isBalanced(5) }
        #expect(isBalanced(5) && results.words.count == 6)
    }

    @Test("Releasing a view cancels its transfer and completes its request")
    func releasedViewCancelsTransfer() async throws {
        let fixture = try ViewFixture()
        var view: RecordingView? = view(fixture)
        view?.images.setImage(with: resource("a"), completion: results.note("a"))
        await fixture.transport.waitForStart(of: "a")
        view = nil
        await waitUntil { fixture.transport.calls == [.start("a"), .cancel("a")] }
        await waitUntil { results.words == ["a gone"] }
        #expect(fixture.transport.calls == [.start("a"), .cancel("a")] && results.words == ["a gone"])
        #expect(fixture.downloader.waiterCount == 0)
    }

    @Test("Releasing a view closes its connection to the server")
    func releasedViewClosesSocket() async throws {
        let closed = AsyncStream<Bool>.makeStream()
        let server = try HostileServer { visit in
            visit.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\npart")
            closed.continuation.yield(visit.waitForClose())
        }
        let fixture = try ViewFixture(over: CurlTransport())
        var view: RecordingView? = view(fixture)
        view?.images.setImage(with: Resource(server.url("/a")))
        await waitUntil { server.visits.count == 1 }
        view = nil
        var iterator = closed.stream.makeAsyncIterator()
        #expect(await iterator.next() == true)
    }

    @Test("Thirty-six views of one URL cause one request and show the picture")
    func viewsOfOneURLShareOneRequest() async throws {
        let sample = try NumberedPicture(3)
        let gate = DispatchSemaphore(value: 0)
        let server = try HostileServer { visit in
            gate.wait()
            visit.answer(Array(sample.file))
        }
        let fixture = try ViewFixture(over: CurlTransport())
        let views = (0..<36).map { _ in RecordingView(fixture.manager) }
        for (number, view) in views.enumerated() {
            view.images.setImage(with: Resource(server.url("/a")), completion: results.note("\(number)"))
        }
        await waitUntil { fixture.downloader.waiterCount == 36 }
        gate.signal()
        await waitUntil { results.words.count == 36 }
        #expect(Set(results.words) == Set((0..<36).map { "\($0) shown" }))
        #expect(views.allSatisfy { $0.shown == [.nothing, .picture(sample.picture)] })
        #expect(server.visits.count == 1)
    }

    @Test("Setting the same image again keeps its one transfer")
    func sameImageKeepsOneTransfer() async throws {
        let (fixture, sample) = (try ViewFixture(), try NumberedPicture(1))
        let view = view(fixture)
        for number in 1...3 {
            view.images.setImage(with: resource("a"), completion: results.note("\(number)"))
            await fixture.transport.waitForStart(of: "a")
        }
        await fixture.transport.answer("a", sample.file)
        await waitUntil { results.words.count == 3 }
        #expect(results.words == ["1 superseded", "2 superseded", "3 shown"])
        #expect(fixture.transport.calls == [.start("a")] && view.picture == sample.picture)
        #expect(indicator.starts == 1 && indicator.stops == 1)
    }

    @Test("With 100 rows in ten cells, 90 are cancelled and the last ten shown")
    func scrolledRowsAreCancelled() async throws {
        let fixture = try ViewFixture()
        let samples = try (0..<100).map { try NumberedPicture($0) }
        let views = (0..<10).map { _ in RecordingView(fixture.manager) }
        for row in 0..<100 {
            views[row % 10].images.setImage(with: resource("\(row)"), completion: results.note("\(row)"))
        }
        #expect(results.words == (0..<90).map { "\($0) superseded" })
        await waitUntil { fixture.downloader.waiterCount == 10 && Set(fixture.transport.waiting).count <= 10 }
        for row in 90..<100 { await fixture.transport.answer("\(row)", samples[row].file) }
        await waitUntil { results.words.count == 100 }
        #expect(Set(results.words.suffix(10)) == Set((90..<100).map { "\($0) shown" }))
        for (row, view) in zip(90..<100, views) {
            #expect(view.picture == samples[row].picture && view.shown.filter { $0 != .nothing }.count == 1)
        }
        // The started loads of the 90 were cancelled, those of the ten were not.
        #expect(fixture.transport.starts - fixture.transport.cancels == 10)
        #expect((90..<100).allSatisfy { !fixture.transport.calls.contains(.cancel("\($0)")) })
    }

    @Test("A view that disappears lowers the priority or cancels its load; appearing restores it")
    func disappearingLowersPriorityOrCancels() async throws {
        let (fixture, sample) = (try ViewFixture(), try NumberedPicture(1))
        let view = view(fixture)
        view.images.setImage(with: resource("a"), completion: results.note("a"))
        await fixture.transport.waitForStart(of: "a")
        view.images.disappeared()
        view.images.appeared()
        await waitUntil { fixture.transport.calls.count == 3 }
        #expect(
            fixture.transport.calls == [.start("a"), .priority("a", .low), .priority("a", .normal)])
        let options = DisplayOptions { $0.whenDisappearing = .cancels }
        view.images.setImage(with: resource("b"), options: options, completion: results.note("b"))
        await fixture.transport.waitForStart(of: "b")
        view.images.disappeared()
        await waitUntil { fixture.transport.calls.contains(.cancel("b")) }
        #expect(results.words == ["a superseded"] && !view.images.isLoading)
        view.images.appeared()
        await fixture.transport.answer("b", sample.file)
        await waitUntil { results.words.count == 2 }
        #expect(results.words == ["a superseded", "b shown"] && view.picture == sample.picture)
        #expect(indicator.starts == indicator.stops && indicator.starts == 2)
    }
}
