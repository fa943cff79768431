import Foundation
import Halcyon

extension FuzzTarget {
    /// A target for each format of images: all are decoded by the same entry point, each has a corpus of its own.
    static let images = [("jpeg", "jpg"), ("png", "png"), ("webp", "webp"), ("gif", "gif")].map { name, fileExtension in
        FuzzTarget(
            name: name, run: fuzzDecoding,
            seeds: { try files(in: "Tests/HalcyonTests/Processing/Fixtures", fileExtension) })
    }
}

/// One input of the fuzzer: decoded whole and small, within a limit that keeps an execution quick. Whatever is thrown must be an
/// `ImageError`, and whatever is decoded must have the size that the header says; anything else ends the process.
@Sendable private func fuzzDecoding(_ data: Data) {
    var decoder = ImageDecoder(pixelLimit: 40_000)
    decodeBothWays(data, decoder)
    if ImageFormat(of: data) == .png { decodeBothWays(repairedPNG(data), decoder) }
    decoder.options.showsTruncated = true
    decodeBothWays(data, decoder)
}

private func decodeBothWays(_ data: Data, _ decoder: ImageDecoder) {
    do {
        let picture = try decoder.decode(data)
        guard try decoder.information(of: data).size == picture.size,
            picture.pixels.count == picture.width * picture.height * 4,
            picture.isOpaque == isOpaque(picture.pixels)
        else { fatalError("the picture is not what it says it is") }
        let small = try decoder.decode(data, covering: PixelSize(width: 7, height: 5))
        guard small.width <= picture.width, small.height <= picture.height else {
            fatalError("the smaller picture is larger")
        }
        try decodeFrames(data, decoder, picture.size)
    } catch is ImageError {
        return
    } catch {
        fatalError("another error: \(error)")
    }
}

/// Decodes up to eight frames of an animation, in an order in which frames build upon others that were not asked for.
private func decodeFrames(_ data: Data, _ decoder: ImageDecoder, _ size: PixelSize) throws {
    guard let animation = try decoder.animation(of: data, pool: AnimationFramePool(limit: 1 << 20)) else { return }
    let count = min(animation.frames.count, 8)
    for index in [count - 1, 0].filter({ $0 >= 0 }) + Array(0..<count) {
        let frame = try animation.frame(at: index)
        guard frame.size == size, frame.isOpaque == isOpaque(frame.pixels) else {
            fatalError("frame \(index) is not what it says it is")
        }
    }
}

/// Whether no pixel is transparent.
func isOpaque(_ pixels: [UInt8]) -> Bool { stride(from: 3, to: pixels.count, by: 4).allSatisfy { pixels[$0] == 255 } }
