import Foundation
import Halcyon
import Synchronization
import Testing

@testable import HalcyonImages
@testable import HalcyonPipeline
@testable import HalcyonPortableCodecs

@Suite("Codecs: registry, colour profiles, incomplete JPEG, pixel limit", .timeLimit(.minutes(20)))
struct CodecTests {
    let decoder = ImageDecoder()

    @Test("A registered codec serves its format and replaces a built-in one")
    func registeredCodecServesItsFormat() throws {
        let codecs = ImageCodecs(copying: .standard)
        let decoder = ImageDecoder(codecs: codecs)
        let file = Data("mine 3 2".utf8)
        #expect(throws: ImageError.unknownFormat) { try decoder.decode(file) }
        codecs.register(PlainCodec() as any ImageDecoding)
        codecs.register(PlainCodec() as any ImageEncoding)
        let picture = try decoder.decode(file)
        #expect(picture.size == PixelSize(width: 3, height: 2))
        #expect(picture.provenance == Bitmap.Provenance(format: PlainCodec.mine, isUnaltered: true))
        #expect(try decoder.information(of: file).format == PlainCodec.mine)
        let serializer = BitmapSerializer(decoder: decoder)
        #expect(serializer.data(with: picture, original: file) == file)
        let tinted = TintImageProcessor(tint: .clear).process(picture)
        #expect(serializer.data(with: tinted, original: file) == Data("mine 3 2".utf8))
        // The standard registry does not know this format, and an empty registry knows none.
        #expect(throws: ImageError.unknownFormat) { try ImageDecoder().decode(file) }
        let png = try Fixture.data("png-rgb.png")
        #expect(throws: ImageError.noDecoder(.png)) { try ImageDecoder(codecs: ImageCodecs()).decode(png) }
        codecs.register(PlainCodec(takesPNG: true) as any ImageDecoding)
        #expect(try decoder.decode(png).size == PixelSize(width: 1, height: 1))
        #expect(decoder.identifier != ImageDecoder().identifier)
    }

