import Foundation
import Halcyon
import Testing

@testable import HalcyonImages

/// Files that violate the specification, with what Chromium's decoder (google/wuffs, `std/gif`) makes of them. Where
/// Pillow 13.0 agrees, the pixels were compared with its own, too.
@Suite("GIF files that violate the specification are shown as in browsers", .timeLimit(.minutes(5)))
struct GIFTests {
    let decoder = ImageDecoder()
    /// Sixteen greys: colour n is 16n.
    static let greys = (0..<16).map { [UInt8](repeating: UInt8($0 * 16), count: 3) }

    /// The red channel of each pixel, divided by 16; -1 where it is transparent.
    func greys(_ picture: Bitmap) -> [[Int]] {
        (0..<picture.height).map { y in
            (0..<picture.width).map { x in picture[x, y].alpha == 0 ? -1 : Int(picture[x, y].red) / 16 }
        }
    }

    func frames(_ data: Data, _ decoder: ImageDecoder = ImageDecoder()) throws -> [[[Int]]] {
        let animation = try #require(try decoder.animation(of: data, pool: AnimationFramePool(limit: 0)))
        return try animation.frames.indices.map { greys(try animation.frame(at: $0)) }
    }

    @Test("The first frame enlarges the screen, and later frames are clipped to it")
    func frameBeyondTheScreenIsShown() throws {
        // The frames of `frame-out-of-bounds.gif` of google/wuffs; its fourth policy is Chromium's.
        var file = GIFFile(width: 2, height: 2, colors: Self.greys)
        file.frame(x: 1, y: 0, width: 3, height: 1, [1, 2, 3])
        file.frame(x: 0, y: 1, width: 2, height: 2, [8, 9, 10, 11])
        file.frame(x: 0, y: 4, width: 1, height: 1, [14])
        file.frame(x: 2, y: 0, width: 4, height: 3, [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])
        let data = file.finished
        let first = [[-1, 1, 2, 3], [-1, -1, -1, -1]]
        #expect(greys(try decoder.decode(data)) == first)
        #expect(try decoder.information(of: data).size == PixelSize(width: 4, height: 2))
        let second = [[-1, 1, 2, 3], [8, 9, -1, -1]]
        #expect(try frames(data) == [first, second, second, [[-1, 1, 4, 5], [8, 9, 8, 9]]])
        // What is removed of a clipped frame is its visible part.
        var removed = GIFFile(width: 2, height: 1, colors: Self.greys)
        removed.frame(width: 2, height: 1, [1, 2])
        removed.control(disposal: 2)
        removed.frame(x: 1, width: 2, height: 1, [3, 4])
        removed.control(transparent: 0)
        removed.frame(width: 1, height: 1, [0])
        #expect(try frames(removed.finished) == [[[1, 2]], [[1, 3]], [[1, -1]]])
    }

    @Test("A screen of 0x0 takes the size of the first frame; without one the file is refused")
    func emptyScreenTakesTheFirstFrame() throws {
        var file = GIFFile(width: 0, height: 0, colors: Self.greys)
        file.frame(width: 2, height: 1, [5, 6])
        #expect(greys(try decoder.decode(file.finished)) == [[5, 6]])
        var empty = GIFFile(width: 0, height: 3, colors: Self.greys)
        empty.frame(width: 0, height: 2, [])
        #expect(throws: ImageError.damaged(.gif, reason: "its screen is 0x3")) { try decoder.decode(empty.finished) }
        // On a screen, a frame without pixels draws nothing.
        var nothing = GIFFile(width: 2, height: 1, colors: Self.greys)
        nothing.frame(width: 0, height: 1, [])
        nothing.frame(width: 1, height: 1, [7])
        #expect(greys(try decoder.decode(nothing.finished)) == [[-1, -1]])
        #expect(try frames(nothing.finished) == [[[-1, -1]], [[7, -1]]])
    }

    @Test("Colours that no table has are black")
    func missingColorsAreBlack() throws {
        var none = GIFFile(width: 2, height: 1)
        none.frame(width: 2, height: 1, [0, 9])
        #expect(greys(try decoder.decode(none.finished)) == [[0, 0]])
        // A table of two colours and the index of a ninth.
        var few = GIFFile(width: 3, height: 1, colors: [[16, 16, 16], [32, 32, 32]])
        few.control(transparent: 3)
        few.frame(width: 3, height: 1, [1, 8, 3])
        #expect(greys(try decoder.decode(few.finished)) == [[2, 0, -1]])
    }

