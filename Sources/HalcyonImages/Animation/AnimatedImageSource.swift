/// A frame of an animation as its file says it.
public struct AnimationFrame: Sendable, Hashable {
    /// What becomes of a frame's place before the next one is drawn.
    public enum Disposal: String, Sendable, Hashable {
        /// The frame stays.
        case keep
        /// Its rectangle becomes transparent.
        case background
        /// Its rectangle becomes what it was before the frame.
        case previous
    }

    /// How a frame is drawn.
    public enum Blend: String, Sendable, Hashable {
        /// It replaces what is there, also with transparency.
        case source
        /// It is put over what is there by its alpha (PNG, section 13.16), each channel rounded to the nearest.
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
    /// How long it is shown, as the file says. Browsers show for 100 ms what is to be shown for at most 10 ms.
    public var duration: Duration
    /// What becomes of it.
    public var disposal: Disposal
    /// How it is drawn.
    public var blend: Blend

    /// A frame of its parts.
    public init(x: Int, y: Int, size: PixelSize, duration: Duration, disposal: Disposal, blend: Blend) {
        (self.x, self.y, self.size, self.duration) = (x, y, size, duration)
        (self.disposal, self.blend) = (disposal, blend)
    }

    /// Whether it covers a canvas.
    func covers(_ canvas: PixelSize) -> Bool { x == 0 && y == 0 && size == canvas }
}

/// The frames of an animated file, each as it is stored; ``ImageAnimation`` draws them one over the other.
public protocol AnimatedImageSource: Sendable {
    /// The canvas.
    var size: PixelSize { get }
    /// At least one; each lies inside of the canvas.
    var frames: [AnimationFrame] { get }
    /// How many times the frames are shown; `nil`: for ever.
    var plays: Int? { get }
    /// Returns the pixels of a frame, in the frame's own size. Called on any thread, also at the same time.
    func pixels(ofFrame index: Int) throws -> Bitmap
}
