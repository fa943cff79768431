import Foundation
import Halcyon
import Testing

@testable import HalcyonImages
@testable import HalcyonPipeline

@Suite("Decoding gives the pixels that Pillow gives", .timeLimit(.minutes(20)))
struct DecodingTests {
    let decoder = ImageDecoder()

    @Test("Every kind of JPEG, PNG, WebP and GIF decodes to Pillow's pixels", arguments: try Fixture.encoded())
    func decodedPixelsEqualPillows(name: String) throws {
        guard name != "jpeg-scaled.jpg" else { return }
        let picture = try decoder.decode(try Fixture.data(name))
        let expected = try Fixture.expected(name)
        // The colours of transparent pixels are ignored, because Pillow keeps those of the palette in GIF.
        #expect(picture.difference(to: expected, visibly: name.hasPrefix("gif") || name == "webp-animated.webp") == 0)
        #expect(picture.isOpaque == Alpha.isOpaque(expected.pixels))
        #expect(picture.provenance?.isUnaltered == true)
        #expect(picture.provenance?.format.fileExtension == (name as NSString).pathExtension)
    }

    @Test("JPEG decoded at 1/2, 1/4 and 1/8 has the expected pixels", arguments: [2, 4, 8])
    func scaledJPEGEqualsPillows(denominator: Int) throws {
        let expected = try Fixture.expected("jpeg-scaled-\(denominator).pam")
        let wanted = PixelSize(width: 90 / denominator, height: 70 / denominator)
        let picture = try decoder.decode(try Fixture.data("jpeg-scaled.jpg"), covering: wanted)
        #expect(picture.difference(to: expected) == 0)
        #expect(picture.provenance?.isUnaltered == false)
    }

    @Test("Decoding for a size covers it, also if rotated, and is no larger than needed")
    func decodedSizeCoversWantedSize() throws {
        let jpeg = try Fixture.data("jpeg-scaled.jpg")
        for width in 1...90 {
            let eighths = (width * 8 + 89) / 90
            let picture = try decoder.decode(jpeg, covering: PixelSize(width: width, height: 1))
            #expect(picture.width == (90 * (picture.width * 8 / 90) + 7) / 8 || picture.width == 90)
            #expect(picture.width >= width && picture.width <= (90 * eighths + 7) / 8)
        }
        let all = try decoder.decode(jpeg, covering: PixelSize(width: 1_000, height: 1))
        #expect(all.size == PixelSize(width: 90, height: 70))
        // Stored 13x7, shown 7x13.
        let turned = try decoder.decode(
            try Fixture.data("jpeg-orientation-6.jpg"), covering: PixelSize(width: 4, height: 5))
        #expect(turned.size == PixelSize(width: 4, height: 7))
        let webp = try decoder.decode(try Fixture.data("webp-lossy.webp"), covering: PixelSize(width: 10, height: 10))
        #expect(webp.size == PixelSize(width: 13, height: 10))
        #expect(webp.provenance?.isUnaltered == false)
        #expect(throws: ImageError.invalidSize(PixelSize(width: 0, height: 3))) {
            try decoder.decode(jpeg, covering: PixelSize(width: 0, height: 3))
        }
    }

    @Test("A WebP scaled during decoding keeps its parts in place and its colours exact")
    func scaledWebPKeepsPlacesAndColors() throws {
        let data = try Fixture.data("webp-quarters.webp")
        let whole = try Fixture.expected("webp-quarters")
        let picture = try decoder.decode(data, covering: PixelSize(width: 16, height: 12))
        #expect(picture.size == PixelSize(width: 16, height: 12))
        // Four colours, the last half transparent; only pixels that touch two of them may differ.
        for y in 0..<12 where y != 5 && y != 6 {
            for x in 0..<16 where x != 7 && x != 8 { #expect(picture[x, y] == whole[x * 4 + 2, y * 4 + 2]) }
        }
        #expect(!picture.isOpaque)
    }

    @Test("The header alone gives format, shown size, orientation and alpha")
    func headerGivesFormatSizeAndAlpha() throws {
        let jpeg = try Fixture.data("jpeg-orientation-6.jpg")
        let expected = ImageInformation(
            format: .jpeg, size: PixelSize(width: 7, height: 13), orientation: .right, declaresAlpha: false)
        #expect(try decoder.information(of: jpeg) == expected)
        let png = try Fixture.data("png-keyed.png")
        #expect(try decoder.information(of: png).declaresAlpha)
        #expect(try decoder.information(of: png.prefix(40)).size == PixelSize(width: 37, height: 29))
        #expect(try decoder.information(of: try Fixture.data("webp-lossy-alpha.webp")).declaresAlpha)
        #expect(try !decoder.information(of: try Fixture.data("webp-lossy.webp")).declaresAlpha)
    }

    @Test("Formats without a built-in decoder are recognised by their start, and named in the error")
    func knownFormatsWithoutDecoderAreNamed() throws {
        func box(_ brands: String...) -> [UInt8] {
            [0, 0, 0, UInt8(12 + 4 * brands.count)] + "ftyp".utf8 + (brands.first ?? "").utf8 + [0, 0, 0, 0]
                + brands.dropFirst().joined().utf8
        }
        let files: [(bytes: [UInt8], format: ImageFormat)] = [
            (box("heic", "mif1"), .heic), (box("mif1", "heic"), .heic), (box("avif"), .avif),
            (box("mif1", "avif"), .avif),
            (box("isom", "iso2"), .mp4), (box("M4V "), .mp4), (box("qt  "), .mp4),
            ([0, 0, 1, 0, 2, 0, 16, 16], .ico), ([0xFF, 0x0A, 1], .jpegXL),
            ([0, 0, 0, 0x0C] + "JXL ".utf8 + [0x0D, 0x0A, 0x87, 0x0A], .jpegXL), (Array("<svg width='1'/>".utf8), .svg),
            (Array("\u{FEFF}<?xml version='1.0'?>\n<!-- a > b -->\n<!DOCTYPE svg>\n<svg/>".utf8), .svg),
        ]
        for (bytes, format) in files {
            #expect(ImageFormat(of: Data(bytes)) == format)
            #expect(throws: ImageError.noDecoder(format)) { try decoder.decode(Data(bytes)) }
        }
        #expect("\(ImageError.noDecoder(.heic))".hasPrefix("The file is HEIC, of which no decoder is registered"))
        let others: [[UInt8]] = [
            box("crx "), box(""), [0, 0, 1, 0, 0, 0], [0, 0, 1], Array("<html><svg/></html>".utf8), Array("<?xml".utf8),
            Array("<!-- <svg/>".utf8), [0xFF], [],
        ]
        for bytes in others {
            #expect(ImageFormat(of: Data(bytes)) == nil)
            #expect(throws: ImageError.unknownFormat) { try decoder.decode(Data(bytes)) }
        }
    }

    @Test("A slice of data is read from its own start index")
    func dataSliceIsReadFromItsStart() throws {
        let data = Data([1, 2, 3]) + (try Fixture.data("png-rgba.png"))
        #expect(try decoder.decode(data.dropFirst(3)) == (try Fixture.expected("png-rgba")))
        #expect(ImageFormat(of: data) == nil)
        #expect(ImageFormat(of: data.dropFirst(3)) == .png)
    }
}
