import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonNetworking
@testable import HalcyonViews

@MainActor
@Suite("Options of a view's display", .timeLimit(.minutes(20)))
struct DisplayOptionsTests {
    private let results = Results()

    private func resource(_ name: String) -> Resource { Resource(held(name)) }

    @Test("The current image stays on request; a failure shows its image or leaves the current one")
    func currentImageStaysOnRequest() async throws {
        let (fixture, first, grey, broken) = (
            try ViewFixture(), try NumberedPicture(1), try NumberedPicture(0), try NumberedPicture(9)
        )
        await fixture.remember("a", first)
        let view = RecordingView(fixture.manager)
        var options = DisplayOptions { $0.keepsCurrentImage = true }
        // There is no current image yet, so the placeholder is shown.
        view.images.setImage(with: resource("x"), placeholder: .picture(grey.picture), options: options)
        #expect(view.shown == [.picture(grey.picture)])
        view.images.setImage(with: resource("a"))
        view.images.setImage(
            with: resource("b"), placeholder: .picture(grey.picture), options: options, completion: results.note("b"))
        #expect(view.shown == [.picture(grey.picture), .picture(first.picture)])
        await fixture.transport.fail("b", .timedOut(.idle))
        await waitUntil { results.words == ["b failed"] }
        #expect(view.picture == first.picture && view.shown.count == 2)
        options.failureImage = broken.picture
        view.images.setImage(with: resource("c"), options: options, completion: results.note("c"))
        await fixture.transport.answer("c", Data("no image".utf8))
        await waitUntil { results.words.count == 2 }
        #expect(results.words.last == "c failed" && view.picture == broken.picture && view.shown.count == 3)
    }

    @Test("A custom placeholder is added and removed once; a custom transition shows the picture")
    func customPlaceholderIsAddedAndRemovedOnce() async throws {
        let (fixture, sample) = (try ViewFixture(), try NumberedPicture(1))
        let (view, placeholder) = (RecordingView(fixture.manager), RecordingPlaceholder())
        var transitions = 0
        let options = DisplayOptions {
            $0.transition = .custom { view, picture in
                transitions += 1
                view.display(picture, transition: .fade(.seconds(1)))
            }
        }
        view.images.setImage(
            with: resource("a"), placeholder: .custom(placeholder), options: options, completion: results.note("a"))
        #expect(placeholder.calls == ["add"] && view.shown == [.nothing])
        await fixture.transport.answer("a", sample.file)
        await waitUntil { results.words == ["a shown"] }
        #expect(placeholder.calls == ["add", "remove"] && transitions == 1)
        #expect(view.shown == [.nothing, .faded(sample.picture)])
    }

