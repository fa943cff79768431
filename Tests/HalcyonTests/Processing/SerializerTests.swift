import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonImages
@testable import HalcyonPipeline

@Suite("Serializing pictures for the cache", .timeLimit(.minutes(20)))
struct SerializerTests {
    let decoder = ImageDecoder()

    func cache(_ folder: TemporaryFolder, _ serializer: BitmapSerializer) -> ImageCache<Bitmap> {
        let disk = DiskStorageConfig(name: "pictures", directory: URL(fileURLWithPath: folder.path))
        return ImageCache(disk: disk, serializer: serializer, triggers: [])
    }

    /// A serializer that decodes in turns of a limiter and waits at a gate.
    struct GatedSerializer: CacheSerializer {
        let limiter = DecodeLimiter(limit: 2)
        let gate = DispatchSemaphore(value: 0)

        var decodingQueue: CallbackQueue? { limiter.queue(over: .untouch, .normal) }
        func data(with value: Data, original: Data?) -> Data? { value }
        func value(with data: Data) -> Data? {
            gate.wait()
            return data
        }
    }

    @Test("Look-ups decode on the serializer's queue, and closing the cache waits for their completions")
    func cacheDecodesOnSerializerQueue() async throws {
        let (folder, serializer) = (try TemporaryFolder(), GatedSerializer())
        let disk = DiskStorageConfig(name: "turns", directory: URL(fileURLWithPath: folder.path))
        let cache = ImageCache<Data>(disk: disk, serializer: serializer, triggers: [])
        for number in 0..<6 { try cache.diskStorage?.store(value: Data([UInt8(number)]), forKey: "\(number)") }
        let isClosed = Atomic<Bool>(false)
        let found = Atomic<Int>(0)
        let early = Atomic<Int>(0)
        for number in 0..<6 {
            cache.retrieveImage(forKey: "\(number)", callbackQueue: .untouch) { result in
                if (try? result.get().image) == Data([UInt8(number)]) { found.add(1, ordering: .relaxed) }
                if !isClosed.load(ordering: .relaxed) { early.add(1, ordering: .relaxed) }
            }
        }
        await waitUntil { serializer.limiter.load == (2, 4) }
        async let closing: Void = {
            await cache.close()
            isClosed.store(true, ordering: .relaxed)
        }()
        await waitUntil { cache.diskStorage == nil }
        for _ in 0..<6 { serializer.gate.signal() }
        await closing
        #expect(found.load(ordering: .relaxed) == 6 && early.load(ordering: .relaxed) == 6)
        #expect(serializer.limiter.load.waiting == 0)
    }

    @Test("The default serializers of pictures decode on the shared limiter")
    func defaultSerializersUseSharedLimiter() async throws {
        for queue in [BitmapSerializer().decodingQueue, TransformingSerializer<Bitmap>().decodingQueue] {
            let queue = try #require(queue)
            #expect(try await queue.result { DecodeLimiter.shared.load.running } > 0)
        }
        #expect(TransformingSerializer<Data>().decodingQueue == nil)
    }

