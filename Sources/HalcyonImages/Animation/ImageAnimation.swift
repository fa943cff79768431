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
/// Frames are whole pictures in the size of the canvas. A request decodes the stored frames that its frame is drawn
/// over, back to one that is in the pool, that the animation holds, or that depends on no earlier one. So it decodes
///
/// - at most 1 for the next frame, and for the first one after the last, with any number of animations and any size;
/// - 0 for the same frame again;
/// - at most k for a frame k frames later;
/// - at most the pool's spacing for any frame, once the pool has kept frames of that part (``AnimationFramePool``);
/// - those back to the last frame that depends on no earlier one, for any other. None is decoded twice.
///
/// Each animation holds one canvas, or two; see ``AnimationFramePool``. It also holds the bytes of the file, which are
/// not part of the pool's limit.
public final class ImageAnimation: Sendable {
    private let source: any AnimatedImageSource
    private let pool: AnimationFramePool
    /// For each frame, the frame on whose picture it is drawn; `nil` for an empty canvas.
    private let bases: [Int?]
    /// For each frame, the frame whose picture is left when it ends, itself unless its disposal is `previous`; `nil`
    /// for an empty canvas.
    private let left: [Int?]
    /// For each frame, the number of frames before it that can be left; -1 if itself cannot.
    private let places: [Int]

    /// Creates an animation of a source. O(frames).
    ///
    /// - Parameter pool: the pool of decoded frames; by default the one that all animations share.
    public init(_ source: any AnimatedImageSource, pool: AnimationFramePool = .shared) {
        self.source = source
        self.pool = pool
        let (canvas, frames) = (source.size, source.frames)
        var (bases, left): ([Int?], [Int?]) = ([], [])
        // Whether the frame before is drawn on an empty canvas, by libwebp's rule for key frames.
        var isKey = true
        var (places, count) = ([Int](), 0)
        for (index, frame) in frames.enumerated() {
            if index > 0 {
                let before = frames[index - 1]
                isKey =
                    frame.covers(canvas) && frame.blend == .source
                    || before.disposal == .background && (before.covers(canvas) || isKey)
            }
            bases.append(isKey || index == 0 ? nil : left[index - 1])
            let isLeft = frame.disposal != .previous
            left.append(isLeft ? index : index == 0 ? nil : left[index - 1])
            places.append(isLeft ? count : -1)
            if isLeft { count += 1 }
        }
        (self.bases, self.left, self.places) = (bases, left, places)
    }

    deinit { pool.remove(ObjectIdentifier(self)) }

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
    /// - Throws: the error of the decoder, also if a frame is damaged that this one is drawn over. Earlier frames can
    ///   be shown all the same.
    public func frame(at index: Int) throws -> Bitmap {
        guard source.frames.indices.contains(index) else {
            throw ImageError.invalidParameter(
                "Frame \(index) is none; an animation of \(source.frames.count) frames has 0 to \(source.frames.count - 1)"
            )
        }
        let (id, count) = (ObjectIdentifier(self), source.frames.count)
        // The frames to draw, in reverse order, back to one whose canvas is at hand or empty.
        var needed: [Int] = []
        var picture: Bitmap?
        var next: Int? = index
        while picture == nil, let current = next {
            picture = pool.canvas(id, current)
            if picture == nil { needed.append(current) }
            next = bases[current]
        }
        var pixels = picture?.pixels
        var base: Bitmap?
        for current in needed.reversed() {
            if current == index, left[index] == bases[index] { base = picture ?? pixels.map(canvas) }
            picture = nil
            try draw(current, on: &pixels)
            guard let drawn = pixels, current == index || pool.wants(id, place: places[current], size: drawn.count)
            else { continue }
            let made = canvas(drawn)
            pool.keep(id, count: count, current, place: places[current], made)
            picture = made
        }
        let shown = picture ?? canvas([UInt8](repeating: 0, count: size.pixelCount * 4))
        let restored = left[index] == index ? nil : left[index].map { (index: $0, canvas: base) }
        pool.show(id, count: count, index, shown, for: source.frames[index].duration, restored: restored)
        return shown
    }

    private func canvas(_ pixels: [UInt8]) -> Bitmap { Bitmap(size: size, pixels: pixels, isOpaque: nil) }

    /// Draws a frame on the canvas of the frame it is drawn over, `nil` for an empty one.
    private func draw(_ index: Int, on canvas: inout [UInt8]?) throws {
        let frame = source.frames[index]
        let part = try source.pixels(ofFrame: index)
        guard part.size == frame.size, frame.x >= 0, frame.y >= 0, frame.x + frame.size.width <= size.width,
            frame.y + frame.size.height <= size.height
        else { throw ImageError.invalidSize(part.size) }
        if frame.covers(size), canvas == nil || frame.blend == .source {
            canvas = part.pixels
            return
        }
        let isEmpty = canvas == nil
        var pixels = canvas ?? [UInt8](repeating: 0, count: size.pixelCount * 4)
        canvas = nil
        // The rectangle that becomes transparent before this frame.
        let before = bases[index].map { source.frames[$0] }
        let cleared = before?.disposal == .background ? before : nil
        pixels.withUnsafeMutableBytes { canvas in
            part.pixels.withUnsafeBytes { part in
                let (canvas, part) = (canvas.bindMemory(to: UInt32.self), part.bindMemory(to: UInt32.self))
                if let cleared {
                    for y in cleared.y..<cleared.y + cleared.size.height {
                        let row = y * size.width + cleared.x
                        canvas[row..<row + cleared.size.width].update(repeating: 0)
                    }
                }
                for y in 0..<frame.size.height {
                    let (row, from) = ((y + frame.y) * size.width + frame.x, y * frame.size.width)
                    if isEmpty || frame.blend == .source {
                        let stored = UnsafeBufferPointer(rebasing: part[from..<from + frame.size.width])
                        _ = UnsafeMutableBufferPointer(rebasing: canvas[row..<row + frame.size.width]).update(
                            fromContentsOf: stored)
                        continue
                    }
                    for x in 0..<frame.size.width {
                        let front = UInt32(littleEndian: part[from &+ x])
                        let isEmpty = cleared?.contains(x + frame.x, y + frame.y) == true
                        let behind = UInt32(littleEndian: canvas[row &+ x])
                        canvas[row &+ x] = (isEmpty ? front : frame.blend.mixed(front, behind)).littleEndian
                    }
                }
            }
        }
        canvas = pixels
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
