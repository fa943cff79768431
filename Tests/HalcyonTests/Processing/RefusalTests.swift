import Foundation
import Halcyon
import Testing

@testable import HalcyonImages
@testable import HalcyonPipeline

@Suite("Decoding refuses damaged, truncated and oversized files", .timeLimit(.minutes(20)))
struct RefusalTests {
    let decoder = ImageDecoder()
    let strict: ImageDecoder = {
        var options = ImageDecodingOptions()
        options.showsUnterminated = false
        return ImageDecoder(options: options)
    }()

    @Test("A file truncated anywhere is reported as truncated", arguments: try Fixture.encoded())
    func truncatedFileIsRecognized(name: String) throws {
        let data = try Fixture.data(name)
        let whole = try #require(ImageFormat(of: data))
        let cuts = Set(stride(from: 12, to: data.count, by: max(1, data.count / 60))).union(
            data.count - 12..<data.count)
        for cut in cuts.sorted() {
            // Without its last two bytes a JPEG lacks nothing but the end marker. So does a GIF behind any of its
            // frames.
            let decoder = whole == .jpeg && cut >= data.count - 2 || whole == .gif ? strict : decoder
            #expect(throws: ImageError.truncated(whole), "\(name) of \(data.count) bytes, cut at \(cut)") {
                try decoder.decode(data.prefix(cut))
            }
        }
        for cut in 0..<3 { #expect(throws: ImageError.unknownFormat) { try decoder.decode(data.prefix(cut)) } }
    }