    @Test("Pictures are decoded at the view's size in pixels, and each size is cached separately")
    func picturesAreDecodedAtViewSize() async throws {
        let (fixture, sample) = (try ViewFixture(), try NumberedPicture(1, width: 64, height: 48))
        let (small, large) = (RecordingView(fixture.manager), RecordingView(fixture.manager))
        small.displaySize = DisplaySize(width: 8, height: 5.5, scale: 2)
        large.displaySize = DisplaySize(width: 40, height: 40)
        #expect(small.displaySize?.pixels == PixelSize(width: 16, height: 11))
        let options = DisplayOptions { $0.downsampling = .toView }
        small.images.setImage(with: resource("a"), options: options, completion: results.note("small"))
        large.images.setImage(with: resource("a"), options: options, completion: results.note("large"))
        await waitUntil { fixture.downloader.waiterCount == 2 }
        await fixture.transport.answer("a", sample.file)
        await waitUntil { results.words.count == 2 }
        // 64 × 48 fits into 16 × 11 as 15 × 11, and into 40 × 40 as 40 × 30.
        #expect(small.picture?.size == PixelSize(width: 15, height: 11))
        #expect(large.picture?.size == PixelSize(width: 40, height: 30))
        #expect(fixture.transport.calls == [.start("a")])
        #expect(small.images.setImage(with: resource("a"), options: options))
        // Without a known size the picture has its full size.
        small.displaySize = DisplaySize(width: 0, height: 0)
        #expect(!small.images.setImage(with: resource("a"), options: options, completion: results.note("full")))
        await fixture.transport.answer("a", sample.file)
        await waitUntil { results.words.last == "full shown" }
        #expect(small.picture == sample.picture)
        let fixed = DisplayOptions { $0.downsampling = .to(PixelSize(width: 15, height: 11)) }
        #expect(
            fixed.loadOptions(for: nil, defaultProcessor: nil)?.processor?.identifier == "halcyon.downsample(15x11)")
    }

    @Test("A size that is empty, negative, infinite or not a number has no pixels")
    func invalidSizeHasNoPixels() {
        #expect(DisplaySize(width: 100, height: 50, scale: 3).pixels == PixelSize(width: 300, height: 150))
        for (width, height, scale) in [
            (0.0, 1.0, 1.0), (1, -1, 1), (1, 1, 0), (.nan, 1, 1), (1, .infinity, 1), (1, 1, 2e6),
        ] {
            #expect(DisplaySize(width: width, height: height, scale: scale).pixels == nil)
        }
    }

    @Test("A completion, and a display call, may set the next image")
    func completionMaySetNextImage() async throws {
        let (fixture, a, b) = (try ViewFixture(), try NumberedPicture(1), try NumberedPicture(2))
        await fixture.remember("a", a)
        await fixture.remember("b", b)
        let view = RecordingView(fixture.manager)
        view.images.setImage(with: resource("a")) { _ in
            view.images.setImage(with: resource("b"), completion: results.note("b"))
        }
        #expect(view.picture == b.picture && results.words == ["b shown"])
        // A request from within `display` follows after the actions of the first request.
        let second = RecordingView(fixture.manager)
        second.onDisplay = { [weak second] in
            second?.onDisplay = nil
            second?.images.setImage(with: resource("b"), completion: results.note("nested"))
        }
        second.images.setImage(with: resource("a"), completion: results.note("outer"))
        #expect(results.words == ["b shown", "outer shown", "nested shown"] && second.picture == b.picture)
    }

    @Test("A binding that outlives its view completes its requests and loads nothing more")
    func bindingWithoutViewLoadsNothing() async throws {
        let (fixture, sample) = (try ViewFixture(), try NumberedPicture(1))
        var view: RecordingView? = RecordingView(fixture.manager)
        let binding = try #require(view?.images)
        binding.setImage(with: resource("a"), completion: results.note("a"))
        await fixture.transport.waitForStart(of: "a")
        view = nil
        #expect(binding.view == nil && results.words.isEmpty)
        await fixture.transport.answer("a", sample.file)
        await waitUntil { results.words == ["a gone"] }
        binding.setImage(with: resource("b"), completion: results.note("b"))
        binding.appeared()
        #expect(results.words == ["a gone", "b gone"] && fixture.transport.calls.count { $0 == .start("b") } == 0)
    }

    @Test("A view that loads or has loaded does not retain itself, its binding or its indicator")
    func viewIsNotRetained() async throws {
        let (fixture, sample) = (try ViewFixture(), try NumberedPicture(1))
        for isLoaded in [false, true] {
            weak var weakView: RecordingView?
            weak var weakBinding: ImageBinding?
            weak var weakIndicator: RecordingIndicator?
            do {
                let (view, indicator) = (RecordingView(fixture.manager), RecordingIndicator())
                view.images.indicator = indicator
                (weakView, weakBinding, weakIndicator) = (view, view.images, indicator)
                let results = Results()
                view.images.setImage(with: resource("a\(isLoaded)"), completion: results.note("a"))
                await fixture.transport.waitForStart(of: "a\(isLoaded)")
                if isLoaded {
                    await fixture.transport.answer("a\(isLoaded)", sample.file)
                    await waitUntil { results.words == ["a shown"] }
                }
                #expect(weakView != nil && weakBinding != nil && weakIndicator != nil)
            }
            await waitUntil { weakView == nil && weakBinding == nil && weakIndicator == nil }
            #expect(weakView == nil && weakBinding == nil && weakIndicator == nil)
        }
    }

    @Test("Each error has its own sentence")
    func errorsHaveDescriptions() {
        let errors: [DisplayError] = [
            .superseded, .cancelled, .viewGone, .noResource, .loadFailed(ManagerError.notCached(key: "a")),
        ]
        #expect(Set(errors.map(\.description)).count == 5)
        #expect(
            errors.last?.description
                == "The image could not be loaded: 'a' is not cached, and was to be taken from the cache only.")
    }
}

@MainActor
private final class RecordingPlaceholder: PlaceholderPresenting {
    private(set) var calls: [String] = []

    func add(to view: any ImageDisplaying) { calls.append("add") }
    func remove(from view: any ImageDisplaying) { calls.append("remove") }
}
