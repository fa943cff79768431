import Foundation
import Halcyon

extension FuzzTarget {
    /// Image processors with any parameters.
    static let processors = FuzzTarget(
        name: "processors", run: fuzzProcessing,
        seeds: { [Data((0..<255).map { UInt8($0) }), Data(repeating: 3, count: 40)] })
}

/// One input of the fuzzer: a small picture and up to three processors with any parameters, under the address sanitizer. What comes
/// out must be what it says it is, or an `ImageError`.
@Sendable private func fuzzProcessing(_ data: Data) {
    var input = FuzzInput(data)
    let (width, height) = (1 + input.whole(48), 1 + input.whole(48))
    var processors = [input.processor()]
    for _ in 0..<input.whole(3) { processors.append(input.processor()) }
    let pixels = input.bytes(width * height * 4)
    guard var picture = Bitmap(width: width, height: height, pixels: pixels) else { fatalError("no picture") }
    do {
        for processor in processors {
            picture = try processor.process(.image(picture), decoder: ImageDecoder())
            guard picture.pixels.count == picture.width * picture.height * 4,
                picture.isOpaque == isOpaque(picture.pixels)
            else { fatalError("\(processor.identifier) made a picture that is not what it says") }
        }
    } catch is ImageError {
        return
    } catch {
        fatalError("another error: \(error)")
    }
}

/// Numbers out of bytes; 0 when there are none left.
private struct FuzzInput {
    private var rest: [UInt8].SubSequence

    init(_ data: Data) { rest = [UInt8](data)[...] }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func whole(_ limit: Int) -> Int { Int(byte()) % limit }

    /// Mostly from -1 to 30, sometimes something else.
    mutating func real() -> Double {
        switch byte() {
        case 250: .nan
        case 251: .infinity
        case 252: -1
        case 253: 999
        case 254: 1e300
        case let value: Double(value) / 8 + Double(byte()) / 4_096
        }
    }

    /// 0 to 1, sometimes more.
    mutating func share() -> Double { Double(byte()) / 250 }

    mutating func color() -> PixelColor { PixelColor(red: byte(), green: byte(), blue: byte(), alpha: byte()) }

    mutating func size() -> PixelSize { PixelSize(width: whole(90), height: whole(90)) }

    mutating func radius() -> CornerRadius { byte() & 1 == 0 ? .pixels(real()) : .fraction(share()) }

    mutating func radii() -> CornerRadii {
        CornerRadii(topLeft: radius(), topRight: radius(), bottomRight: radius(), bottomLeft: radius())
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        let source = rest.isEmpty ? [7] : Array(rest)
        return (0..<count).map { source[$0 % source.count] }
    }

    mutating func processor() -> any ImageProcessor {
        switch whole(11) {
        case 0: DownsamplingImageProcessor(size: size())
        case 1:
            ResizingImageProcessor(
                referenceSize: size(), mode: ContentMode.allCases[whole(3)],
                filter: ResamplingFilter.allCases[whole(4)],
                enlarges: byte() & 1 == 0)
        case 2: CroppingImageProcessor(size: size(), anchor: .init(x: share(), y: share()))
        case 3: RoundCornerImageProcessor(radii: radii(), backgroundColor: byte() & 1 == 0 ? nil : color())
        case 4: BorderImageProcessor(width: real(), color: color(), radii: radii())
        case 5: BlurImageProcessor(blurRadius: real())
        case 6: TintImageProcessor(tint: color())
        case 7: OverlayImageProcessor(overlay: color(), fraction: share())
        case 8:
            ColorControlsImageProcessor(brightness: real(), contrast: real(), saturation: real(), exposure: real())
        case 9: BlackWhiteImageProcessor()
        default: BlendImageProcessor(blendMode: BlendMode.allCases[whole(12)], alpha: share(), backgroundColor: color())
        }
    }
}
