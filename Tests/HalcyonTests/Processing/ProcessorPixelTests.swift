import Foundation
import Halcyon
import Testing

@testable import HalcyonImages
@testable import HalcyonPipeline

/// A processor, its source file, the fixture with the expected pixels, and the tolerated difference of a channel.
struct PixelCase: CustomTestStringConvertible, Sendable {
    var expected: String
    var source: String
    var tolerance: Int
    var processor: any ImageProcessor

    init(_ expected: String, of source: String, within tolerance: Int, _ processor: any ImageProcessor) {
        (self.expected, self.source, self.tolerance, self.processor) = (expected, source, tolerance, processor)
    }

    var testDescription: String { "\(expected): \(processor.identifier)" }

    static let crimson = PixelColor(red: 240, green: 20, blue: 100)
    static let green = PixelColor(red: 10, green: 200, blue: 90)
    static let radii = CornerRadii(
        topLeft: .pixels(9), topRight: .pixels(4.5), bottomRight: .pixels(14), bottomLeft: .pixels(0))

    /// Scaling against Pillow, which rounds between the axes, and against the definition where there is alpha.
    static var scaling: [PixelCase] {
        var cases: [PixelCase] = []
        for filter in ResamplingFilter.allCases {
            for (way, width, height) in [("down", 17, 11), ("up", 50, 41)] {
                let size = PixelSize(width: width, height: height)
                cases.append(
                    PixelCase(
                        "resize-\(filter.rawValue)-\(way)", of: "png-rgb.png", within: 1,
                        ResizingImageProcessor(referenceSize: size, filter: filter)))
            }
        }
        let size = PixelSize(width: 20, height: 40)
        return cases + [
            PixelCase("resize-alpha", of: "png-rgba.png", within: 1, ResizingImageProcessor(referenceSize: size))
        ]
    }

    static var blurring: [PixelCase] {
        [
            PixelCase("blur-8", of: "png-rgb.png", within: 1, BlurImageProcessor(blurRadius: 0.8)),
            PixelCase("blur-25", of: "png-rgb.png", within: 1, BlurImageProcessor(blurRadius: 2.5)),
            PixelCase("blur-90", of: "png-rgb.png", within: 1, BlurImageProcessor(blurRadius: 9)),
            PixelCase("blur-exact", of: "png-rgb.png", within: 2, BlurImageProcessor(blurRadius: 2.5)),
            PixelCase("blur-alpha", of: "png-rgba.png", within: 1, BlurImageProcessor(blurRadius: 2.5)),
        ]
    }

    static var shapes: [PixelCase] {
        let translucent = PixelColor(red: 10, green: 200, blue: 90, alpha: 160)
        let red = PixelColor(red: 250, green: 30, blue: 60)
        return [
            PixelCase("round", of: "png-rgb.png", within: 2, RoundCornerImageProcessor(radii: radii)),
            PixelCase("round-alpha", of: "png-rgba.png", within: 2, RoundCornerImageProcessor(radii: radii)),
            PixelCase(
                "round-background", of: "png-rgb.png", within: 2,
                RoundCornerImageProcessor(radii: radii, backgroundColor: red)),
            PixelCase("border", of: "png-rgb.png", within: 0, BorderImageProcessor(width: 3, color: green)),
            PixelCase(
                "border-round", of: "png-rgba.png", within: 3,
                BorderImageProcessor(width: 2.5, color: translucent, radii: radii)),
            PixelCase(
                "crop", of: "png-rgb.png", within: 0,
                CroppingImageProcessor(size: PixelSize(width: 18, height: 9), anchor: .init(x: 0.5, y: 1))),
        ]
    }

    static var colors: [PixelCase] {
        let weak = PixelColor(red: 240, green: 20, blue: 100, alpha: 77)
        var cases = [
            PixelCase("tint", of: "png-rgba.png", within: 0, TintImageProcessor(tint: weak)),
            PixelCase(
                "overlay-pillow", of: "png-rgb.png", within: 1,
                OverlayImageProcessor(overlay: crimson, fraction: 0.25)),
            PixelCase(
                "controls", of: "png-rgba.png", within: 1,
                ColorControlsImageProcessor(brightness: 0.1, contrast: 1.3, saturation: 0.6, exposure: -0.2)),
            PixelCase("blackwhite", of: "png-rgba.png", within: 1, BlackWhiteImageProcessor()),
        ]
        for mode in [BlendMode.multiply, .screen, .overlay, .hardLight, .darken, .lighten, .difference] {
            cases.append(
                PixelCase(
                    "blend-pillow-\(mode.rawValue)", of: "png-rgb.png", within: 1,
                    BlendImageProcessor(blendMode: mode, backgroundColor: crimson)))
        }
        let behind = PixelColor(red: 200, green: 60, blue: 0, alpha: 180)
        for mode in [BlendMode.normal, .multiply, .softLight, .colorDodge, .colorBurn, .exclusion] {
            cases.append(
                PixelCase(
                    "blend-\(mode.rawValue)", of: "png-rgba.png", within: 1,
                    BlendImageProcessor(blendMode: mode, alpha: 0.8, backgroundColor: behind)))
        }
        return cases
    }
}

@Suite("Processors give Pillow's pixels, or those of their definition", .timeLimit(.minutes(20)))
struct ProcessorPixelTests {
    func check(_ pixelCase: PixelCase) throws {
        let data = try Fixture.data(pixelCase.source)
        let picture = try pixelCase.processor.process(.data(data), decoder: ImageDecoder())
        let expected = try Fixture.expected(pixelCase.expected)
        let difference = try #require(
            picture.difference(to: expected, visibly: true), "\(picture.size), not \(expected.size)")
        #expect(difference <= pixelCase.tolerance)
        #expect(picture.isOpaque == Alpha.isOpaque(picture.pixels))
        #expect(picture.provenance == Bitmap.Provenance(format: .png, isUnaltered: false))
    }

    @Test(
        "Resizing with every filter, up and down, with and without alpha, gives the expected pixels",
        arguments: PixelCase.scaling)
    func resizedPixelsEqualExpected(pixelCase: PixelCase) throws { try check(pixelCase) }

    @Test("Blurring gives Pillow's pixels and those of the exact Gaussian", arguments: PixelCase.blurring)
    func blurredPixelsEqualExpected(pixelCase: PixelCase) throws { try check(pixelCase) }

    @Test("Round corners, borders and cropping give the expected pixels", arguments: PixelCase.shapes)
    func shapedPixelsEqualExpected(pixelCase: PixelCase) throws { try check(pixelCase) }

    @Test(
        "Tint, overlay, colour controls, black-white and blending give the expected pixels", arguments: PixelCase.colors
    )
    func colorChangesEqualExpected(pixelCase: PixelCase) throws { try check(pixelCase) }
}
