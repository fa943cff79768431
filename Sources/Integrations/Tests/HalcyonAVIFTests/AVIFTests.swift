import Foundation
import Halcyon
import HalcyonAVIF
import Testing

@Suite("AVIF through libavif", .timeLimit(.minutes(20)))
struct AVIFTests {
    let decoder: ImageDecoder = {
        let codecs = ImageCodecs(copying: .standard)
        codecs.register(AVIFDecoder())
        return ImageDecoder(codecs: codecs)
    }()

    func data(_ name: String) throws -> Data {
        try Data(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
                "Fixtures/\(name)"))
    }

    @Test(
        "Decoded pixels are within one level of Pillow's, rotated as the file states",
        arguments: ["opaque", "alpha", "turned"])
    func decodedPixelsEqualPillows(name: String) throws {
        let picture = try decoder.decode(try data("\(name).avif"))
        let isTurned = name == "turned"
        #expect(picture.size == (isTurned ? PixelSize(width: 27, height: 39) : PixelSize(width: 39, height: 27)))
        #expect(picture.isOpaque == (name != "alpha"))
        #expect(picture.provenance?.format == .avif)
        let pam = try data("\(name).pam")
        let end = try #require(pam.range(of: Data("ENDHDR\n".utf8))).upperBound
        let expected = [UInt8](pam[end...])
        #expect(expected.count == picture.pixels.count)
        #expect(zip(picture.pixels, expected).allSatisfy { abs(Int($0) - Int($1)) <= 1 })
        let information = try decoder.information(of: try data("\(name).avif"))
        #expect(information.size == picture.size && information.format == .avif)
        #expect(information.declaresAlpha == (name == "alpha"))
    }

    @Test("An ICC profile is not applied, and the picture is flagged")
    func profileIsKeptAndFlagged() throws {
        let (picture, untagged) = (
            try decoder.decode(try data("profile.avif")), try decoder.decode(try data("opaque.avif"))
        )
        #expect(picture.provenance?.colors == .kept && untagged.provenance?.colors == .untagged)
        #expect(picture.pixels == untagged.pixels)
    }

    @Test("A truncated file, and one over the pixel limit, are refused")
    func truncatedOrOversizedFileIsRefused() throws {
        let file = try data("alpha.avif")
        for cut in stride(from: 16, to: file.count, by: 13) {
            #expect(throws: ImageError.self) { try decoder.decode(file.prefix(cut)) }
        }
        var small = decoder
        small.pixelLimit = 1_000
        #expect(throws: ImageError.tooManyPixels(PixelSize(width: 39, height: 27), limit: 1_000)) {
            try small.decode(file)
        }
        #expect(throws: ImageError.noDecoder(.avif)) { try ImageDecoder().decode(file) }
    }

    @Test("The original bytes of AVIF are stored; a processed picture is stored as PNG")
    func originalBytesServeUnalteredPicturesOnly() throws {
        let file = try data("opaque.avif")
        let serializer = BitmapSerializer(decoder: decoder)
        let picture = try #require(serializer.value(with: file))
        #expect(serializer.data(with: picture, original: file) == file)
        let tinted = TintImageProcessor(tint: .black).process(picture)
        #expect(ImageFormat(of: try #require(serializer.data(with: tinted, original: file))) == .png)
    }
}
