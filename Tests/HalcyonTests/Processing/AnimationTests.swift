import Foundation
import Halcyon
import HalcyonSupport
import Synchronization
import Testing

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

    @Test("An animation that is truncated or over the pixel limit is refused")
    func truncatedOrOversizedAnimationIsRefused() throws {
        var options = ImageDecodingOptions()
        options.showsUnterminated = false
        let decoder = ImageDecoder(options: options)
        for name in try Fixture.animations().keys {
            let data = try Fixture.data("animations/\(name)")
            for cut in stride(from: 60, to: data.count, by: 41) {
                #expect(throws: ImageError.self, "\(name) cut at \(cut)") {
                    try decoder.animation(of: data.prefix(cut))
                }
            }
            #expect(throws: ImageError.self) { try ImageDecoder(pixelLimit: 100).animation(of: data) }
        }
    }

    @Test("A PNG whose animation is damaged shows its still picture")
    func damagedAnimationOfPNGShowsItsStill() throws {
        let data = try Fixture.data("animations/soft.png")
        let still = try decoder.decode(data)
        let control = try #require(data.range(of: Data("fcTL".utf8), options: .backwards)).upperBound
        let announcement = try #require(data.range(of: Data("acTL".utf8))).upperBound
        // A sequence number, the width, the left edge of the last frame; the number of frames.
        for at in [control + 3, control + 4, control + 12, announcement + 3] {
            var changed = data
            changed[at] ^= 0x40
            #expect(try decoder.animation(of: changed) == nil)
            #expect(try decoder.decode(changed) == still)
        }
        // A control chunk that is too short. Its frame would end in the checksum.
        var short = data
        short[control - 5] = 25
        short.remove(at: control + 25)
        #expect(try decoder.animation(of: short) == nil)
        #expect(try decoder.animation(of: data) != nil)
    }
}
