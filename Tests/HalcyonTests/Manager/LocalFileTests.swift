import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("Images of local files", .timeLimit(.minutes(20)))
struct LocalFileTests {
    private struct Bed {
        let fixture: ManagerFixture
        let url: URL

        init(folder: TemporaryFolder? = nil) throws {
            fixture = try ManagerFixture(FakeTransport(), folder: folder)
            url = URL(fileURLWithPath: fixture.folder.path + "/picture.png")
        }

        /// Writes the file, last modified at a second.
        func write(_ sample: EncodedPicture, at second: Double) throws {
            try sample.file.write(to: url)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: second)], ofItemAtPath: url.path)
        }

        var isOnDisk: Bool {
            get async {
                await fixture.settle()
                return fixture.cache.diskStorage?.isCached(forKey: url.absoluteString) == true
            }
        }
    }

    private let small = DownsamplingImageProcessor(size: PixelSize(width: 4, height: 4))

    @Test("A file, and what a processor makes of it, is on disk only if a policy is stated")
    func fileIsNotCopiedUnlessAsked() async throws {
        let bed = try Bed()
        try bed.write(try EncodedPicture(), at: 1_000)
        for source in [Source(bed.url), .network(bed.url), .file(bed.url)] {
            _ = try await bed.fixture.manager.image(for: source)
            _ = try await bed.fixture.manager.image(for: source, options: ImageOptions(processor: small))
        }
        #expect(await !bed.isOnDisk)
        #expect(bed.fixture.cache.diskStorage?.totalSize == 0)
        #expect(bed.fixture.manager.imageInMemory(for: Resource(bed.url)) != nil)
        // The policy of a manager says what it keeps of what it loads from servers.
        let originals = HalcyonManager(
            cache: bed.fixture.cache, downloader: bed.fixture.downloader,
            defaultOptions: ImageOptions { $0.diskPolicy = .originals })
        _ = try await originals.image(for: bed.url, options: ImageOptions(processor: small))
        #expect(await !bed.isOnDisk)
        let asked = ImageOptions { ($0.diskPolicy, $0.forceRefresh) = (.automatic, true) }
        _ = try await bed.fixture.manager.image(for: bed.url, options: asked)
        #expect(await bed.isOnDisk)
    }

    @Test("A file that has changed in size or time is read again, in memory, on disk and as an original")
    func changedFileIsReadAgain() async throws {
        let (first, blue, wide) = (try EncodedPicture(), try EncodedPicture.blue, try EncodedPicture(width: 20))
        for policy in [nil, DiskPolicy.both] {
            let bed = try Bed()
            let manager = bed.fixture.manager
            let plain = ImageOptions { $0.diskPolicy = policy }
            let variant = ImageOptions { ($0.diskPolicy, $0.processor) = (policy, small) }
            // The last one has the time of the one before.
            for (sample, second) in zip([first, blue, blue, wide, first], [1_000.0, 1_001, 1_002, 1_003, 1_003]) {
                try bed.write(sample, at: second)
                #expect(manager.imageInMemory(for: Resource(bed.url), options: plain) == nil)
                let result = try await manager.image(for: bed.url, options: plain)
                #expect(result.image == sample.picture && result.cacheType == .none)
                let made = try await manager.image(for: bed.url, options: variant)
                #expect(made.image[0, 0] == sample.picture[0, 0])
                await bed.fixture.settle()
                #expect(try await manager.image(for: bed.url, options: plain).cacheType == .memory)
                #expect(manager.imageInMemory(for: Resource(bed.url), options: variant)?.image == made.image)
            }
        }
    }

    @Test("A file that changes while it is being shown is read again by the next view", arguments: [false, true])
    func fileChangedWhileItIsLoaded(isVariant: Bool) async throws {
        let (first, blue) = (try EncodedPicture(), try EncodedPicture.blue)
        let bed = try Bed()
        try bed.write(first, at: 1_000)
        var options = ImageOptions { ($0.diskPolicy, $0.waitForCache) = (.originals, true) }
        if isVariant {
            // Its original is on disk.
            _ = try await bed.fixture.manager.image(for: bed.url, options: options)
            options.processor = BlackWhiteImageProcessor()
        }
        let limiter = DecodeLimiter(limit: 1)
        let manager = HalcyonManager(
            cache: bed.fixture.cache, downloader: bed.fixture.downloader, decodeLimiter: limiter)
        let gate = DispatchSemaphore(value: 0)
        limiter.queue(over: .dispatch(DispatchQueue(label: "test")), .normal).execute { gate.wait() }
        let early = Task { [options] in try await manager.image(for: bed.url, options: options).image }
        await waitUntil { limiter.load.waiting == 1 }
        try bed.write(blue, at: 2_000)
        let late = Task { [options] in try await manager.image(for: bed.url, options: options).image }
        await waitUntil { limiter.load.waiting == 2 }
        gate.signal()
        _ = try await early.value
        let shown = try await late.value
        let expected = isVariant ? try BlackWhiteImageProcessor().process(blue.picture) : blue.picture
        #expect(shown == expected)
        await bed.fixture.settle()
        #expect(try await manager.image(for: bed.url, options: options).image == expected)
    }

    @Test("After a restart, a copy on disk is used if it is of the file as it is, and else read again")
    func copyIsUsedAfterRestartIfUnchanged() async throws {
        let (first, blue) = (try EncodedPicture(), try EncodedPicture.blue)
        let options = ImageOptions { ($0.diskPolicy, $0.waitForCache) = (.both, true) }
        let folder = try TemporaryFolder()
        do {
            let bed = try Bed(folder: folder)
            try bed.write(first, at: 1_000)
            _ = try await bed.fixture.manager.image(for: bed.url, options: options)
            await bed.fixture.settle()
            await bed.fixture.cache.close()
        }
        let bed = try Bed(folder: folder)
        #expect(try await bed.fixture.manager.image(for: bed.url, options: options).cacheType == .disk)
        #expect(bed.fixture.manager.imageInMemory(for: Resource(bed.url)) != nil)
        await bed.fixture.cache.close()
        try bed.write(blue, at: 2_000)
        let other = try Bed(folder: folder)
        let result = try await other.fixture.manager.image(for: other.url, options: options)
        #expect(result.image == blue.picture && result.cacheType == .none)
        await other.fixture.cache.close()
    }

    @Test("An image of a file that is gone is used as long as it is cached; its bytes come from the file")
    func imageOfMissingFileIsUsed() async throws {
        let (bed, sample) = (try Bed(), try EncodedPicture())
        try bed.write(sample, at: 1_000)
        _ = try await bed.fixture.manager.image(for: bed.url)
        let withBytes = ImageOptions { $0.wantsOriginalData = true }
        let known = try await bed.fixture.manager.image(for: bed.url, options: withBytes)
        #expect(known.cacheType == .memory && known.originalData == sample.file)
        #expect(try await bed.fixture.manager.data(for: bed.url) == sample.file)
        try FileManager.default.removeItem(at: bed.url)
        #expect(try await bed.fixture.manager.image(for: bed.url).cacheType == .memory)
        bed.fixture.cache.clearMemoryCache()
        #expect(await failure { try await bed.fixture.manager.image(for: bed.url) } is ManagerError)
    }
}
