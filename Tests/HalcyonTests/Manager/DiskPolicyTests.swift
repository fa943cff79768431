import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("What the disk keeps of a load", .timeLimit(.minutes(20)))
struct DiskPolicyTests {
    private let url = fake("a")
    private let processor = DownsamplingImageProcessor(size: PixelSize(width: 4, height: 4))
    private var variant: EntryKey { EntryKey(url.absoluteString, processorIdentifier: processor.identifier) }

    private func options(_ policy: DiskPolicy?, _ processor: (any ImageProcessor)? = nil) -> ImageOptions {
        ImageOptions { ($0.diskPolicy, $0.processor, $0.waitForCache) = (policy, processor, true) }
    }

    @Test("The disk keeps the original, the variant, both or what was asked for, as the policy says")
    func diskKeepsWhatPolicySays() async throws {
        for (policy, original, made, plain) in [
            (nil, false, true, true), (.automatic, false, true, true), (.variants, false, true, false),
            (.originals, true, false, true), (.both, true, true, true),
        ] as [(DiskPolicy?, Bool, Bool, Bool)] {
            let sample = try EncodedPicture()
            let fixture = try ManagerFixture(FakeTransport(answerAtOnce: sample.file))
            _ = try await fixture.manager.image(for: url, options: options(policy, processor))
            _ = try await fixture.manager.image(for: fake("plain"), options: options(policy))
            await fixture.settle()
            fixture.cache.clearMemoryCache()
            let label = Comment(rawValue: policy?.rawValue ?? "none")
            #expect(fixture.cache.isCached(forKey: url.absoluteString) == original, label)
            #expect(fixture.cache.isCached(forKey: variant) == made, label)
            #expect(fixture.cache.isCached(forKey: fake("plain").absoluteString) == plain, label)
        }
    }

    @Test("With originals on disk, three sizes of one URL in turn are one download, also after a restart of the app")
    func threeSizesAreOneDownload() async throws {
        let transport = FakeTransport(answerAtOnce: try EncodedPicture(width: 40).file)
        let folder = try TemporaryFolder()
        for _ in 0..<2 {
            let fixture = try ManagerFixture(transport, folder: folder)
            for width in [30, 20, 10, 30] {
                let size = DownsamplingImageProcessor(size: PixelSize(width: width, height: width))
                let result = try await fixture.manager.image(for: url, options: options(.originals, size))
                #expect(result.image.width == width)
                fixture.cache.clearMemoryCache()
            }
            await fixture.cache.close()
        }
        #expect(transport.requestCount == 1)
        let fixture = try ManagerFixture(transport)
        // By default each size is a download.
        for width in [30, 20, 10] {
            let size = DownsamplingImageProcessor(size: PixelSize(width: width, height: width))
            _ = try await fixture.manager.image(for: fake("b"), options: options(nil, size))
        }
        #expect(transport.requestCount == 4)
    }

    @Test("A variant on disk that the policy no longer keeps is removed when it is made again")
    func olderVariantIsRemoved() async throws {
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        _ = try await fixture.manager.image(for: url, options: options(.both, processor))
        var fresh = options(.originals, processor)
        fresh.forceRefresh = true
        _ = try await fixture.manager.image(for: url, options: fresh)
        await fixture.settle()
        fixture.cache.clearMemoryCache()
        #expect(fixture.cache.isCached(forKey: url.absoluteString) && !fixture.cache.isCached(forKey: variant))
    }

    @Test("Kingfisher's flag for originals is a name of a policy, and a call overrides the manager's")
    func flagNamesPolicy() async throws {
        var options = ImageOptions()
        #expect(options.cacheOriginalImage == nil && options.diskPolicy == nil)
        options.cacheOriginalImage = true
        #expect(options.diskPolicy == .both)
        options.cacheOriginalImage = false
        #expect(options.diskPolicy == .automatic)
        options.diskPolicy = .originals
        #expect(options.cacheOriginalImage == false)
        let fixture = try ManagerFixture(FakeTransport(answerAtOnce: try EncodedPicture().file))
        let manager = HalcyonManager(
            cache: fixture.cache, downloader: fixture.downloader, defaultOptions: self.options(.both))
        _ = try await manager.image(
            for: url, options: ImageOptions { ($0.processor, $0.cacheOriginalImage) = (processor, false) })
        await fixture.settle()
        fixture.cache.clearMemoryCache()
        #expect(!fixture.cache.isCached(forKey: url.absoluteString) && fixture.cache.isCached(forKey: variant))
    }

    @Test("A prefetch of a variant whose original alone is kept decodes only where memory wants it")
    func prefetchKeepsOriginals() async throws {
        for toMemory in [false, true] {
            let transport = FakeTransport(answerAtOnce: try EncodedPicture().file)
            let (fixture, counting) = (try ManagerFixture(transport), CountingDecoder())
            let manager = HalcyonManager(
                cache: fixture.cache, downloader: fixture.downloader, decoder: counting.decoder)
            for isAgain in [false, true] {
                let report = await ImagePrefetcher(
                    urls: [url], manager: manager, options: options(.originals, processor), toMemory: toMemory
                ).run()
                await fixture.settle()
                #expect((isAgain ? report.skipped : report.completed).count == 1)
            }
            #expect(counting.count == (toMemory ? 1 : 0))
            #expect(fixture.cache.memoryStorage.count == (toMemory ? 1 : 0))
            #expect(fixture.cache.isCached(forKey: url.absoluteString))
            #expect(fixture.cache.diskStorage?.isCached(forKey: variant.computed) == false)
            let result = try await manager.image(for: url, options: options(.originals, processor))
            #expect(result.image.width == 4 && result.cacheType == (toMemory ? .memory : .none))
            #expect(transport.requestCount == 1)
        }
    }
}
