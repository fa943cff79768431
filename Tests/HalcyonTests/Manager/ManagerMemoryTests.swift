import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("Manager: memory beside its cache", .timeLimit(.minutes(20)))
struct ManagerMemoryTests {
    @MainActor
    @Test("A hit in memory stays on the main actor, whichever call awaits it")
    func hitStaysOnMainActor() async throws {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        let (fixture, sample) = (try ManagerFixture(FakeTransport()), try EncodedPicture())
        await fixture.cache.store(sample.picture, original: sample.file, forKey: fake("a").absoluteString)
        let places = Mutex<[Bool]>([])
        // It runs where the hit is found.
        let options = ImageOptions {
            $0.imageModifier = AnyImageModifier { image in
                places.withLock { $0.append(DispatchQueue.getSpecific(key: key) == true) }
                return image
            }
        }
        _ = try await fixture.manager.image(for: fake("a"), options: options)
        _ = try await fixture.manager.image(for: Resource(fake("a")), options: options)
        _ = try await fixture.manager.image(for: Source(fake("a")), options: options)
        #expect(places.withLock { $0 } == [true, true, true])
    }

    @Test("In the background decoded frames and the beginnings of interrupted bodies are released")
    func backgroundReleasesFramesAndPartialBodies() async throws {
        let fixture = try ManagerFixture(FakeTransport())
        let film = StillFilm()
        let animation = ImageAnimation(film)
        for _ in 0..<2 { _ = try animation.frame(at: 0) }
        let decoded = film.decoded
        var head = ResponseHead(url: fake("a"), status: 200)
        head.headers = ["ETag": "\"1\"", "Content-Length": "600", "Accept-Ranges": "bytes"]
        let body = try #require(PartialBody(head, Data(count: 300)))
        fixture.downloader.loader.partials.keep(body, for: MergeKey(TransportRequest(fake("a"))))
        #expect(fixture.downloader.resumableBytes == 300)
        await fixture.cache.enterBackground()
        #expect(fixture.downloader.resumableBytes == 0)
        _ = try animation.frame(at: 0)
        #expect(film.decoded > decoded)
    }
}

/// A film that counts how often its frame is decoded.
private final class StillFilm: AnimatedImageSource {
    let size = PixelSize(width: 4, height: 4)
    let plays: Int? = nil
    let frames = [
        AnimationFrame(
            x: 0, y: 0, size: PixelSize(width: 4, height: 4), duration: .milliseconds(40), disposal: .keep,
            blend: .source)
    ]
    private let calls = Atomic<Int>(0)
    var decoded: Int { calls.load(ordering: .relaxed) }

    func pixels(ofFrame index: Int) throws -> Bitmap {
        calls.add(1, ordering: .relaxed)
        guard let picture = Bitmap(width: 4, height: 4, color: PixelColor(red: 9, green: 8, blue: 7)) else {
            throw ImageError.unknownFormat
        }
        return picture
    }
}
