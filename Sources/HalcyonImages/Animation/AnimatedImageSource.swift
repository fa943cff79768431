/// A stored frame of an animation.
public struct AnimationFrame: Sendable, Hashable {
    /// The disposal of a frame before the next one is drawn.
    public enum Disposal: String, Sendable, Hashable {
        /// The frame stays.
        case keep
        /// Its rectangle becomes transparent.
        case background
        /// Its rectangle is restored to its contents before the frame.
        case previous
    }

    /// How a frame is drawn.
    public enum Blend: String, Sendable, Hashable {
        /// It replaces the pixels of the canvas, also with transparent ones.
        case source
        /// It is drawn over the canvas by its alpha (PNG, section 13.16), each channel rounded to the nearest.
        case over
        /// As ``over``, in libwebp's integer arithmetic, which is up to 2 levels darker.
        case overAsLibwebp
    }

    /// The left edge on the canvas, in pixels.
    public var x: Int
    /// The top edge on the canvas, in pixels.
    public var y: Int
    /// The size, in pixels.
    public var size: PixelSize
    /// The duration that the file specifies. Browsers show a frame of at most 10 ms for 100 ms.
    public var duration: Duration
    /// Its disposal before the next frame is drawn.
    public var disposal: Disposal
    /// How it is drawn.
    public var blend: Blend

    /// Creates a frame.
    public init(x: Int, y: Int, size: PixelSize, duration: Duration, disposal: Disposal, blend: Blend) {
        (self.x, self.y, self.size, self.duration) = (x, y, size, duration)
        (self.disposal, self.blend) = (disposal, blend)
    }

    /// Returns whether the frame covers a canvas.
    func covers(_ canvas: PixelSize) -> Bool { x == 0 && y == 0 && size == canvas }
}

/// A source of the stored frames of an animated file. ``ImageAnimation`` draws them one over the other.
public protocol AnimatedImageSource: Sendable {
    /// The size of the canvas, in pixels.
    var size: PixelSize { get }
    /// The stored frames: at least one, each inside the canvas.
    var frames: [AnimationFrame] { get }
    /// The number of times to show the frames; `nil` for endless repetition.
    var plays: Int? { get }
    /// Returns the pixels of a frame, in the frame's own size. Called on any thread, also concurrently.
    func pixels(ofFrame index: Int) throws -> Bitmap
}