    @Test(
        "By default a picture is stored in the format of its file",
        arguments: [
            ("jpeg-420.jpg", ImageFormat.jpeg), ("png-rgba.png", .png), ("webp-lossy-alpha.webp", .webp),
            ("gif-plain.gif", .png),
        ])
    func pictureKeepsItsFormatByDefault(name: String, format: ImageFormat) throws {
        let picture = try decoder.decode(try Fixture.data(name))
        let serializer = BitmapSerializer()
        let data = try #require(serializer.data(with: picture, original: nil))
        #expect(ImageFormat(of: data) == format)
        let back = try #require(serializer.value(with: data))
        if format != .jpeg { #expect(back == picture) }
        #expect(back.size == picture.size)
        #expect(try Bitmap.fromData(try picture.toData()).size == picture.size)
    }

    @Test("A serializer writes its stated format, and PNG if no format is known")
    func serializerWritesStatedFormat() throws {
        let picture = try Fixture.expected("png-rgba")
        for (serializer, format) in [
            (BitmapSerializer.jpeg(), ImageFormat.jpeg), (.png, .png), (.webp(), .webp), (BitmapSerializer(), .png),
        ] {
            let data = try #require(serializer.data(with: picture, original: nil))
            #expect(ImageFormat(of: data) == format)
        }
        let original = try Fixture.data("webp-lossy.webp")
        #expect(ImageFormat(of: try #require(BitmapSerializer().data(with: picture, original: original))) == .webp)
    }

    @Test("A JPEG that became transparent in a processor is stored as PNG")
    func transparentPictureIsNotStoredAsJPEG() throws {
        let picture = try decoder.decode(try Fixture.data("jpeg-420.jpg"))
        let round = try RoundCornerImageProcessor(cornerRadius: .pixels(5)).process(picture)
        let data = try #require(BitmapSerializer().data(with: round, original: nil))
        #expect(ImageFormat(of: data) == .png)
        #expect(BitmapSerializer().value(with: data) == round)
    }

    @Test("Original bytes are stored by default, but not for an altered picture")
    func originalBytesServeUnalteredPicturesOnly() throws {
        let data = try Fixture.data("jpeg-scaled.jpg")
        let picture = try decoder.decode(data)
        let preferring = BitmapSerializer()
        #expect(preferring.data(with: picture, original: data) == data)
        #expect(try picture.toData(original: data) == data)
        #expect(BitmapSerializer(prefersOriginal: false).data(with: picture, original: data) != data)
        #expect(BitmapSerializer.jpeg().data(with: picture, original: data) != data)
        #expect(preferring.data(with: picture, original: nil) != nil)
        let small = try DownsamplingImageProcessor(size: PixelSize(width: 9, height: 9))
            .process(.data(data), decoder: decoder)
        let tinted = TintImageProcessor(tint: .black).process(picture)
        let scaled = try decoder.decode(data, covering: PixelSize(width: 9, height: 9))
        for changed in [small, tinted, scaled] {
            let kept = try #require(preferring.data(with: changed, original: data))
            #expect(kept != data)
            #expect(ImageFormat(of: kept) == .jpeg)
            #expect(preferring.value(with: kept)?.size == changed.size)
        }
        // A picture rotated by EXIF is unaltered: the file shows it like this.
        let turned = try Fixture.data("jpeg-orientation-6.jpg")
        #expect(preferring.data(with: try decoder.decode(turned), original: turned) == turned)
    }

    @Test("Truncated bytes are no value of the cache, and an incomplete picture is not stored")
    func truncatedPictureIsNotStored() throws {
        for name in ["jpeg-420.jpg", "png-rgba.png", "webp-lossy.webp", "gif-plain.gif"] {
            let data = try Fixture.data(name)
            #expect(BitmapSerializer().value(with: data) != nil)
            #expect(BitmapSerializer().value(with: data.dropLast(5)) == nil)
            var options = ImageDecodingOptions()
            options.showsTruncated = true
            let decoder = ImageDecoder(options: options)
            guard let shown = try? decoder.decode(data.dropLast(5)) else { continue }
            #expect(name.hasPrefix("jpeg") || name.hasPrefix("gif"))
            #expect(shown.provenance?.isComplete == false)
            let showing = BitmapSerializer(decoder: decoder)
            #expect(showing.data(with: shown, original: data.dropLast(5)) == nil)
            #expect(showing.data(with: TintImageProcessor(tint: .black).process(shown), original: nil) == nil)
        }
        let strict = BitmapSerializer(decoder: ImageDecoder(pixelLimit: 10))
        #expect(strict.value(with: try Fixture.data("png-rgba.png")) == nil)
    }

    @Test("A cached original serves a second processor, and each variant is an entry")
    func originalAndVariantAreSeparateEntries() async throws {
        let folder = try TemporaryFolder()
        let cache = cache(folder, BitmapSerializer(prefersOriginal: true))
        let data = try Fixture.data("jpeg-scaled.jpg")
        let small = DownsamplingImageProcessor(size: PixelSize(width: 9, height: 9))
        let round = RoundCornerImageProcessor(cornerRadius: .fraction(0.5))

        let picture = try decoder.decode(data)
        await cache.store(picture, original: data, forKey: "a")
        let first = try small.process(.data(data), decoder: decoder)
        let key = EntryKey("a", processorIdentifier: small.identifier)
        await cache.store(first, original: data, forKey: key)

        cache.clearMemoryCache()
        #expect(try cache.diskStorage?.value(forKey: "a") == data)
        let found = try await cache.image(forKey: "a")
        #expect(found.cacheType == .disk)
        let original = try #require(found.image)
        #expect(original == picture)
        #expect(try round.process(original) == (try round.process(.data(data), decoder: decoder)))
        let variant = try await cache.image(forKey: key)
        #expect(variant.image?.size == first.size)
        #expect(!cache.isCached(forKey: EntryKey("a", processorIdentifier: round.identifier)))
    }

    @Test("A cache of pictures counts four bytes for each pixel")
    func cacheCountsPictureBytes() async throws {
        let folder = try TemporaryFolder()
        let cache = cache(folder, BitmapSerializer())
        await cache.store(try Fixture.expected("png-rgba"), forKey: "a")
        #expect(cache.statistics.memory.cost == 37 * 29 * 4)
    }
}
