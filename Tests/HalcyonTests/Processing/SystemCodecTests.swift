import Foundation
import Halcyon
import Testing

@testable import HalcyonImageIO
@testable import HalcyonImages
@testable import HalcyonPortableCodecs

/// The computations around ImageIO, which are compiled on every platform. The calls of ImageIO are type-checked only.
@Suite("Computations around ImageIO", .timeLimit(.minutes(20)))
struct SystemCodecTests {
    /// The keys of a format that does not exist.
    let keys = AnimationProperties(
        dictionary: "{X}", loopCount: "loops", unclampedDelay: "stored", delay: "raised", frameInfo: "frames")

    static func size(_ width: Int, _ height: Int) -> PixelSize { PixelSize(width: width, height: height) }

    @Test(
        "A thumbnail has the smallest longest side with which both sides cover what is wanted",
        arguments: [
            (size(4_000, 3_000), size(400, 300), 400, size(400, 300)),
            // The width decides, then the height.
            (size(4_000, 3_000), size(400, 100), 400, size(400, 300)),
            (size(4_000, 3_000), size(100, 300), 400, size(400, 300)),
            (size(3_000, 4_000), size(300, 100), 400, size(300, 400)),
            // 101 * 4 / 3 is 134.67.
            (size(4_000, 3_000), size(100, 101), 135, size(135, 102)),
            // A panorama, 1 pixel high at least.
            (size(10_000, 100), size(50, 1), 100, size(100, 1)),
            (size(10_000, 100), size(1, 1), 100, size(100, 1)),
            (size(7, 5), size(6, 4), 6, size(6, 5)),
            (size(2, 2), size(1, 1), 1, size(1, 1)),
            // A size without pixels counts as 1.
            (size(40, 30), size(0, -3), 2, size(2, 2)),
        ])
    func thumbnailCoversWantedSize(picture: PixelSize, wanted: PixelSize, side: Int, expected: PixelSize) throws {
        let found = try #require(ThumbnailSize(of: picture, covering: wanted))
        #expect(found.longestSide == side)
        #expect(found.size == expected)
    }

    @Test(
        "A picture is not scaled if no smaller one covers what is wanted",
        arguments: [
            (size(40, 30), size(40, 1)), (size(40, 30), size(1, 30)), (size(40, 30), size(41, 31)),
            (size(40, 30), size(.max, .max)), (size(1, 1), size(1, 1)),
            (size(3, 3), size(3, 2)),
        ])
    func pictureIsNeverEnlarged(picture: PixelSize, wanted: PixelSize) {
        #expect(ThumbnailSize(of: picture, covering: wanted) == nil)
    }

    @Test("For every small picture, the thumbnail is the smallest that covers what is wanted if ImageIO rounds down")
    func thumbnailIsSmallest() {
        var faults = 0
        func covers(_ picture: PixelSize, _ side: Int, _ wanted: PixelSize) -> Bool {
            let longest = max(picture.width, picture.height)
            return picture.width * side / longest >= wanted.width && picture.height * side / longest >= wanted.height
        }
        for width in 1...12 {
            for height in 1...12 {
                for x in 1...12 {
                    for y in 1...12 {
                        let (picture, wanted) = (Self.size(width, height), Self.size(x, y))
                        let sides = 1..<max(width, height)
                        let expected = sides.first { covers(picture, $0, wanted) }
                        if ThumbnailSize(of: picture, covering: wanted)?.longestSide != expected { faults += 1 }
                    }
                }
            }
        }
        #expect(faults == 0)
    }

    @Test("The memory of a scaled JPEG is that of the thumbnail, and of other formats that of the stored picture")
    func onlyJPEGScalesWhileDecoding() throws {
        let scaled = try #require(ThumbnailSize(of: Self.size(4_000, 3_000), covering: Self.size(400, 300)))
        #expect(scaled.allocatedPixels(.jpeg, stored: Self.size(4_000, 3_000)) == 120_000)
        #expect(scaled.allocatedPixels(.heic, stored: Self.size(3_000, 4_000)) == 12_000_000)
    }