    @Test("Zero bytes between blocks are skipped, and another byte ends the file as the trailer does")
    func bytesBetweenBlocksAreSkipped() throws {
        var file = GIFFile(width: 1, height: 1, colors: Self.greys)
        file.data += Data([0, 0])
        file.control()
        file.data += Data([0])
        file.frame(width: 1, height: 1, [3])
        file.data += Data([0, 0, 0])
        file.frame(width: 1, height: 1, [4])
        #expect(try frames(file.finished) == [[[3]], [[4]]])
        // Another file behind this one.
        let twice = file.data + file.finished
        #expect(try frames(twice) == [[[3]], [[4]]])
        #expect(greys(try decoder.decode(twice)) == [[3]])
        let first = Data(GIFFile(width: 1, height: 1).data + [0x47])
        #expect(throws: ImageError.damaged(.gif, reason: "a block of unknown kind 71")) { try decoder.decode(first) }
    }

    @Test("Repetitions are read from NETSCAPE2.0 and ANIMEXTS1.0", arguments: ["NETSCAPE2.0", "ANIMEXTS1.0"])
    func loopsAreRead(name: String) throws {
        for (count, plays) in [(0, nil), (1, 2), (65_535, 65_536)] as [(Int, Int?)] {
            var file = GIFFile(width: 1, height: 1, colors: Self.greys)
            file.loops(count, name: name)
            for index in 0..<2 { file.frame(width: 1, height: 1, [index]) }
            #expect(try #require(try decoder.animation(of: file.finished)).plays == plays)
        }
        var other = GIFFile(width: 1, height: 1, colors: Self.greys)
        other.loops(0, name: "SOMETHING.0")
        for index in 0..<2 { other.frame(width: 1, height: 1, [index]) }
        #expect(try #require(try decoder.animation(of: other.finished)).plays == 1)
    }

    @Test("The disposal 4 restores the previous picture, as 3 does", arguments: [3, 4] as [UInt8])
    func disposalFourRestores(disposal: UInt8) throws {
        var file = GIFFile(width: 2, height: 1, colors: Self.greys)
        file.frame(width: 2, height: 1, [1, 2])
        file.control(disposal: disposal)
        file.frame(width: 1, height: 1, [9])
        file.frame(x: 1, width: 1, height: 1, [5])
        #expect(try frames(file.finished) == [[[1, 2]], [[9, 2]], [[1, 5]]])
    }

