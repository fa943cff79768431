import Foundation
import Halcyon
import Testing

@testable import HalcyonCodecs
@testable import HalcyonImages
@testable import HalcyonPipeline

@Suite("Processors and how they compose", .timeLimit(.minutes(20)))
struct ProcessorTests {
    let decoder = ImageDecoder()

    static let all: [any ImageProcessor] = {
        let size = PixelSize(width: 10, height: 20)
        let red = PixelColor(red: 255, green: 0, blue: 0)
        return [
            DownsamplingImageProcessor(size: size), DownsamplingImageProcessor(size: size.transposed),
            ResizingImageProcessor(size: size), ResizingImageProcessor(size: size.transposed),
            ResizingImageProcessor(size: size, mode: .fit), ResizingImageProcessor(size: size, mode: .fill),
            ResizingImageProcessor(size: size, filter: .box), CroppingImageProcessor(size: size),
            CroppingImageProcessor(size: size, anchor: .topLeft), RoundCornerImageProcessor(radius: .pixels(2)),
            RoundCornerImageProcessor(radius: .fraction(2)),
            RoundCornerImageProcessor(radii: CornerRadii(topLeft: .pixels(2))),
            RoundCornerImageProcessor(radii: CornerRadii(topRight: .pixels(2))),
            RoundCornerImageProcessor(radius: .pixels(2), background: red),
            BorderImageProcessor(width: 1, color: red), BorderImageProcessor(width: 2, color: red),
            BorderImageProcessor(width: 1, color: .black),
            BorderImageProcessor(width: 1, color: red, radii: CornerRadii(.pixels(2))), BlurImageProcessor(radius: 1),
            BlurImageProcessor(radius: 1.25), TintImageProcessor(color: red), TintImageProcessor(color: .black),
            OverlayImageProcessor(color: red), OverlayImageProcessor(color: red, fraction: 0.25),
            ColorControlsImageProcessor(brightness: 0.5), ColorControlsImageProcessor(contrast: 0.5),
            ColorControlsImageProcessor(saturation: 0.5), ColorControlsImageProcessor(exposure: 0.5),
            BlackWhiteImageProcessor(), BlendImageProcessor(mode: .multiply), BlendImageProcessor(mode: .screen),
            BlendImageProcessor(mode: .screen, alpha: 0.5), BlendImageProcessor(mode: .screen, background: red),
        ]
    }()