    @Test("A frame lasts as long as the file states, and as ImageIO's raised delay if it states nothing")
    func durationsAreRead() {
        func duration(_ values: [String: Any]) -> Duration? {
            let listed = keys.duration(ofFrame: 1, by: [:], in: ["{X}": ["frames": [[:], values]]])
            let own = keys.duration(ofFrame: 1, by: ["{X}": values, "other": 1], in: [:])
            #expect(own == listed)
            return own
        }
        #expect(duration(["stored": 0.04, "raised": 0.1]) == .milliseconds(40))
        #expect(duration(["stored": 0.0, "raised": 0.1]) == .zero)
        #expect(duration(["raised": 0.1]) == .milliseconds(100))
        #expect(duration(["stored": NSNumber(value: 0.07)]) == .milliseconds(70))
        #expect(duration(["stored": 1.0 / 3]) == .microseconds(333_333))
        #expect(duration(["stored": -1.0]) == .zero)
        #expect(duration(["stored": 1e300]) == .seconds(4_294_967_296))
        #expect(duration(["stored": Double.nan]) == nil)
        #expect(duration(["stored": "0.1"]) == nil)
        #expect(duration([:]) == nil)
    }

    @Test("The properties of a frame precede the list of the file; a picture in neither has no duration")
    func durationOfFramePrecedesList() {
        let file = ["{X}": ["frames": [["stored": 0.1], ["stored": 0.2]]]]
        #expect(keys.duration(ofFrame: 1, by: [:], in: file) == .milliseconds(200))
        #expect(keys.duration(ofFrame: 1, by: ["{X}": ["stored": 0.3]], in: file) == .milliseconds(300))
        #expect(keys.duration(ofFrame: 1, by: ["{X}": ["loops": 1]], in: file) == .milliseconds(200))
        #expect(keys.duration(ofFrame: 2, by: [:], in: file) == nil)
        #expect(keys.duration(ofFrame: 0, by: ["{Y}": ["stored": 0.1]], in: [:]) == nil)
    }

    @Test("A file states how often it is shown; 0 is endless, and without a number it is shown once")
    func loopCountsAreRead() {
        func plays(_ values: [String: Any]) -> Int? { keys.plays(of: ["{X}": values]) }
        #expect(plays(["loops": 0]) == nil)
        #expect(plays(["loops": 1]) == 1)
        #expect(plays(["loops": 7]) == 7)
        #expect(plays(["loops": NSNumber(value: 3)]) == 3)
        #expect(plays(["loops": -1]) == 1)
        #expect(plays([:]) == 1)
        #expect(keys.plays(of: [:]) == 1)
    }

    @Test("Formats have ImageIO's identifiers, and are read where the system lists them")
    func identifiersNameFormats() {
        let identifiers: [(ImageFormat, String?)] = [
            (.jpeg, "public.jpeg"), (.png, "public.png"), (.webp, "org.webmproject.webp"), (.gif, "com.compuserve.gif"),
            (.heic, "public.heic"), (.avif, "public.avif"), (.ico, "com.microsoft.ico"), (.jpegXL, "public.jpeg-xl"),
            (.svg, nil), (.mp4, nil),
        ]
        for (format, identifier) in identifiers { #expect(TypeIdentifiers.identifier(of: format) == identifier) }
        let listed = ["public.tiff", "public.jpeg", "public.heics", "public.avif"]
        #expect(TypeIdentifiers.formats(in: listed) == [.jpeg, .avif])
        #expect(TypeIdentifiers.formats(in: []) == [])
    }

    @Test("The treatment of colours is named as by the decoders of Linux", arguments: ["srgb", "p3", "grey", "tables"])
    func colorTreatmentIsNamed(name: String) throws {
        let file = try Fixture.data("profiles/\(name).png")
        let bytes = try file.withUnsafeBytes { try PNGImage(ByteView($0)).profile() }
        let profile = try #require(bytes)
        typealias Colors = Bitmap.Provenance.Colors
        #expect(
            Colors.treatment(hasProfile: true, profile: profile, isConverted: true)
                == (name == "srgb" ? .sRGB : .converted))
        #expect(Colors.treatment(hasProfile: true, profile: profile, isConverted: false) == .kept)
        #expect(Colors.treatment(hasProfile: true, profile: nil, isConverted: true) == .converted)
        #expect(Colors.treatment(hasProfile: false, profile: profile, isConverted: true) == .untagged)
    }
}
