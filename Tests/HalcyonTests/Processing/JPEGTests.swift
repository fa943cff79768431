import Foundation
import Halcyon
import Testing

@testable import HalcyonImages

/// Files that are made here, so that their pixels follow from the definitions: ITU-T T.81 for the transform, T.871 for
/// the colours. Pillow 13.0 gives the same pixels.
@Suite("JPEG files of every sampling, and with odd segments", .timeLimit(.minutes(5)))
struct JPEGTests {
    let decoder = ImageDecoder()

    /// A sampling of three channels: its factors, and the size of an MCU.
    struct Sampling: CustomTestStringConvertible, Sendable {
        var factors: [[Int]]
        var width: Int
        var height: Int
        var testDescription: String { factors.map { "\($0[0])x\($0[1])" }.joined(separator: ",") }
    }

    @Test(
        "A JPEG is decoded for any whole ratios of its sampling factors",
        arguments: [
            Sampling(factors: [[1, 1], [1, 1], [1, 1]], width: 8, height: 8),
            Sampling(factors: [[2, 2], [1, 1], [1, 1]], width: 16, height: 16),
            Sampling(factors: [[1, 3], [1, 1], [1, 1]], width: 8, height: 24),
            Sampling(factors: [[2, 2], [2, 1], [1, 1]], width: 16, height: 16),
            Sampling(factors: [[4, 1], [2, 1], [2, 2]], width: 32, height: 16),
        ])
    func samplingOfAnyRatioIsDecoded(sampling: Sampling) throws {
        // Blocks of Y differ; Cb and Cr are even, so that no filter of the decoder matters.
        let means = [[40, 90, 150, 200], [100, 100, 100, 100], [160, 160, 160, 160]]
        let channels = zip(sampling.factors, means).map { factors, means in
            JPEGFile.Channel(
                across: factors[0], down: factors[1], blocks: means.prefix(factors[0] * factors[1]).map { ($0, 0) })
        }
        let data = JPEGFile.data(width: sampling.width, height: sampling.height, channels)
        let picture = try decoder.decode(data)
        #expect(picture.size == PixelSize(width: sampling.width, height: sampling.height))
        let (across, down) = (sampling.factors[0][0], sampling.factors[0][1])
        for y in 0..<picture.height {
            for x in 0..<picture.width {
                let block = y * down / picture.height * across + x * across / picture.width
                let luma = Double(means[0][block])
                let expected = PixelColor(
                    red: level(luma + 1.402 * 32), green: level(luma - 0.344136 * -28 - 0.714136 * 32),
                    blue: level(luma + 1.772 * -28))
                guard picture[x, y] != expected else { continue }
                Issue.record("(\(x), \(y)) is \(picture[x, y]), expected \(expected)")
            }
        }
        // At an eighth a block is a pixel.
        let small = try decoder.decode(data, covering: PixelSize(width: 1, height: 1))
        #expect(small.size == PixelSize(width: (picture.width + 7) / 8, height: (picture.height + 7) / 8))
    }

    private func level(_ value: Double) -> UInt8 { UInt8(min(255, max(0, value.rounded()))) }

    @Test("Sampling factors without a whole ratio are unsupported, not damage")
    func samplingByAFractionIsUnsupported() {
        let channels = [[3, 1], [2, 1], [1, 1]].map { factors in
            JPEGFile.Channel(
                across: factors[0], down: factors[1],
                blocks: (0..<factors[0] * factors[1]).map { _ in (128, 0) })
        }
        let data = JPEGFile.data(width: 24, height: 8, channels)
        let feature = "channels sampled at a fraction of one another"
        #expect(throws: ImageError.unsupported(.jpeg, feature: feature)) { try decoder.decode(data) }
        #expect(
            "\(ImageError.unsupported(.jpeg, feature: feature))"
                == "The JPEG file has channels sampled at a fraction of one another, which is not supported.")
    }

    @Test("A picture smaller than a block is decoded at full scale")
    func smallPictureHasEveryCoefficient() throws {
        let channel = JPEGFile.Channel(across: 1, down: 1, blocks: [(mean: 100, horizontal: 200)])
        let picture = try decoder.decode(JPEGFile.data(width: 4, height: 4, [channel]))
        // ITU-T T.81, A.3.3.
        let row = (0..<4).map { x in
            level(100 + 200 / (4 * 2.0.squareRoot()) * cos(Double(2 * x + 1) * Double.pi / 16))
        }
        for y in 0..<4 { #expect((0..<4).map { picture[$0, y].red } == row) }
    }

    @Test("A segment whose length is below that of the length itself is empty", arguments: [0, 1] as [UInt8])
    func segmentShorterThanItsLengthIsEmpty(length: UInt8) throws {
        var data = try Fixture.data("jpeg-420.jpg")
        data.insert(contentsOf: [0xFF, 0xFE, 0, length], at: 2)
        let scan = try #require(data.range(of: Data([0xFF, 0xDA]))).lowerBound
        data.insert(contentsOf: [0xFF, 0xEC, 0, length], at: scan)
        #expect(try decoder.decode(data).difference(to: try Fixture.expected("jpeg-420")) == 0)
    }

    @Test("An orientation of EXIF's type LONG turns the picture as one of type SHORT")
    func longOrientationTurnsThePicture() throws {
        for orientation in 1...8 {
            var data = try Fixture.data("jpeg-orientation-\(orientation).jpg")
            let expected = try decoder.decode(data)
            let tiff = try #require(data.range(of: Data("Exif\0\0".utf8))).upperBound
            let isLittle = data[tiff] == 0x49
            let tag = Data(isLittle ? [0x12, 0x01, 3, 0] : [0x01, 0x12, 0, 3])
            let entry = try #require(data.range(of: tag)).lowerBound
            data[entry + (isLittle ? 2 : 3)] = 4
            let value = UInt8(orientation)
            data.replaceSubrange(entry + 8..<entry + 12, with: isLittle ? [value, 0, 0, 0] : [0, 0, 0, value])
            #expect(try decoder.decode(data) == expected)
            #expect(try decoder.information(of: data).orientation.rawValue == orientation)
        }
    }

    @Test("Damage is found behind a place that does no harm")
    func damageBehindExtraBytesIsFound() throws {
        var data = try Fixture.data("jpeg-scaled.jpg")
        data.removeSubrange(data.count - 1_500..<data.count - 300)
        // libjpeg skips bytes between segments with a warning of its own.
        data.insert(contentsOf: [0x11, 0x22], at: 20)
        let error = ImageError.damaged(.jpeg, reason: "premature end of data segment")
        #expect(throws: error) { try decoder.decode(data) }
    }
}
