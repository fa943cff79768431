import Foundation
import Halcyon
import Testing

@testable import HalcyonImages
@testable import HalcyonPipeline

@Suite("Encoding", .timeLimit(.minutes(20)))
struct EncodingTests {
    let decoder = ImageDecoder()

    @Test("PNG and lossless WebP keep every pixel, with and without alpha", arguments: ["png-rgba", "png-rgb"])
    func losslessFormatsKeepEveryPixel(name: String) throws {
        let picture = try Fixture.expected(name)
        for encoder in [ImageEncoder.png(), .png(compression: 0), .webpLossless] {
            let data = try encoder.encode(picture)
            #expect(ImageFormat(of: data) == encoder.format)
            let back = try decoder.decode(data)
            #expect(back == picture)
            #expect(back.isOpaque == picture.isOpaque)
            #expect(try decoder.information(of: data).declaresAlpha == !picture.isOpaque)
        }
    }

    @Test("JPEG and WebP have a smaller error at a higher quality")
    func higherQualityHasSmallerError() throws {
        let picture = try Fixture.expected("jpeg-scaled-2")
        func error(_ encoder: ImageEncoder) throws -> Double {
            let back = try decoder.decode(try encoder.encode(picture))
            #expect(back.size == picture.size)
            var squares = 0
            for (left, right) in zip(back.pixels, picture.pixels) {
                let difference = Int(left) - Int(right)
                squares += difference * difference
            }
            return Double(squares) / Double(picture.pixels.count)
        }
        #expect(try error(.jpeg(quality: 98)) < error(.jpeg(quality: 70)))
        #expect(try error(.webp(quality: 98)) < error(.webp(quality: 50)))
        #expect(try error(.jpeg(quality: 98)) < 10)
        #expect(try error(.webp(quality: 98)) < 500)
    }

    @Test("A JPEG of one colour keeps that colour")
    func plainJPEGKeepsItsColor() throws {
        let picture = try #require(Bitmap(width: 20, height: 10, color: PixelColor(red: 90, green: 90, blue: 90)))
        #expect(try decoder.decode(try ImageEncoder.jpeg(quality: 100).encode(picture)) == picture)
    }

    @Test("A JPEG blends transparent pixels with its background")
    func jpegBlendsTransparencyWithBackground() throws {
        let picture = try #require(
            Bitmap(width: 16, height: 16, color: PixelColor(red: 0, green: 0, blue: 0, alpha: 51)))
        let white = try decoder.decode(try ImageEncoder.jpeg(quality: 100).encode(picture))
        #expect(white[8, 8] == PixelColor(red: 204, green: 204, blue: 204))
        let black = try decoder.decode(try ImageEncoder.jpeg(quality: 100, background: .black).encode(picture))
        #expect(black[8, 8] == .black)
    }

    @Test("Lossy WebP keeps alpha exactly")
    func lossyWebPKeepsAlpha() throws {
        let picture = try Fixture.expected("png-rgba")
        let back = try decoder.decode(try ImageEncoder.webp(quality: 40).encode(picture))
        for at in stride(from: 3, to: picture.pixels.count, by: 4) { #expect(back.pixels[at] == picture.pixels[at]) }
    }

    @Test("Parameters out of range and sides over the format's limit are refused")
    func invalidParametersAndSizesAreRefused() throws {
        let picture = try #require(Bitmap(width: 16_384, height: 1, color: .white))
        #expect(throws: ImageError.cannotEncode(.webp, reason: "it has 16384x1 pixels, and a side at most 16383")) {
            try ImageEncoder.webpLossless.encode(picture)
        }
        for encoder in [
            ImageEncoder.jpeg(quality: 0), .jpeg(quality: 101), .jpeg(background: .clear), .png(compression: 10),
            .webp(quality: -1), .webp(quality: .nan),
        ] {
            let error = #expect(throws: ImageError.self) { try encoder.encode(picture) }
            guard case .invalidParameter = error else {
                Issue.record("\(encoder): \(String(describing: error))")
                continue
            }
        }
    }

    @Test("A bitmap is created only with four bytes for each pixel")
    func bitmapNeedsFourBytesPerPixel() throws {
        #expect(Bitmap(width: 2, height: 2, pixels: [UInt8](repeating: 0, count: 15)) == nil)
        #expect(Bitmap(width: 0, height: 2, pixels: []) == nil)
        #expect(Bitmap(width: Int.max, height: 2, pixels: []) == nil)
        #expect(Bitmap(width: -1, height: -1, color: .white) == nil)
        let picture = try #require(Bitmap(width: 2, height: 1, pixels: [1, 2, 3, 255, 4, 5, 6, 254]))
        #expect(!picture.isOpaque)
        #expect(picture[1, 0] == PixelColor(red: 4, green: 5, blue: 6, alpha: 254))
        #expect(picture.cacheCost == 8)
        #expect(PixelColor(red: 255, green: 1, blue: 16, alpha: 0).description == "#ff011000")
    }
}