    @Test("A truncated file is refused when it is decoded at a smaller size, too")
    func truncatedFileIsRefusedWhenScaled() throws {
        for name in ["jpeg-scaled.jpg", "jpeg-progressive.jpg", "webp-lossy.webp"] {
            let data = try Fixture.data(name)
            for cut in stride(from: data.count - 1, to: 40, by: -37) {
                #expect(throws: ImageError.self) {
                    try strict.decode(data.prefix(cut), covering: PixelSize(width: 5, height: 5))
                }
            }
        }
    }

    @Test("A JPEG without its middle is reported as damaged, although its end is present")
    func jpegWithoutItsMiddleIsDamaged() throws {
        var data = try Fixture.data("jpeg-scaled.jpg")
        data.removeSubrange(data.count - 1_500..<data.count - 300)
        let error = #expect(throws: ImageError.self) { try decoder.decode(data) }
        guard case .damaged(.jpeg, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("Bytes after the end and between segments are skipped")
    func extraBytesAreSkipped() throws {
        for name in ["jpeg-420.jpg", "png-rgba.png", "webp-lossless.webp", "gif-plain.gif"] {
            let picture = try decoder.decode(try Fixture.data(name) + Data(repeating: 7, count: 99))
            #expect(picture.difference(to: try Fixture.expected(name)) == 0)
        }
        var data = try Fixture.data("jpeg-420.jpg")
        // After the first segment.
        data.insert(contentsOf: [0x11, 0x22], at: 20)
        #expect(try decoder.decode(data).difference(to: try Fixture.expected("jpeg-420")) == 0)
    }

    @Test("The pixel limit is checked on the header, before memory is allocated")
    func pixelLimitIsCheckedBeforeAllocation() throws {
        var png = try Fixture.data("png-rgba.png")
        png.replaceSubrange(16..<24, with: [0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF])
        let largest = PixelSize(width: Int(Int32.max), height: Int(Int32.max))
        #expect(throws: ImageError.tooManyPixels(largest, limit: 100_000_000)) { try decoder.decode(png) }

        #expect(throws: ImageError.tooManyPixels(largest, limit: 1 << 30)) {
            try ImageDecoder(pixelLimit: .max).decode(png)
        }

        var jpeg = try Fixture.data("jpeg-420.jpg")
        let frame = try #require(jpeg.range(of: Data([0xFF, 0xC0]))).lowerBound
        jpeg.replaceSubrange(frame + 5..<frame + 9, with: [0xFF, 0xDC, 0xFF, 0xDC])
        let wide = PixelSize(width: 65_500, height: 65_500)
        #expect(throws: ImageError.tooManyPixels(wide, limit: 100_000_000)) { try decoder.decode(jpeg) }
        // An eighth would be within the limit of memory, but not within that of time.
        #expect(throws: ImageError.tooManyPixels(wide, limit: 1 << 28)) {
            try decoder.decode(jpeg, covering: PixelSize(width: 1, height: 1))
        }

        var gif = try Fixture.data("gif-plain.gif")
        gif.replaceSubrange(6..<10, with: [0xFF, 0xFF, 0xFF, 0xFF])
        let screen = PixelSize(width: 65_535, height: 65_535)
        #expect(throws: ImageError.tooManyPixels(screen, limit: 100_000_000)) { try decoder.decode(gif) }

        var webp = try Fixture.data("webp-turned.webp")
        webp.replaceSubrange(24..<30, with: [0xFF, 0xFF, 0, 0xFF, 0xFF, 0])
        let canvas = PixelSize(width: 65_536, height: 65_536)
        #expect(throws: ImageError.tooManyPixels(canvas, limit: 100_000_000)) { try decoder.decode(webp) }
    }

    @Test("A JPEG of more than a hundred scans is refused")
    func jpegWithTooManyScansIsRefused() throws {
        let data = try Fixture.data("jpeg-progressive.jpg")
        var starts: [Int] = []
        var at = data.startIndex
        while let found = data.range(of: Data([0xFF, 0xDA]), in: at..<data.endIndex) {
            starts.append(found.lowerBound)
            at = found.upperBound
        }
        // The last scan again and again: it refines what it refined before.
        let last = data[(try #require(starts.last))..<data.endIndex - 2]
        func repeated(_ times: Int) -> Data {
            data.dropLast(2) + Data(repeatElement(last, count: times).joined()) + [0xFF, 0xD9]
        }
        let refusal = ImageError.damaged(.jpeg, reason: "it has more than 100 scans")
        #expect(throws: refusal) { try decoder.decode(repeated(101 - starts.count)) }
        let atLimit = #expect(throws: ImageError.self) { try decoder.decode(repeated(100 - starts.count)) }
        // libjpeg reports that the scans do not refine the expected bits.
        #expect(atLimit != refusal)
    }

    @Test("As many pixels as the limit are decoded; one more is refused", arguments: try Fixture.encoded())
    func pixelLimitIsInclusive(name: String) throws {
        let data = try Fixture.data(name)
        let count = try decoder.information(of: data).size.pixelCount
        #expect(try ImageDecoder(pixelLimit: count).decode(data).size.pixelCount == count)
        #expect(throws: ImageError.self) { try ImageDecoder(pixelLimit: count - 1).decode(data) }
    }

    @Test("Files found by fuzzing are refused", arguments: try Fixture.failures())
    func filesFoundByFuzzingAreRefused(name: String) throws {
        let data = try Fixture.data("failures/\(name)")
        #expect(throws: ImageError.self) { try decoder.decode(data) }
        #expect(throws: ImageError.self) { try decoder.decode(data, covering: PixelSize(width: 3, height: 3)) }
    }

    @Test("An error of libjpeg after a warning is reported as an error")
    func libjpegErrorAfterWarningIsReported() throws {
        var data = try Fixture.data("jpeg-progressive.jpg")
        // Extra bytes after the first segment are skipped with a warning; a second SOI before the last scan is an
        // error.
        let last = try #require(data.range(of: Data([0xFF, 0xDA]), options: .backwards)).lowerBound
        data.insert(contentsOf: [0xFF, 0xD8], at: last)
        data.insert(contentsOf: [0x11, 0x22], at: 20)
        let error = ImageError.damaged(.jpeg, reason: "Invalid JPEG file structure: two SOI markers")
        #expect(throws: error) { try decoder.decode(data) }
    }

    @Test("Random byte changes give a picture of the header's size, or an error", arguments: try Fixture.encoded())
    func randomChangesGivePictureOrError(name: String) throws {
        let data = try Fixture.data(name)
        let small = ImageDecoder(pixelLimit: 100_000)
        var state: UInt64 = 88_172_645_463_325_252
        for _ in 0..<60 {
            var changed = data
            for _ in 0..<3 {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                changed[Int(state % UInt64(data.count))] = UInt8(truncatingIfNeeded: state >> 32)
            }
            do {
                let picture = try small.decode(changed)
                #expect(picture.size == (try small.information(of: changed).size))
            } catch let error as ImageError {
                // A sentence for people: it names no function of a library.
                #expect(!"\(error)".contains("()") && !"\(error)".contains("_"), "\(error)")
            }
        }
    }

    @Test("Each error is one sentence that states what would be accepted")
    func errorsStateWhatIsAccepted() {
        #expect(
            "\(ImageError.unknownFormat)"
                == "The bytes are no image of a registered format; JPEG, PNG, WebP and GIF are built in.")
        #expect(
            "\(ImageError.tooManyPixels(PixelSize(width: 20, height: 30), limit: 500))"
                == "The picture has 20x30 pixels; at most 500 may be decoded at this scale.")
        #expect(
            "\(ImageError.truncated(.webp))"
                == "The WebP file ends before its picture does; it may not have been loaded whole.")
    }
}
