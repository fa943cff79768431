import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache
@testable import HalcyonImages
@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("Previews of pictures that are being transferred", .timeLimit(.minutes(20)))
struct PreviewTests {
    /// A progressive JPEG in pieces: behind each, one more scan is whole.
    private struct Film {
        let file: Data
        let pieces: [Data]
        /// The beginnings of the file with one scan, with two and so on.
        let scans: [Data]
        let decoder: ImageDecoder

        init() throws {
            file = try Fixture.data("jpeg-progressive.jpg")
            var starts: [Int] = []
            var at = file.startIndex
            while let found = file.range(of: Data([0xFF, 0xDA]), in: at..<file.endIndex) {
                starts.append(found.upperBound)
                at = found.upperBound
            }
            scans = starts.dropFirst().map { [file] in file[..<($0 - 2)] }
            let ends = [file.startIndex] + starts.dropFirst() + [file.endIndex]
            pieces = zip(ends, ends.dropFirst()).map { [file] in file[$0..<$1] }
            var decoder = ImageDecoder()
            decoder.options.showsTruncated = true
            self.decoder = decoder
        }
    }

    /// The previews that were received.
    private final class Previews: Sendable {
        private let pictures = Mutex<[Bitmap]>([])
        var all: [Bitmap] {
            get { pictures.withLock { $0 } }
            set { pictures.withLock { $0 = newValue } }
        }
        func add(_ picture: Bitmap) { pictures.withLock { $0.append(picture) } }
    }

    private let previews = Previews()

    private func options(_ perSecond: Double) -> ImageOptions {
        ImageOptions {
            $0.previewsPerSecond = perSecond
            $0.callbackQueue = .untouch
            $0.onPreview = { [previews] picture in previews.add(picture) }
        }
    }

    @Test("Each scan of a progressive JPEG gives a preview, processed as the image; nothing of them is kept")
    func eachScanGivesPreview() async throws {
        let film = try Film()
        try #require(film.pieces.count > 3)
        for processor in [nil, BlackWhiteImageProcessor()] as [(any ImageProcessor)?] {
            previews.all = []
            let transport = FakeTransport()
            let fixture = try ManagerFixture(transport)
            var options = options(.infinity)
            options.processor = processor
            let task = fixture.manager.imageTask(with: fake("a"), options: options)
            var seen = task.previews.makeAsyncIterator()
            await transport.waitForCalls(1)
            for count in 1..<film.pieces.count {
                if count == 1 {
                    transport.begin("a", film.pieces[0], of: film.file.count)
                } else {
                    transport.continue("a", film.pieces[count - 1])
                }
                let item = ImageProcessItem.data(film.scans[count - 1])
                let expected = try (processor ?? DefaultImageProcessor()).process(item, decoder: film.decoder)
                await waitUntil { previews.all.count == count }
                #expect(previews.all.last == expected)
                #expect(await seen.next() == expected)
            }
            #expect(fixture.cache.memoryStorage.count == 0)
            transport.finish("a", film.pieces.last ?? Data())
            let image = try await task.image
            let whole = try (processor ?? DefaultImageProcessor()).process(.data(film.file), decoder: ImageDecoder())
            #expect(image == whole && image.provenance?.isComplete != false)
            #expect(await seen.next() == nil)
            #expect(previews.all.count == film.pieces.count - 1)
        }
    }

    @Test("There are as many previews a second as stated, and none unless they are asked for")
    func previewsKeepTheirRate() async throws {
        let film = try Film()
        for (perSecond, expected) in [(0.001, 1), (.leastNonzeroMagnitude, 1), (0, 0), (-1, 0), (.nan, 0)] {
            previews.all = []
            let transport = FakeTransport()
            let fixture = try ManagerFixture(transport)
            let load = Task { try await fixture.manager.image(for: fake("a"), options: options(perSecond)) }
            await transport.waitForCalls(1)
            transport.begin("a", film.pieces[0], of: film.file.count)
            await waitUntil { previews.all.count == expected }
            for piece in film.pieces.dropFirst().dropLast() { transport.continue("a", piece) }
            transport.finish("a", film.pieces.last ?? Data())
            _ = try await load.value
            #expect(previews.all.count == expected)
        }
    }

