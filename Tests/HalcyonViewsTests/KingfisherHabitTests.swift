import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonNetworking

/// The twenty-seven lines of docs/migrating-from-kingfisher.md: the first twenty-one as a Kingfisher user writes them, but for the
/// names of types, the rest as they have to be changed.
@MainActor
@Suite("Lines that a Kingfisher user writes by habit", .timeLimit(.minutes(20)))
struct KingfisherHabitTests {
    private let results = Results()

    @Test("Lines 1 to 8: processors take Kingfisher's labels, sizes and points of Core Graphics")
    func processorsTakeKingfishersLabels() throws {
        let picture = try #require(Bitmap(width: 40, height: 20, color: PixelColor(red: 90, green: 50, blue: 10)))
        func made(_ processor: any ImageProcessor) throws -> Bitmap {
            try processor.process(.image(picture), decoder: ImageDecoder())
        }
        let blur = BlurImageProcessor(blurRadius: 4)
        #expect(try made(blur) == picture && blur.blurRadius == 4)
        let round = RoundCornerImageProcessor(cornerRadius: 20)
        #expect(
            round.radii == CornerRadii(.pixels(20))
                && RoundCornerImageProcessor(cornerRadius: 2.5).radii.topLeft == .pixels(2.5))
        #expect(try made(round).isOpaque == false)
        let resize = ResizingImageProcessor(referenceSize: CGSize(width: 10, height: 10), mode: .aspectFill)
        #expect(try made(resize).size == PixelSize(width: 20, height: 10))
        #expect(
            try made(ResizingImageProcessor(referenceSize: CGSize(width: 10, height: 10), mode: .aspectFit)).height == 5
        )
        let downsample = DownsamplingImageProcessor(size: CGSize(width: 20, height: 20))
        #expect(try made(downsample).size == PixelSize(width: 20, height: 10))
        let crop = CroppingImageProcessor(size: CGSize(width: 8, height: 8), anchor: CGPoint(x: 0.5, y: 0.5))
        #expect(try made(crop).size == PixelSize(width: 8, height: 8) && crop.anchor == .center)
        let tint = TintImageProcessor(tint: .red)
        #expect(try made(tint) == Bitmap(width: 40, height: 20, color: .red))
        let overlay = OverlayImageProcessor(overlay: .red, fraction: 0)
        #expect(try made(overlay) == Bitmap(width: 40, height: 20, color: .red))
        let blend = BlendImageProcessor(blendMode: .multiply, alpha: 1, backgroundColor: .white)
        #expect(try made(blend) == picture)
    }

    @Test("A size of Core Graphics that is none of a picture is refused, as one in pixels is")
    func impossibleSizeOfCoreGraphicsIsRefused() throws {
        let picture = try #require(Bitmap(width: 4, height: 4, color: .white))
        for side in [CGFloat.nan, .infinity, -1, 0, 0.4, 2e6, 1e300] {
            #expect(throws: ImageError.self) {
                try DownsamplingImageProcessor(size: CGSize(width: side, height: 8)).process(
                    .image(picture), decoder: ImageDecoder())
            }
        }
        #expect(PixelSize(CGSize(width: 10.5, height: 10.4)) == PixelSize(width: 11, height: 10))
    }

    @Test("Lines 9 to 12: a URL or a source is enough to show, load and prefetch; the default cache needs no type")
    func urlsAndSourcesAreEnough() async throws {
        let (fixture, sample) = (try ViewFixture(), try NumberedPicture(1))
        let before = ImageCache.default
        defer { ImageCache.default = before }
        ImageCache.default = fixture.cache
        #expect(ImageCache<Bitmap>.default === fixture.cache)
        await fixture.remember("x", sample)
        ImageCache.default.clearMemoryCache()
        #expect(!fixture.cache.isCached(forKey: held("x").absoluteString))

        let view = RecordingView(fixture.manager)
        let url = held("a")
        view.images.setImage(with: url, completion: results.note("a"))
        await fixture.transport.answer("a", sample.file)
        await waitUntil { results.words == ["a shown"] }
        view.images.setImage(with: nil, completion: results.note("b"))
        #expect(view.picture == nil && results.words == ["a shown", "b none"])

        let ended = Results()
        fixture.manager.retrieveImage(with: .network(url)) { result in
            Task { @MainActor in ended.note("c")(result.mapError { .loadFailed($0) }) }
        }
        await waitUntil { ended.words == ["c shown"] }

        let prefetcher = ImagePrefetcher(urls: [held("p")], manager: fixture.manager)
        prefetcher.start()
        await fixture.transport.answer("p", sample.file)
        #expect(await prefetcher.run().completed.map(\.cacheKey) == [held("p").absoluteString])
    }

    @Test("Line 13: the result of a load has the metrics of its transfer")
    func resultHasMetrics() async throws {
        let (fixture, sample) = (try ViewFixture(), try NumberedPicture(1))
        let loaded = Task { try await fixture.manager.image(for: held("m")) }
        await fixture.transport.answer("m", sample.file)
        #expect(try await loaded.value.metrics != nil)
    }

    @Test("Lines 14 to 21: each step of a request has Kingfisher's name and sets its option")
    func stepsHaveKingfishersNames() throws {
        let (grey, url, mirror) = (try NumberedPicture(0), held("a"), held("mirror"))
        let first = ImageContext.url(url).setProcessor(BlackWhiteImageProcessor()).downsampling(
            size: CGSize(width: 8, height: 6)
        )
        .onFailureImage(grey.picture)
        #expect(first.options.failureImage == grey.picture)
        #expect(first.options.downsampling == .to(PixelSize(width: 8, height: 6)))
        #expect(first.setProcessor(DefaultImageProcessor()).options.load?.processor?.identifier == "")
        let chain = first.blur(radius: 2).tint(color: .red).overlay(color: .gray).roundCorner(radius: 20).blackWhite()
        let expected =
            BlackWhiteImageProcessor() |> BlurImageProcessor(blurRadius: 2) |> TintImageProcessor(tint: .red)
            |> OverlayImageProcessor(overlay: .gray) |> RoundCornerImageProcessor(cornerRadius: 20)
            |> BlackWhiteImageProcessor()
        #expect(chain.options.load?.processor?.identifier == expected.identifier)

        let modifier = AnyModifier { $0 }
        let cache = try ViewFixture().cache
        let context = ImageContext.url(url).cacheMemoryOnly().memoryCacheExpiration(.never).diskCacheExpiration(
            .days(7)
        )
        .lowDataModeSource(.network(mirror)).alternativeSources([.network(mirror)]).requestModifier(modifier)
        .retry(maxCount: 3, interval: .seconds(3)).waitForCache().fromMemoryCacheOrRefresh().targetCache(cache)
        let load = try #require(context.options.load)
        #expect(load.cacheMemoryOnly == true && load.waitForCache == true && load.fromMemoryCacheOrRefresh == true)
        guard case .never? = load.memoryCacheExpiration, case .days(7)? = load.diskCacheExpiration else {
            Issue.record("\(load)")
            return
        }
        #expect(load.lowDataSource?.url == mirror && load.alternativeSources?.map(\.url) == [mirror])
        #expect(load.requestModifier is AnyModifier && load.cache === cache)
        #expect((load.retryStrategy as? DelayRetryStrategy)?.maxRetryCount == 3)
    }

    @Test("Lines 22 to 27: what has to be written otherwise")
    func linesThatChange() async throws {
        let (fixture, sample, grey) = (try ViewFixture(), try NumberedPicture(1), try NumberedPicture(0))
        let manager = HalcyonManager(
            cache: fixture.cache, downloader: fixture.downloader,
            defaultOptions: ImageOptions { $0.retryStrategy = DelayRetryStrategy(maxRetryCount: 2) })
        #expect((manager.defaultOptions.retryStrategy as? DelayRetryStrategy)?.maxRetryCount == 2)
        let context = ImageContext.url(held("a")).fade(.seconds(0.25)).roundCorner(radius: .fraction(0.5))
        guard case .fade(.milliseconds(250)) = context.options.transition else {
            Issue.record("\(context.options.transition)")
            return
        }
        let view = RecordingView(fixture.manager)
        view.images.setImage(with: held("a"), placeholder: .picture(grey.picture), completion: results.note("a"))
        #expect(view.picture == grey.picture)
        await fixture.transport.answer("a", sample.file)
        await waitUntil { results.words == ["a shown"] }
        let fresh = Task { try await manager.image(for: held("a"), options: ImageOptions { $0.forceRefresh = true }) }
        await fixture.transport.answer("a", sample.file)
        #expect(try await fresh.value.cacheType == .none)
        await fixture.cache.settleDisk()
        let size: Int = await fixture.cache.diskStorageSize()
        #expect(size >= sample.file.count)
    }
}
