import Foundation
import Halcyon
import Synchronization
import Testing

@testable import HalcyonImages

@Suite("Animations: what a shown frame costs, and what is held", .timeLimit(.minutes(5)))
struct AnimationCostTests {
    @Test(
        "Films of 1080p side by side decode one frame for each that is shown, in every round",
        arguments: [1, 4, 5, 10])
    func filmsSideBySideDecodeOneFrameEach(films: Int) throws {
        // The pool of 64 MB holds eight canvases. The largest number of films has a tenth of each side, and a
        // hundredth of the pool.
        let size = films < 10 ? PixelSize(width: 1_920, height: 1_080) : PixelSize(width: 192, height: 108)
        let pool = AnimationFramePool(limit: films < 10 ? 64 << 20 : (64 << 20) / 100)
        let sources = (0..<films).map { _ in CountingSource(frames: 12, size: size) }
        let animations = sources.map { ImageAnimation($0, pool: pool) }
        for round in 1...3 {
            for index in 0..<12 {
                for (source, animation) in zip(sources, animations) {
                    let before = source.decoded
                    _ = try animation.frame(at: index)
                    // Later rounds find some frames in the pool.
                    #expect(round == 1 ? source.decoded == before + 1 : source.decoded <= before + 1)
                }
            }
            #expect(pool.bytes <= pool.limit)
            #expect(pool.heldBytes <= films * size.pixelCount * 4)
        }
        #expect(sources.allSatisfy { $0.decoded >= 12 })
    }

    @Test("A canvas that is larger than the pool costs one frame for each shown one, and when it begins again")
    func canvasBeyondThePoolDecodesOneFrameEach() throws {
        let source = CountingSource(frames: 40)
        let pool = AnimationFramePool(limit: 63)
        let animation = ImageAnimation(source, pool: pool)
        for shown in 1...120 {
            _ = try animation.frame(at: (shown - 1) % 40)
            #expect(source.decoded == shown)
        }
        // The same frame again is none, and a frame three later three.
        _ = try animation.frame(at: 39)
        _ = try animation.frame(at: 0)
        _ = try animation.frame(at: 3)
        #expect(source.decoded == 124)
        // Backwards it is all that the frame depends on.
        _ = try animation.frame(at: 2)
        #expect(source.decoded == 127)
        #expect(pool.bytes == 0 && pool.heldBytes == 64)
    }

    @Test("Frames that are removed again before the next one cost one each, with one canvas more")
    func restoredFramesDecodeOneFrameEach() throws {
        let source = CountingSource(frames: 12) { $0 % 4 == 0 ? .keep : .previous }
        let pool = AnimationFramePool(limit: 0)
        let animation = ImageAnimation(source, pool: pool)
        for shown in 1...36 {
            _ = try animation.frame(at: (shown - 1) % 12)
            #expect(source.decoded == shown)
            #expect(pool.heldBytes == ((shown - 1) % 4 == 0 ? 64 : 128))
        }
    }

    @Test("After a film was played, any seek decodes at most the spacing of the frames in the pool")
    func seekDecodesAtMostTheSpacing() throws {
        // Room for 8 of 32 canvases: every fourth.
        let source = CountingSource(frames: 32)
        let animation = ImageAnimation(source, pool: AnimationFramePool(limit: 8 * 64))
        for index in 0..<32 { _ = try animation.frame(at: index) }
        #expect(source.decoded == 32)
        var (shown, state) = (31, UInt32(2_463_534_242))
        for seek in 0..<200 {
            state ^= state << 13
            state ^= state >> 17
            state ^= state << 5
            let index = seek < 32 ? 31 - seek : Int(state % 32)
            let before = source.decoded
            _ = try animation.frame(at: index)
            let cost = shown <= index ? min(index - shown, index % 4) : index % 4
            #expect(source.decoded - before == cost, "frame \(index) after \(shown)")
            shown = index
        }
    }

    @Test("A seek far ahead decodes what lies before once, and keeps frames of it for the next seeks")
    func farSeekKeepsFramesOnTheWay() throws {
        let source = CountingSource(frames: 1_000)
        let pool = AnimationFramePool(limit: 16 * 64)
        let animation = ImageAnimation(source, pool: pool)
        _ = try animation.frame(at: 999)
        #expect(source.decoded == 1_000)
        #expect(pool.count == 16)
        // 16 canvases of 1,000: every 64th.
        _ = try animation.frame(at: 500)
        #expect(source.decoded == 1_000 + 500 % 64)
        _ = try animation.frame(at: 499)
        #expect(source.decoded == 1_000 + 500 % 64 + 499 % 64)
    }