    @Test("A baseline JPEG, another format, a private response and a downloader with hooks or a check have no previews")
    func otherPicturesHaveNoPreviews() async throws {
        final class Hooks: DownloadHooks {}
        struct Check: ImageDownloadResponseCheck {}
        let film = try Film()
        let baseline = try Fixture.data("jpeg-420.jpg")
        let png = try EncodedPicture().file
        var isPrivate = HeaderFields()
        isPrivate["Cache-Control"] = "private"
        typealias Change = (inout ImageDownloader.Configuration) -> Void
        let cases: [(Data, HeaderFields, Change)] = [
            (baseline, HeaderFields(), { _ in }), (png, HeaderFields(), { _ in }), (film.file, isPrivate, { _ in }),
            (film.file, HeaderFields(), { $0.hooks = Hooks() }),
            (film.file, HeaderFields(), { $0.responseCheck = Check() }),
        ]
        for (file, headers, change) in cases {
            let transport = FakeTransport()
            let fixture = try ManagerFixture(transport)
            var configuration = ImageDownloader.Configuration()
            change(&configuration)
            let downloader = ImageDownloader(name: "test", configuration: configuration, transport: transport)
            let manager = HalcyonManager(cache: fixture.cache, downloader: downloader)
            let load = Task { try await manager.image(for: fake("a"), options: options(.infinity)) }
            await transport.waitForCalls(1)
            transport.begin("a", file.prefix(file.count / 2), of: file.count, headers: headers)
            // Time for a preview, were there one.
            try await Task.sleep(for: .milliseconds(30))
            transport.finish("a", file.dropFirst(file.count / 2))
            _ = try await load.value
            #expect(previews.all.isEmpty)
        }
    }

    @Test("A redirect that is private to a user leads to no previews, though the picture behind it is public")
    func privateRedirectHasNoPreviews() async throws {
        let (film, transport) = (try Film(), FakeTransport())
        let fixture = try ManagerFixture(transport)
        let load = Task { try await fixture.manager.image(for: fake("a"), options: options(.infinity)) }
        await transport.waitForCalls(1)
        transport.answer(
            "a", Data(), status: 302, headers: ["Location": "http://fake/b", "Cache-Control": "private"])
        await transport.waitForCalls(2)
        transport.begin("b", film.pieces[0] + film.pieces[1], of: film.file.count)
        try await Task.sleep(for: .milliseconds(30))
        transport.finish("b", film.pieces.dropFirst(2).reduce(Data(), +))
        _ = try await load.value
        #expect(previews.all.isEmpty)
    }

    @Test("A file of many scans is looked at a limited number of times")
    func previewsAreLimited() async throws {
        /// Counts its calls.
        final class Pixel: ImageProcessor {
            let identifier = "pixel"
            let calls = CallCounter()

            func process(_ item: ImageProcessItem, decoder: ImageDecoder) throws -> Bitmap {
                calls.add()
                guard let pixel = Bitmap(width: 1, height: 1, color: .white) else { throw ImageError.outOfMemory }
                return pixel
            }
        }
        let (film, transport, pixel) = (try Film(), FakeTransport(), Pixel())
        let fixture = try ManagerFixture(transport)
        // The last scan again and again.
        let start = try #require(film.file.range(of: Data([0xFF, 0xDA]), options: .backwards)).lowerBound
        let last = film.file[start...].dropLast(2)
        var options = options(.infinity)
        options.processor = pixel
        let load = Task { [options] in try await fixture.manager.image(for: fake("a"), options: options) }
        await transport.waitForCalls(1)
        transport.begin("a", film.file.dropLast(2), of: film.file.count + 80 * last.count)
        for number in 1...80 {
            await waitUntil { pixel.calls.count == min(number, PreviewMaker.limit) }
            transport.continue("a", last)
        }
        transport.finish("a", Data([0xFF, 0xD9]))
        _ = try await load.value
        // The last call is that for the image.
        #expect(pixel.calls.count == PreviewMaker.limit + 1)
    }

    @Test("The scans of each beginning of a file are those whose data are followed by another segment")
    func scansOfEachBeginning() throws {
        let film = try Film()
        func scans(_ data: Data) -> Int? { data.withUnsafeBytes { JPEGSegments.wholeScans(ByteView($0))?.count } }
        var last = 0
        for count in 0...film.file.count {
            let found = try #require(scans(film.file.prefix(count)))
            #expect(found == last || found == last + 1, "\(count) bytes")
            last = found
        }
        let baseline = scans(try Fixture.data("jpeg-420.jpg"))
        #expect(last == film.pieces.count - 1 && baseline == nil)
        for count in 1..<film.pieces.count { #expect(scans(Data(film.pieces.prefix(count).joined())) == count) }
        #expect(scans(Data()) == 0 && scans(Data("GIF89a".utf8)) == nil)
    }
}