    @Test("A later damaged frame is an error of its own and does not lose the earlier ones")
    func laterDamagedFrameKeepsTheEarlierOnes() throws {
        var file = GIFFile(width: 2, height: 1, colors: Self.greys)
        file.frame(width: 2, height: 1, [1, 2])
        file.frame(width: 2, height: 1, [3, 4])
        // The end code after a single pixel.
        file.frame(width: 2, height: 1, [5])
        file.frame(width: 2, height: 1, [6, 7])
        let data = file.finished
        #expect(greys(try decoder.decode(data)) == [[1, 2]])
        let animation = try #require(try decoder.animation(of: data))
        #expect(greys(try animation.frame(at: 1)) == [[3, 4]])
        #expect(throws: ImageError.damaged(.gif, reason: "its data ends before its picture does")) {
            try animation.frame(at: 2)
        }
        #expect(greys(try animation.frame(at: 1)) == [[3, 4]])
        // It covers the canvas, so that it does not depend on the damaged one.
        #expect(greys(try animation.frame(at: 3)) == [[6, 7]])
    }

    @Test("A file without its trailer is whole, unless that is turned off")
    func fileWithoutTrailerIsShown() throws {
        var file = GIFFile(width: 1, height: 1, colors: Self.greys)
        for index in 1...2 { file.frame(width: 1, height: 1, [index]) }
        let picture = try decoder.decode(file.data)
        #expect(greys(picture) == [[1]])
        #expect(picture.provenance?.isComplete == true)
        #expect(try frames(file.data) == [[[1]], [[2]]])
        var options = ImageDecodingOptions()
        options.showsUnterminated = false
        let strict = ImageDecoder(options: options)
        #expect(throws: ImageError.truncated(.gif)) { try strict.decode(file.data) }
        #expect(throws: ImageError.truncated(.gif)) { try strict.animation(of: file.data) }
        #expect(greys(try strict.decode(file.finished)) == [[1]])
        // Before the first frame there is nothing to show.
        let header = GIFFile(width: 1, height: 1, colors: Self.greys).data
        #expect(throws: ImageError.truncated(.gif)) { try decoder.decode(header) }
    }

    @Test("On request a truncated file shows what it has: first frame, earlier frames")
    func truncatedFileIsShownOnRequest() throws {
        var file = GIFFile(width: 4, height: 2, colors: Self.greys)
        file.frame(width: 4, height: 2, [1, 2, 3, 4, 5, 6, 7, 8])
        let first = file.data.count
        file.frame(width: 4, height: 2, [9, 9, 9, 9, 9, 9, 9, 9])
        var options = ImageDecodingOptions()
        options.showsTruncated = true
        let showing = ImageDecoder(options: options)
        // Inside the second frame, behind two bytes of codes: of 5 bits each, clear, 9, clear.
        let inSecond = file.data.prefix(first + 14)
        #expect(throws: ImageError.truncated(.gif)) { try decoder.decode(inSecond) }
        #expect(throws: ImageError.truncated(.gif)) { try decoder.animation(of: inSecond) }
        let whole = try showing.decode(inSecond)
        #expect(greys(whole) == [[1, 2, 3, 4], [5, 6, 7, 8]])
        #expect(whole.provenance?.isComplete == false)
        #expect(try frames(inSecond, showing)[0] == [[1, 2, 3, 4], [5, 6, 7, 8]])
        // Inside the first: 9 bytes of codes are 14, of which every second one is a pixel.
        let part = try showing.decode(file.data.prefix(first - 4))
        #expect(greys(part) == [[1, 2, 3, 4], [5, 6, 7, -1]])
        #expect(part.provenance?.isComplete == false)
        #expect(try showing.animation(of: file.data.prefix(first - 4)) == nil)
    }

    @Test("Codes may begin with 0 to 11 bits", arguments: [0, 1, 2, 5, 8, 9, 11])
    func codesOfManySizesAreRead(codeSize: Int) throws {
        let indices = codeSize == 0 ? [0, 0, 0] : [1, 0, 1]
        var file = GIFFile(width: 3, height: 1, colors: Self.greys)
        file.frame(width: 3, height: 1, indices, codeSize: codeSize)
        #expect(greys(try decoder.decode(file.finished)) == [indices])
    }

    @Test("Codes that begin with 12 bits are refused")
    func codesOfTwelveBitsAreRefused() throws {
        var file = GIFFile(width: 1, height: 1, colors: Self.greys)
        file.frame(width: 1, height: 1, [1], codeSize: 12)
        #expect(throws: ImageError.damaged(.gif, reason: "its codes begin with 12 bits")) {
            try decoder.decode(file.finished)
        }
    }

    @Test("Codes that begin with 1 bit grow as the table does")
    func codesOfOneBitGrow() throws {
        // Clear (2 in two bits), 0 in two, then 4, which is 0 twice, and 1 in three.
        var file = GIFFile(width: 4, height: 1, colors: Self.greys)
        file.frame(width: 4, height: 1, [], codeSize: 1, pixels: Data([2, 0b1_100_00_10, 0b00, 0]))
        #expect(greys(try decoder.decode(file.finished)) == [[0, 0, 0, 1]])
    }

    @Test("A hostile later frame costs no more than the pixel limit")
    func laterFrameBeyondTheLimitDrawsNothing() throws {
        var file = GIFFile(width: 2, height: 1, colors: Self.greys)
        file.frame(width: 2, height: 1, [1, 2])
        for _ in 0..<5_000 { file.frame(width: 65_535, height: 65_535, [9]) }
        file.frame(x: 1, width: 1, height: 1, [3])
        let animation = try #require(try decoder.animation(of: file.finished))
        #expect(animation.frames.count == 5_002)
        #expect(greys(try animation.frame(at: 5_000)) == [[1, 2]])
        #expect(greys(try animation.frame(at: 5_001)) == [[1, 3]])
        // The first frame is limited as the picture is.
        var first = GIFFile(width: 2, height: 1, colors: Self.greys)
        first.frame(width: 65_535, height: 65_535, [9])
        let size = PixelSize(width: 65_535, height: 65_535)
        #expect(throws: ImageError.tooManyPixels(size, limit: 100_000_000)) { try decoder.decode(first.finished) }
    }
}