    @Test("An animation that fits into the pool is decoded once")
    func smallAnimationIsDecodedOnce() throws {
        let source = CountingSource(frames: 6)
        let animation = ImageAnimation(source, pool: AnimationFramePool(limit: 6 * 64))
        for _ in 0..<5 { for index in (0..<6).reversed() { _ = try animation.frame(at: index) } }
        #expect(source.decoded == 6)
    }

    @Test("Films that play share the pool evenly, and one that no longer plays gives its frames first")
    func playingFilmsShareThePool() throws {
        let time = Mutex(ContinuousClock.now)
        let pool = AnimationFramePool(limit: 8 * 64) { time.withLock { $0 } }
        let sources = (0..<3).map { _ in CountingSource(frames: 8) }
        let films = sources.map { ImageAnimation($0, pool: pool) }
        for index in 0..<8 { _ = try films[0].frame(at: index) }
        #expect(pool.count == 8)
        // Two play: four frames each, every second one.
        for index in 0..<8 {
            for film in films[0...1] {
                time.withLock { $0 += .milliseconds(1) }
                _ = try film.frame(at: index)
            }
        }
        #expect(pool.count == 8)
        for (source, film) in zip(sources, films).prefix(2) {
            let before = source.decoded
            time.withLock { $0 += .milliseconds(1) }
            for index in [6, 4, 2, 0] { _ = try film.frame(at: index) }
            #expect(source.decoded == before)
        }
        // A second later neither plays. The third one takes their frames, the first one's first: it was asked less
        // recently.
        time.withLock { $0 += .seconds(2) }
        for index in 0..<4 { _ = try films[2].frame(at: index) }
        #expect(pool.count == 8)
        let before = sources[1].decoded
        for index in [6, 4, 2, 0] { _ = try films[1].frame(at: index) }
        #expect(sources[1].decoded == before)
        #expect(sources[2].decoded == 4)
        for index in 0..<4 { _ = try films[2].frame(at: index) }
        #expect(sources[2].decoded == 4)
    }

    @Test("Emptying the pool drops the canvases of animations that do not play, and all of them in the background")
    func emptiedPoolKeepsWhatPlays() throws {
        let time = Mutex(ContinuousClock.now)
        let pool = AnimationFramePool(limit: 8 * 64) { time.withLock { $0 } }
        let sources = [Duration.milliseconds(40), .seconds(3), .seconds(600)].map {
            CountingSource(frames: 8, duration: $0)
        }
        let films = sources.map { ImageAnimation($0, pool: pool) }
        for film in films { for index in 0..<6 { _ = try film.frame(at: index) } }
        pool.removeAll()
        #expect(pool.bytes == 0 && pool.count == 0)
        #expect(pool.heldBytes == 3 * 64)
        // All play: the next frame is one more.
        for film in films { _ = try film.frame(at: 6) }
        #expect(sources.map(\.decoded) == [7, 7, 7])
        // A film plays for twice its frame, at least a second and at most sixty.
        for (milliseconds, held) in [(1_000, 3), (1, 2), (4_999, 2), (1, 1), (53_999, 1), (1, 0)] {
            time.withLock { $0 += .milliseconds(milliseconds) }
            pool.removeAll()
            #expect(pool.heldBytes == held * 64)
        }
        _ = try films[0].frame(at: 7)
        #expect(sources[0].decoded == 7 + 8)
        pool.removeAll(keepsPlaying: false)
        #expect(pool.heldBytes == 0)
        _ = try films[0].frame(at: 1)
        #expect(sources[0].decoded == 7 + 8 + 2)
    }

    @Test("The limit of the pool can change, and what an animation holds is released with it")
    func canvasesAreReleasedWithTheAnimation() throws {
        let pool = AnimationFramePool(limit: 3 * 64)
        do {
            let animation = ImageAnimation(CountingSource(frames: 3) { _ in .previous }, pool: pool)
            for index in 0..<3 { _ = try animation.frame(at: index) }
            #expect(pool.count == 3 && pool.bytes == 3 * 64 && pool.heldBytes == 0)
            pool.limit = 64
            #expect(pool.bytes <= 64 && pool.heldBytes == 64)
        }
        #expect(pool.count == 0 && pool.bytes == 0 && pool.heldBytes == 0)
    }

