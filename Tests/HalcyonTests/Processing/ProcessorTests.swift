import Foundation
import Halcyon
import Testing

@testable import HalcyonImages
@testable import HalcyonPipeline

@Suite("Processors and their composition", .timeLimit(.minutes(20)))
struct ProcessorTests {
    let decoder = ImageDecoder()

    static let all: [any ImageProcessor] = {
        let size = PixelSize(width: 10, height: 20)
        let red = PixelColor(red: 255, green: 0, blue: 0)
        return [
            DownsamplingImageProcessor(size: size), DownsamplingImageProcessor(size: size.transposed),
            ResizingImageProcessor(referenceSize: size), ResizingImageProcessor(referenceSize: size.transposed),
            ResizingImageProcessor(referenceSize: size, mode: .aspectFit),
            ResizingImageProcessor(referenceSize: size, mode: .aspectFill),
            ResizingImageProcessor(referenceSize: size, enlarges: false),
            ResizingImageProcessor(referenceSize: size, filter: .box), CroppingImageProcessor(size: size),
            CroppingImageProcessor(size: size, anchor: .topLeft), RoundCornerImageProcessor(cornerRadius: .pixels(2)),
            RoundCornerImageProcessor(cornerRadius: .fraction(2)),
            RoundCornerImageProcessor(radii: CornerRadii(topLeft: .pixels(2))),
            RoundCornerImageProcessor(radii: CornerRadii(topRight: .pixels(2))),
            RoundCornerImageProcessor(cornerRadius: .pixels(2), backgroundColor: red),
            BorderImageProcessor(width: 1, color: red), BorderImageProcessor(width: 2, color: red),
            BorderImageProcessor(width: 1, color: .black),
            BorderImageProcessor(width: 1, color: red, radii: CornerRadii(.pixels(2))),
            BlurImageProcessor(blurRadius: 1),
            BlurImageProcessor(blurRadius: 1.25), TintImageProcessor(tint: red), TintImageProcessor(tint: .black),
            OverlayImageProcessor(overlay: red), OverlayImageProcessor(overlay: red, fraction: 0.25),
            ColorControlsImageProcessor(brightness: 0.5), ColorControlsImageProcessor(contrast: 0.5),
            ColorControlsImageProcessor(saturation: 0.5), ColorControlsImageProcessor(exposure: 0.5),
            BlackWhiteImageProcessor(), BlendImageProcessor(blendMode: .multiply),
            BlendImageProcessor(blendMode: .screen),
            BlendImageProcessor(blendMode: .screen, alpha: 0.5),
            BlendImageProcessor(blendMode: .screen, backgroundColor: red),
        ]
    }()