    @Test("Concurrent registrations and look-ups lose no codec")
    func concurrentRegistrationsAreAllKept() async {
        let codecs = ImageCodecs(copying: .standard)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask { codecs.register(PlainCodec() as any ImageDecoding) }
                group.addTask { _ = codecs.decoder(of: Data("mine".utf8)) }
            }
        }
        #expect(codecs.decoders.count == 54)
    }

    @Test("Matrix and grey profiles become sRGB within one level of lcms; others are kept and flagged")
    func matrixProfilesBecomeSRGB() throws {
        let cases: [(String, Bitmap.Provenance.Colors)] = [
            ("p3.png", .converted), ("adobe.png", .converted), ("prophoto.png", .converted), ("srgb.png", .sRGB),
            ("p3-webp.webp", .converted), ("adobe-jpeg.jpg", .converted), ("grey.png", .converted),
            ("tables.png", .kept),
        ]
        for (name, colors) in cases {
            let data = try Fixture.data("profiles/\(name)")
            let picture = try decoder.decode(data)
            let expected = try Fixture.expected("profiles/\(name)")
            let difference = try #require(picture.difference(to: expected))
            #expect(difference <= 1, "\(name) is off by \(difference)")
            #expect(picture.provenance?.colors == colors)
            var options = ImageDecodingOptions()
            options.colors = .kept
            let kept = try ImageDecoder(options: options).decode(data)
            #expect(kept.provenance?.colors == .kept)
            if colors == .converted { #expect(try #require(kept.difference(to: expected)) > 8, "\(name)") }
        }
        #expect(try decoder.decode(try Fixture.data("png-rgb.png")).provenance?.colors == .untagged)
    }

    @Test("A truncated or changed profile does not crash")
    func damagedProfileDoesNotCrash() throws {
        let png = try Fixture.data("profiles/prophoto.png")
        let bytes = try png.withUnsafeBytes { try PNGImage(ByteView($0)).profile() }
        let profile = try #require(bytes)
        #expect(ColorProfile(profile) != nil)
        for cut in stride(from: 0, to: profile.count, by: 7) {
            _ = ColorProfile(Array(profile[..<cut]))?.conversion(of: .rgb)
        }
        for at in 0..<min(profile.count, 400) {
            var changed = profile
            changed[at] ^= 0xFF
            _ = ColorProfile(changed)?.conversion(of: .rgb)
        }
    }

    @Test(
        "A JPEG without its end marker is shown; one that lacks data is shown only on request",
        arguments: [
            "jpeg-420.jpg", "jpeg-progressive.jpg", "jpeg-restarts.jpg", "jpeg-cmyk.jpg", "jpeg-scaled.jpg",
        ])
    func unterminatedJPEGIsShown(name: String) throws {
        let data = try Fixture.data(name)
        let whole = try decoder.decode(data)
        for cut in 1...2 {
            let picture = try decoder.decode(data.dropLast(cut))
            #expect(picture == whole)
            #expect(picture.provenance?.isComplete == true)
        }
        var options = ImageDecodingOptions()
        options.showsUnterminated = false
        let strict = ImageDecoder(options: options)
        #expect(throws: ImageError.truncated(.jpeg)) { try strict.decode(data.dropLast(2)) }
        #expect(try strict.decode(data) == whole)
        options.showsTruncated = true
        let showing = ImageDecoder(options: options)
        let part = try showing.decode(data.prefix(data.count * 3 / 4))
        #expect(part.size == whole.size && part.isOpaque)
        #expect(part.provenance?.isComplete == false)
        // The part that was read is the same.
        if name != "jpeg-progressive.jpg" { #expect(part[0, 0] == whole[0, 0]) }
        #expect(part != whole)
        #expect(throws: ImageError.truncated(.jpeg)) { try decoder.decode(data.prefix(data.count * 3 / 4)) }
    }

    @Test("The pixel limit counts allocated pixels: a large baseline JPEG can be scaled, a progressive one cannot")
    func pixelLimitCountsAllocatedPixels() throws {
        let jpeg = try Fixture.data("jpeg-scaled.jpg")
        let small = ImageDecoder(pixelLimit: 12 * 9)
        let thumbnail = PixelSize(width: 12, height: 9)
        #expect(throws: ImageError.tooManyPixels(PixelSize(width: 90, height: 70), limit: 108)) {
            try small.decode(jpeg)
        }
        #expect(try small.decode(jpeg, covering: PixelSize(width: 10, height: 8)).size == thumbnail)
        #expect(
            try DownsamplingImageProcessor(size: PixelSize(width: 9, height: 9)).process(.data(jpeg), decoder: small)
                .width == 9)
        // A progressive JPEG needs all its coefficients in memory at any scale.
        let progressive = try Fixture.data("jpeg-progressive.jpg")
        #expect(throws: ImageError.self) {
            try ImageDecoder(pixelLimit: 400).decode(progressive, covering: PixelSize(width: 4, height: 3))
        }
        let large = Self.grey(width: 12_000, height: 9_000)
        #expect(throws: ImageError.tooManyPixels(PixelSize(width: 12_000, height: 9_000), limit: 100_000_000)) {
            try decoder.decode(large)
        }
        let eighth = try decoder.decode(large, covering: PixelSize(width: 200, height: 150))
        #expect(eighth.size == PixelSize(width: 1_500, height: 1_125))
        #expect(eighth[1_499, 1_124] == PixelColor(red: 128, green: 128, blue: 128))
    }

    /// A grey JPEG whose blocks are two bits each: no difference to the block before, no further coefficient.
    private static func grey(width: Int, height: Int) -> Data {
        func table(_ kind: UInt8) -> [UInt8] { [0xFF, 0xC4, 0, 20, kind, 1] + [UInt8](repeating: 0, count: 16) }
        func bytes(_ value: Int) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }
        let blocks = (width + 7) / 8 * ((height + 7) / 8)
        let quantization: [UInt8] = [0xFF, 0xDB, 0, 67, 0] + [UInt8](repeating: 1, count: 64)
        let frame: [UInt8] = [0xFF, 0xC0, 0, 11, 8] + bytes(height) + bytes(width) + [1, 1, 0x11, 0]
        let scan: [UInt8] = [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0]
        return Data([0xFF, 0xD8] + quantization + frame + table(0) + table(0x10) + scan) + Data(count: (blocks + 3) / 4)
            + Data([0xFF, 0xD9])
    }
}

/// Reads and writes `mine WIDTH HEIGHT`, white pictures; or takes PNG files for pictures of one pixel.
private struct PlainCodec: ImageDecoding, ImageEncoding {
    static let mine = ImageFormat(name: "Mine", fileExtension: "mine", holdsAlpha: false)
    var takesPNG = false

    var format: ImageFormat { Self.mine }
    var isLossless: Bool { false }

    func format(of data: Data) -> ImageFormat? {
        takesPNG ? ImageFormat(of: data) == .png ? .png : nil : data.starts(with: Data("mine".utf8)) ? Self.mine : nil
    }

    func information(of data: Data) throws -> ImageInformation {
        let words = String(decoding: data, as: UTF8.self).split(separator: " ").compactMap { Int($0) }
        let size = takesPNG ? PixelSize(width: 1, height: 1) : PixelSize(width: words[0], height: words[1])
        return ImageInformation(format: takesPNG ? .png : Self.mine, size: size, orientation: .up, declaresAlpha: false)
    }

    func decode(_ data: Data, options: ImageDecodingOptions) throws -> Bitmap {
        let size = try information(of: data).size
        guard let picture = Bitmap(width: size.width, height: size.height, color: .white) else {
            throw ImageError.outOfMemory
        }
        return picture
    }

    func canEncode(_ picture: Bitmap) -> Bool { true }
    func encode(_ picture: Bitmap) throws -> Data { Data("mine \(picture.width) \(picture.height)".utf8) }
}