    @Test("Frames in any order and with any pool equal those that are drawn one after the other")
    func anyOrderGivesTheSamePictures() throws {
        var random = Numbers()
        for _ in 0..<60 {
            let source = RandomSource(&random)
            let expected = source.played()
            for limit in [0, 2 * source.size.pixelCount * 4, 5 * source.size.pixelCount * 4, 1 << 20] {
                let animation = ImageAnimation(source, pool: AnimationFramePool(limit: limit))
                let indices = Array(expected.indices)
                let order = indices + indices.reversed() + (0..<20).map { _ in random.next(expected.count) } + indices
                for index in order { #expect(try animation.frame(at: index).pixels == expected[index]) }
            }
        }
    }
}

/// A source of frames that draw one corner of a canvas; it counts the decoded frames.
private final class CountingSource: AnimatedImageSource {
    let size: PixelSize
    let plays: Int? = nil
    let frames: [AnimationFrame]
    private let count = Atomic<Int>(0)

    init(
        frames: Int, size: PixelSize = PixelSize(width: 4, height: 4), duration: Duration = .milliseconds(40),
        disposal: (Int) -> AnimationFrame.Disposal = { _ in .keep }
    ) {
        self.size = size
        self.frames = (0..<frames).map {
            AnimationFrame(
                x: 0, y: 0, size: PixelSize(width: 2, height: 2), duration: duration, disposal: disposal($0),
                blend: .over)
        }
    }

    var decoded: Int { count.load(ordering: .relaxed) }

    func pixels(ofFrame index: Int) throws -> Bitmap {
        count.add(1, ordering: .relaxed)
        return Bitmap(
            size: frames[index].size, pixels: [UInt8](repeating: UInt8(index % 256), count: 16), isOpaque: false)
    }
}

/// Frames at random places, with every disposal and blend. Pixels are opaque or transparent.
private struct RandomSource: AnimatedImageSource {
    let size: PixelSize
    let plays: Int? = nil
    var frames: [AnimationFrame] = []
    private var parts: [[UInt8]] = []

    init(_ random: inout Numbers) {
        size = PixelSize(width: 2 + random.next(3), height: 2 + random.next(3))
        for _ in 0..<1 + random.next(14) {
            let isWhole = random.next(4) == 0
            let (x, y) = isWhole ? (0, 0) : (random.next(size.width), random.next(size.height))
            let part =
                isWhole
                ? size
                : PixelSize(width: 1 + random.next(size.width - x), height: 1 + random.next(size.height - y))
            frames.append(
                AnimationFrame(
                    x: x, y: y, size: part, duration: .milliseconds(40),
                    disposal: [.keep, .keep, .background, .previous][random.next(4)],
                    blend: random.next(2) == 0 ? .source : .over))
            parts.append(
                (0..<part.pixelCount).flatMap { _ in
                    random.next(3) == 0 ? [0, 0, 0, 0] : [UInt8(random.next(256)), 1, 2, 255]
                })
        }
    }

    func pixels(ofFrame index: Int) throws -> Bitmap {
        Bitmap(size: frames[index].size, pixels: parts[index], isOpaque: nil)
    }

    /// The canvas after each frame, by the definition: one frame after the other on one canvas.
    func played() -> [[UInt8]] {
        var canvas = [UInt8](repeating: 0, count: size.pixelCount * 4)
        var shown: [[UInt8]] = []
        for (frame, part) in zip(frames, parts) {
            let before = canvas
            for at in 0..<frame.size.pixelCount {
                let x = frame.x + at % frame.size.width
                let to = ((frame.y + at / frame.size.width) * size.width + x) * 4
                if frame.blend == .source || part[at * 4 + 3] == 255 {
                    canvas.replaceSubrange(to..<to + 4, with: part[at * 4..<at * 4 + 4])
                }
            }
            shown.append(canvas)
            switch frame.disposal {
            case .keep: break
            case .previous: canvas = before
            case .background:
                for y in frame.y..<frame.y + frame.size.height {
                    let row = (y * size.width + frame.x) * 4
                    canvas.replaceSubrange(
                        row..<row + frame.size.width * 4, with: repeatElement(0, count: frame.size.width * 4))
                }
            }
        }
        return shown
    }
}

private struct Numbers {
    private var state: UInt64 = 88_172_645_463_325_252

    mutating func next(_ bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(bound))
    }
}