    @Test("row 48: whatever differs in one parameter has an identifier of its own")
    func identifiers() {
        #expect(Set(Self.all.map(\.identifier)).count == Self.all.count)
        #expect(Self.all.allSatisfy { !$0.identifier.isEmpty && !$0.identifier.contains("|>") })
        #expect(
            ResizingImageProcessor(size: PixelSize(width: 1, height: 2)).identifier
                == "halcyon.resize(1x2,none,bicubic)")
    }

    @Test("row 48: processors compose in order, and so do their identifiers")
    func chains() throws {
        let crop = CroppingImageProcessor(size: PixelSize(width: 20, height: 10), anchor: .topLeft)
        let resize = ResizingImageProcessor(size: PixelSize(width: 8, height: 8))
        let tint = TintImageProcessor(color: PixelColor(red: 9, green: 9, blue: 9, alpha: 99))
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

    @Test("row 48: downsampling keeps proportions, enlarges nothing, and decodes no more than it needs")
    func downsampling() throws {
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
        // Just what the codec gives: no resampling behind it.
        let half = DownsamplingImageProcessor(size: PixelSize(width: 45, height: 35))
        #expect(try half.process(.data(jpeg), decoder: decoder) == (try Fixture.expected("jpeg-scaled-2")))
        let turned = DownsamplingImageProcessor(size: PixelSize(width: 4, height: 100))
        let data = try Fixture.data("jpeg-orientation-6.jpg")
        #expect(try turned.process(.data(data), decoder: decoder).size == PixelSize(width: 4, height: 7))
    }

    @Test("row 48: resizing stretches, fits or fills")
    func contentModes() throws {
        let picture = try Fixture.expected("png-rgb")
        let sizes = try ContentMode.allCases.map { mode in
            try ResizingImageProcessor(size: PixelSize(width: 74, height: 29), mode: mode).process(picture).size
        }
        #expect(
            sizes == [
                PixelSize(width: 74, height: 29), PixelSize(width: 37, height: 29), PixelSize(width: 74, height: 58),
            ])
    }

    @Test("row 48: a crop is a part of the picture, wherever its anchor is")
    func crops() throws {
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

    @Test("row 48: only the corners asked for are round; half of the side makes a circle")
    func corners() throws {
        let white = try #require(Bitmap(width: 20, height: 20, color: .white))
        let one = try RoundCornerImageProcessor(radii: CornerRadii(bottomLeft: .pixels(8))).process(white)
        #expect(one[0, 19] == .clear)
        #expect([one[0, 0], one[19, 0], one[19, 19]] == [.white, .white, .white])
        #expect(!one.isOpaque)
        let circle = try RoundCornerImageProcessor(radius: .fraction(0.5)).process(white)
        let covered = stride(from: 3, to: circle.pixels.count, by: 4).reduce(0.0) {
            $0 + Double(circle.pixels[$1]) / 255
        }
        #expect(abs(covered - .pi * 100) < 0.1)
        // Radii that do not fit are made smaller alike.
        #expect(try RoundCornerImageProcessor(radius: .pixels(500)).process(white) == circle)
        #expect(try RoundCornerImageProcessor(radius: .none).process(white) == white)
    }

    @Test("row 48: one pixel is processed by everything; blur and tint keep a plain picture plain")
    func onePixel() throws {
        let grey = PixelColor(red: 90, green: 90, blue: 90)
        let pixel = try #require(Bitmap(width: 1, height: 1, color: grey))
        for processor in Self.all { #expect(try processor.process(.image(pixel), decoder: decoder).pixels.count >= 4) }
        let plain = try #require(Bitmap(width: 30, height: 3, color: grey))
        for radius in [0, 0.1, 1, 7.3, 100] { #expect(try BlurImageProcessor(radius: radius).process(plain) == plain) }
        for filter in ResamplingFilter.allCases {
            let scaled = try plain.resampled(to: PixelSize(width: 7, height: 11), filter)
            #expect(scaled == Bitmap(width: 7, height: 11, color: grey))
        }
    }

    @Test("colours that are not seen do not bleed into those that are")
    func bleeding() throws {
        var pixels: [UInt8] = []
        for x in 0..<16 { pixels += x < 8 ? [255, 0, 0, 0] : [0, 0, 255, 255] }
        let picture = try #require(Bitmap(width: 16, height: 1, pixels: pixels))
        let blurred = try BlurImageProcessor(radius: 2).process(picture)
        let scaled = try picture.resampled(to: PixelSize(width: 5, height: 1), .bicubic)
        for result in [blurred, scaled] {
            for x in 0..<result.width where result[x, 0].alpha > 0 {
                #expect(result[x, 0].red == 0 && result[x, 0].blue == 255)
            }
        }
    }

    @Test("parameters that mean nothing are one sentence, and nothing is made")
    func refusals() throws {
        let picture = try #require(Bitmap(width: 4, height: 4, color: .white))
        let nothing = PixelSize(width: 0, height: 9)
        let huge = PixelSize(width: 1 << 20, height: 1 << 20)
        for size in [
            nothing, huge, PixelSize(width: Int.max, height: Int.max), PixelSize(width: -3, height: -3),
            PixelSize(width: 1_000_001, height: 1),
        ] {
            for processor in [ResizingImageProcessor(size: size), CroppingImageProcessor(size: size)]
                as [any BitmapProcessor]
            {
                #expect(throws: ImageError.invalidSize(size)) { try processor.process(picture) }
            }
        }
        let bad: [any BitmapProcessor] = [
            BlurImageProcessor(radius: -1), BlurImageProcessor(radius: .nan), BlurImageProcessor(radius: .infinity),
            CroppingImageProcessor(size: PixelSize(width: 1, height: 1), anchor: .init(x: 1.5, y: 0)),
            RoundCornerImageProcessor(radius: .pixels(-1)), RoundCornerImageProcessor(radius: .fraction(.infinity)),
            BorderImageProcessor(width: -1, color: .black), OverlayImageProcessor(color: .black, fraction: 2),
            ColorControlsImageProcessor(contrast: .nan), BlendImageProcessor(mode: .normal, alpha: -0.1),
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
