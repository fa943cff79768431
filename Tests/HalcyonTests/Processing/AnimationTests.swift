import Foundation
import Halcyon
import HalcyonSupport
import Synchronization
import Testing

@testable import HalcyonCodecs
@testable import HalcyonImages

@Suite("Animations, frame by frame", .timeLimit(.minutes(20)))
struct AnimationTests {
    let decoder = ImageDecoder()

    /// The digest of the pixels, 0 where alpha is 0.
    func digest(_ picture: Bitmap) -> String {
        var pixels = picture.pixels
        for at in stride(from: 0, to: pixels.count, by: 4) where pixels[at + 3] == 0 {
            pixels.replaceSubrange(at..<at + 3, with: [0, 0, 0])
        }
        return SHA256Digest.hexadecimal(pixels.withUnsafeBytes { SHA256Digest.hash($0) })
    }

    @Test("Frames, durations and plays of GIF, WebP and APNG equal Pillow's, in any order with any pool")
    func animationFramesEqualPillows() throws {
        let animations = try Fixture.animations()
        #expect(animations.count == 9)
        for (name, expected) in animations {
            let data = try Fixture.data("animations/\(name)")
            for limit in [64 << 20, 3_000, 0] {
                let pool = AnimationFramePool(limit: limit)
                let animation = try #require(try decoder.animation(of: data, pool: pool))
                #expect(animation.plays == expected.plays)
                #expect(animation.frames.count == expected.frames.count)
                let indices = expected.frames.indices
                for index in Array(indices) + indices.reversed() + [indices.count / 2] {
                    let frame = try animation.frame(at: index)
                    #expect(digest(frame) == expected.frames[index].digest, "\(name), frame \(index), pool \(limit)")
                    #expect(frame.isOpaque == Alpha.isOpaque(frame.pixels))
                    #expect(pool.bytes <= limit)
                    let milliseconds = animation.frames[index].duration / Duration.milliseconds(1)
                    #expect(abs(milliseconds - expected.frames[index].milliseconds) < 0.001)
                }
            }
        }
    }

    @Test("Still pictures are no animations, and decoding an animation gives its first frame")
    func stillPicturesAreNoAnimations() throws {
        for name in try Fixture.encoded() where !name.contains("animated") {
            #expect(try decoder.animation(of: try Fixture.data(name)) == nil)
        }
        for (name, expected) in try Fixture.animations() where name != "hidden.png" {
            let first = try decoder.decode(try Fixture.data("animations/\(name)"))
            #expect(digest(first) == expected.frames[0].digest)
        }
        let animation = try #require(try decoder.animation(of: try Fixture.data("animations/once.gif")))
        #expect(throws: ImageError.self) { try animation.frame(at: 2) }
        #expect(throws: ImageError.self) { try animation.frame(at: -1) }
    }

    @Test("An animation that is truncated, over the pixel limit or out of order is refused")
    func truncatedOrOversizedAnimationIsRefused() throws {
        for name in try Fixture.animations().keys {
            let data = try Fixture.data("animations/\(name)")
            for cut in stride(from: 60, to: data.count, by: 41) {
                #expect(throws: ImageError.self, "\(name) cut at \(cut)") {
                    try decoder.animation(of: data.prefix(cut))
                }
            }
            #expect(throws: ImageError.self) { try ImageDecoder(pixelLimit: 100).animation(of: data) }
        }
        // Chunks of APNG out of order.
        var data = try Fixture.data("animations/soft.png")
        let control = try #require(data.range(of: Data("fcTL".utf8), options: .backwards))
        data[control.upperBound + 3] ^= 1
        #expect(throws: ImageError.self) { try decoder.animation(of: data) }
    }
}

/// A source of frames that cover one corner; it counts the decoded frames.
private final class CountingSource: AnimatedImageSource {
    let size = PixelSize(width: 4, height: 4)
    let plays: Int? = nil
    let frames: [AnimationFrame]
    private let count = Atomic<Int>(0)

    init(frames: Int) {
        self.frames = (0..<frames).map { _ in
            AnimationFrame(
                x: 0, y: 0, size: PixelSize(width: 2, height: 2), duration: .milliseconds(40), disposal: .keep,
                blend: .over)
        }
    }

    var decoded: Int { count.load(ordering: .relaxed) }

    func pixels(ofFrame index: Int) throws -> Bitmap {
        count.add(1, ordering: .relaxed)
        return Bitmap(size: frames[index].size, pixels: [UInt8](repeating: UInt8(index), count: 16), isOpaque: false)
    }
}
