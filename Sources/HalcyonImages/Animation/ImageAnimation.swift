/// An animation, whose frames are decoded on request.
///
/// ```swift
/// if let animation = try decoder.animation(of: data) {
///     for (index, frame) in animation.frames.enumerated() {
///         show(try animation.frame(at: index), for: frame.duration)
///     }
/// }
/// ```
///
/// Frames are whole pictures in the size of the canvas. In playback order, each request decodes one stored frame. Any other request
/// also decodes the stored frames before it, back to one that is in the pool or does not depend on an earlier one. The animation holds
/// the bytes of the file, which are not part of the pool's limit.
public final class ImageAnimation: Sendable {
    private let source: any AnimatedImageSource
    private let pool: AnimationFramePool
    /// Whether each frame is drawn on an empty canvas, by libwebp's rule for key frames.
    private let isKey: [Bool]

    /// Creates an animation of a source.
    ///
    /// - Parameter pool: the pool of decoded frames; by default the one that all animations share.
    public init(_ source: any AnimatedImageSource, pool: AnimationFramePool = .shared) {
        self.source = source
        self.pool = pool
        let canvas = source.size
        var isKey: [Bool] = []
        for (index, frame) in source.frames.enumerated() {
            let before = index == 0 ? nil : source.frames[index - 1]
            isKey.append(
                before == nil || frame.covers(canvas) && frame.blend == .source
                    || before?.disposal == .background && (before?.covers(canvas) == true || isKey[index - 1]))
        }
        self.isKey = isKey
    }

    deinit { pool.remove(ObjectIdentifier(self), count: source.frames.count) }

    /// The canvas, in pixels.
    public var size: PixelSize { source.size }
    /// The stored frames.
    public var frames: [AnimationFrame] { source.frames }
    /// The number of times to show the frames; `nil` for endless repetition.
    public var plays: Int? { source.plays }
    /// The duration of one repetition.
    public var duration: Duration { source.frames.reduce(.zero) { $0 + $1.duration } }

    /// Returns the picture of a frame, on the calling thread.
    ///
    /// - Parameter index: 0 to `frames.count - 1`. Others throw ``ImageError/invalidParameter(_:)``.
    /// - Throws: the error of the decoder.
    public func frame(at index: Int) throws -> Bitmap {
        guard source.frames.indices.contains(index) else {
            throw ImageError.invalidParameter(
                "Frame \(index) is none; an animation of \(source.frames.count) frames has 0 to \(source.frames.count - 1)"
            )
        }
        if let picture = pool.frame(key(index)) { return picture }
        // The frames to draw, in reverse order, back to a key frame or to one whose base is in the pool.
        var needed: [Int] = []
        var canvas: Bitmap?
        var next: Int? = index
        while let current = next {
            needed.append(current)
            next = base(of: current)
            if let base = next, let picture = pool.frame(key(base)) {
                canvas = picture
                next = nil
            }
        }
        for current in needed.reversed() {
            let picture = try drawn(current, on: canvas)
            pool.insert(picture, key(current))
            canvas = picture
        }
        return canvas ?? Bitmap(size: size, pixels: [UInt8](repeating: 0, count: size.pixelCount * 4), isOpaque: false)
    }

    private func key(_ index: Int) -> AnimationFramePool.Key {
        AnimationFramePool.Key(animation: ObjectIdentifier(self), index: index)
    }

    /// Returns the frame on whose disposed picture a frame is drawn; `nil` for an empty canvas.
    private func base(of index: Int) -> Int? {
        guard !isKey[index] else { return nil }
        // A frame with the disposal `previous` restores the picture that it was drawn on.
        var before = index - 1
        while source.frames[before].disposal == .previous {
            guard before > 0 else { return nil }
            before -= 1
        }
        return before
    }

    /// Returns the canvas after a frame is drawn on it.
    private func drawn(_ index: Int, on base: Bitmap?) throws -> Bitmap {
        let frame = source.frames[index]
        let part = try source.pixels(ofFrame: index)
        guard part.size == frame.size, frame.x >= 0, frame.y >= 0, frame.x + frame.size.width <= size.width,
            frame.y + frame.size.height <= size.height
        else { throw ImageError.invalidSize(part.size) }
        guard base != nil || !frame.covers(size) else {
            return Bitmap(size: size, pixels: part.pixels, isOpaque: part.isOpaque)
        }
        var pixels = base?.pixels ?? [UInt8](repeating: 0, count: size.pixelCount * 4)
        // The rectangle that becomes transparent before this frame.
        let before = self.base(of: index).map { source.frames[$0] }
        let cleared = before?.disposal == .background ? before : nil
        pixels.withUnsafeMutableBytes { canvas in
            part.pixels.withUnsafeBytes { part in
                let (canvas, part) = (canvas.bindMemory(to: UInt32.self), part.bindMemory(to: UInt32.self))
                if let cleared {
                    for y in cleared.y..<cleared.y + cleared.size.height {
                        let row = y * size.width + cleared.x
                        for x in row..<row + cleared.size.width { canvas[x] = 0 }
                    }
                }
                for y in 0..<frame.size.height {
                    let (row, from) = ((y + frame.y) * size.width + frame.x, y * frame.size.width)
                    for x in 0..<frame.size.width {
                        let front = UInt32(littleEndian: part[from &+ x])
                        let isEmpty = base == nil || cleared?.contains(x + frame.x, y + frame.y) == true
                        let behind = UInt32(littleEndian: canvas[row &+ x])
                        canvas[row &+ x] = (isEmpty ? front : frame.blend.mixed(front, behind)).littleEndian
                    }
                }
            }
        }
        return Bitmap(size: size, pixels: pixels, isOpaque: nil)
    }
}

extension AnimationFrame {
    fileprivate func contains(_ x: Int, _ y: Int) -> Bool {
        x >= self.x && y >= self.y && x < self.x + size.width && y < self.y + size.height
    }
}

extension AnimationFrame.Blend {
    /// Returns a pixel drawn on another, both with the bytes red, green, blue, alpha from the lowest.
    @inline(__always)
    fileprivate func mixed(_ front: UInt32, _ behind: UInt32) -> UInt32 {
        let (above, below) = (front >> 24, behind >> 24)
        if above == 255 || self == .source { return front }
        if above == 0 { return behind }
        var mixed: UInt32 = 0
        switch self {
        case .source: return front
        case .over:
            if below == 0 { return front }
            // Both weights times 255.
            let (upper, lower) = (above * 255, below * (255 - above))
            let alpha = upper + lower
            for shift in [UInt32(0), 8, 16] {
                let sum = (front >> shift & 255) * upper + (behind >> shift & 255) * lower
                mixed |= ((sum * 2 + alpha) / (alpha * 2)) << shift
            }
            return mixed | ((alpha * 2 + 255) / 510) << 24
        case .overAsLibwebp:
            let rest = (below * (256 - above)) >> 8
            let alpha = above + rest
            let scale = (1 << 24) / alpha
            for shift in [UInt32(0), 8, 16] {
                let sum = (front >> shift & 255) * above + (behind >> shift & 255) * rest
                mixed |= ((sum &* scale) >> 24) << shift
            }
            return mixed | alpha << 24
        }
    }
}