    @Test("Processors that differ in one parameter have different identifiers")
    func identifierDiffersWithEveryParameter() {
        #expect(Set(Self.all.map(\.identifier)).count == Self.all.count)
        #expect(Self.all.allSatisfy { !$0.identifier.isEmpty && !$0.identifier.contains("|>") })
        #expect(
            ResizingImageProcessor(referenceSize: PixelSize(width: 1, height: 2)).identifier
                == "halcyon.resize(1x2,none,bicubic)")
    }

    @Test("Processors and their identifiers compose in order")
    func processorsComposeInOrder() throws {
        let crop = CroppingImageProcessor(size: PixelSize(width: 20, height: 10), anchor: .topLeft)
        let resize = ResizingImageProcessor(referenceSize: PixelSize(width: 8, height: 8))
        let tint = TintImageProcessor(tint: PixelColor(red: 9, green: 9, blue: 9, alpha: 99))
        let chain = crop |> resize |> tint
        #expect(chain.identifier == "\(crop.identifier)|>\(resize.identifier)|>\(tint.identifier)")
        #expect((crop |> (resize |> tint)).identifier == chain.identifier)
        #expect(chain.identifier != (resize |> crop |> tint).identifier)
        #expect((DefaultImageProcessor() |> crop).identifier == crop.identifier)
        #expect((DefaultImageProcessor() |> DefaultImageProcessor()).identifier.isEmpty)

        let picture = try Fixture.expected("png-rgba")
        let byHand = tint.process(try resize.process(try crop.process(picture)))
        #expect(try chain.process(.image(picture), decoder: decoder) == byHand)
        let data = try Fixture.data("png-rgba.png")
        #expect(try chain.process(.data(data), decoder: decoder) == byHand)
        #expect(try (resize |> crop |> tint).process(.image(picture), decoder: decoder) != byHand)
    }

    @Test("Downsampling keeps proportions, never enlarges, and decodes no more than it needs")
    func downsamplingKeepsProportions() throws {
        let jpeg = try Fixture.data("jpeg-scaled.jpg")
        for (wanted, expected) in [
            (PixelSize(width: 20, height: 20), PixelSize(width: 20, height: 16)),
            (PixelSize(width: 1, height: 1), PixelSize(width: 1, height: 1)),
            (PixelSize(width: 1_000, height: 35), PixelSize(width: 45, height: 35)),
            (PixelSize(width: 90, height: 70), PixelSize(width: 90, height: 70)),
            (PixelSize(width: 900, height: 700), PixelSize(width: 90, height: 70)),
        ] {
            let processor = DownsamplingImageProcessor(size: wanted)
            #expect(try processor.process(.data(jpeg), decoder: decoder).size == expected)
            let whole = try decoder.decode(jpeg)
            #expect(try processor.process(.image(whole), decoder: decoder).size == expected)
        }
        // The codec's own output, without resampling.
        let half = DownsamplingImageProcessor(size: PixelSize(width: 45, height: 35))
        #expect(try half.process(.data(jpeg), decoder: decoder) == (try Fixture.expected("jpeg-scaled-2")))
        let turned = DownsamplingImageProcessor(size: PixelSize(width: 4, height: 100))
        let data = try Fixture.data("jpeg-orientation-6.jpg")
        #expect(try turned.process(.data(data), decoder: decoder).size == PixelSize(width: 4, height: 7))
    }

    @Test("A picture that is smaller than the size stays as it is, if it must not be enlarged")
    func smallPictureIsNotEnlarged() throws {
        let picture = try Fixture.expected("png-rgb")
        #expect(picture.size == PixelSize(width: 37, height: 29))
        func size(_ width: Int, _ height: Int, _ mode: ContentMode) throws -> PixelSize {
            try ResizingImageProcessor(
                referenceSize: PixelSize(width: width, height: height), mode: mode, enlarges: false
            ).process(picture).size
        }
        for mode in [ContentMode.aspectFit, .aspectFill] { #expect(try size(370, 290, mode) == picture.size) }
        // Filling would enlarge the height to 29 * 74 / 37.
        #expect(try size(74, 10, .aspectFill) == picture.size)
        #expect(try size(74, 10, .aspectFit) == PixelSize(width: 13, height: 10))
        #expect(try size(20, 10, .aspectFill) == PixelSize(width: 20, height: 16))
        #expect(try size(74, 10, .none) == PixelSize(width: 37, height: 10))
    }

    @Test("Resizing stretches, fits or fills")
    func resizingStretchesFitsOrFills() throws {
        let picture = try Fixture.expected("png-rgb")
        let sizes = try ContentMode.allCases.map { mode in
            try ResizingImageProcessor(referenceSize: PixelSize(width: 74, height: 29), mode: mode).process(picture)
                .size
        }
        #expect(
            sizes == [
                PixelSize(width: 74, height: 29), PixelSize(width: 37, height: 29), PixelSize(width: 74, height: 58),
            ])
    }

    @Test("A crop at any anchor is that part of the picture")
    func cropIsPartOfPicture() throws {
        let picture = try Fixture.expected("png-rgba")
        let size = PixelSize(width: 5, height: 4)
        for (anchor, x, y) in [
            (CroppingImageProcessor.Anchor.topLeft, 0, 0), (.center, 16, 13), (.bottomRight, 32, 25),
            (.init(x: 1, y: 0), 32, 0),
        ] {
            let part = try CroppingImageProcessor(size: size, anchor: anchor).process(picture)
            #expect(part.size == size)
            for (column, row) in [(0, 0), (4, 0), (0, 3), (4, 3)] {
                #expect(part[column, row] == picture[x + column, y + row])
            }
        }
        let tall = try CroppingImageProcessor(size: PixelSize(width: 3, height: 999)).process(picture)
        #expect(tall.size == PixelSize(width: 3, height: 29))
    }

    @Test("Only the stated corners are round; a radius of half the side makes a circle")
    func onlyStatedCornersAreRound() throws {
        let white = try #require(Bitmap(width: 20, height: 20, color: .white))
        let one = try RoundCornerImageProcessor(radii: CornerRadii(bottomLeft: .pixels(8))).process(white)
        #expect(one[0, 19] == .clear)
        #expect([one[0, 0], one[19, 0], one[19, 19]] == [.white, .white, .white])
        #expect(!one.isOpaque)
        let circle = try RoundCornerImageProcessor(cornerRadius: .fraction(0.5)).process(white)
        let covered = stride(from: 3, to: circle.pixels.count, by: 4).reduce(0.0) {
            $0 + Double(circle.pixels[$1]) / 255
        }
        #expect(abs(covered - .pi * 100) < 0.1)
        // Radii that do not fit are reduced by the same factor.
        #expect(try RoundCornerImageProcessor(cornerRadius: .pixels(500)).process(white) == circle)
        #expect(try RoundCornerImageProcessor(cornerRadius: .none).process(white) == white)
    }

    @Test("Every processor handles one pixel; blurring and resampling keep a plain picture plain")
    func everyProcessorHandlesOnePixel() throws {
        let grey = PixelColor(red: 90, green: 90, blue: 90)
        let pixel = try #require(Bitmap(width: 1, height: 1, color: grey))
        for processor in Self.all { #expect(try processor.process(.image(pixel), decoder: decoder).pixels.count >= 4) }
        let plain = try #require(Bitmap(width: 30, height: 3, color: grey))
        for radius in [0, 0.1, 1, 7.3, 100] {
            #expect(try BlurImageProcessor(blurRadius: radius).process(plain) == plain)
        }
        for filter in ResamplingFilter.allCases {
            let scaled = try plain.resampled(to: PixelSize(width: 7, height: 11), filter)
            #expect(scaled == Bitmap(width: 7, height: 11, color: grey))
        }
    }

    @Test("Colours of transparent pixels do not bleed into visible ones")
    func transparentColorsDoNotBleed() throws {
        var pixels: [UInt8] = []
        for x in 0..<16 { pixels += x < 8 ? [255, 0, 0, 0] : [0, 0, 255, 255] }
        let picture = try #require(Bitmap(width: 16, height: 1, pixels: pixels))
        let blurred = try BlurImageProcessor(blurRadius: 2).process(picture)
        let scaled = try picture.resampled(to: PixelSize(width: 5, height: 1), .bicubic)
        for result in [blurred, scaled] {
            for x in 0..<result.width where result[x, 0].alpha > 0 {
                #expect(result[x, 0].red == 0 && result[x, 0].blue == 255)
            }
        }
    }

    @Test("Invalid processor parameters are refused with a sentence")
    func invalidProcessorParametersAreRefused() throws {
        let picture = try #require(Bitmap(width: 4, height: 4, color: .white))
        let nothing = PixelSize(width: 0, height: 9)
        let huge = PixelSize(width: 1 << 20, height: 1 << 20)
        for size in [
            nothing, huge, PixelSize(width: Int.max, height: Int.max), PixelSize(width: -3, height: -3),
            PixelSize(width: 1_000_001, height: 1),
        ] {
            for processor in [ResizingImageProcessor(referenceSize: size), CroppingImageProcessor(size: size)]
                as [any BitmapProcessor]
            {
                #expect(throws: ImageError.invalidSize(size)) { try processor.process(picture) }
            }
        }
        let bad: [any BitmapProcessor] = [
            BlurImageProcessor(blurRadius: -1), BlurImageProcessor(blurRadius: .nan),
            BlurImageProcessor(blurRadius: .infinity),
            CroppingImageProcessor(size: PixelSize(width: 1, height: 1), anchor: .init(x: 1.5, y: 0)),
            RoundCornerImageProcessor(cornerRadius: .pixels(-1)),
            RoundCornerImageProcessor(cornerRadius: .fraction(.infinity)),
            BorderImageProcessor(width: -1, color: .black), OverlayImageProcessor(overlay: .black, fraction: 2),
            ColorControlsImageProcessor(contrast: .nan), BlendImageProcessor(blendMode: .normal, alpha: -0.1),
        ]
        for processor in bad {
            let error = #expect(throws: ImageError.self, "\(processor)") { try processor.process(picture) }
            guard case .invalidParameter(let text) = error else {
                Issue.record("\(processor): \(String(describing: error))")
                continue
            }
            #expect(text.contains(" to ") || text.contains("and more"))
        }
    }
}
