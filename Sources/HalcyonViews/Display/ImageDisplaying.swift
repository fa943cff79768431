import HalcyonImages
import HalcyonNetworking

/// A view that shows a picture. ``ImageBinding`` loads pictures for it.
///
/// ```swift
/// final class PictureCell: ImageDisplaying {
///     private(set) lazy var images = ImageBinding(self)
///     private var texture: Bitmap?
///
///     func display(_ picture: Bitmap?, transition: ImageTransition) { texture = picture }
/// }
/// ```
///
/// A view owns its binding, as `images` here. When the view is released, the binding is released with it and cancels
/// the load.
@MainActor
public protocol ImageDisplaying: AnyObject {
    /// Replaces the picture of the view.
    ///
    /// - Parameters:
    ///   - picture: the picture; `nil` for none.
    ///   - transition: how the picture appears. A view may ignore it. It is never ``ImageTransition/custom(_:)``.
    func display(_ picture: Bitmap?, transition: ImageTransition)

    /// The size of the view, which bounds the size of decoded pictures (``Downsampling/toView``). Default: `nil`, not
    /// known.
    var displaySize: DisplaySize? { get }
}

extension ImageDisplaying {
    public var displaySize: DisplaySize? { nil }
}

/// The size of a view, and the resolution of its screen.
public struct DisplaySize: Sendable, Hashable {
    /// The width in points.
    public var width: Double
    /// The height in points.
    public var height: Double
    /// The pixels of a point, in each direction. Default: 1.
    public var scale: Double

    /// Creates a size.
    public init(width: Double, height: Double, scale: Double = 1) {
        (self.width, self.height, self.scale) = (width, height, scale)
    }

    /// The size in pixels, rounded up; `nil` if a side or the scale is not positive, or a side exceeds 1,000,000
    /// pixels.
    public var pixels: PixelSize? {
        let (width, height) = (width * scale, height * scale)
        guard self.width > 0, self.height > 0, scale > 0, width <= 1e6, height <= 1e6 else { return nil }
        return PixelSize(width: Int(width.rounded(.up)), height: Int(height.rounded(.up)))
    }
}

/// How a picture appears in a view.
public enum ImageTransition: Sendable {
    /// At once.
    case none
    /// The picture is blended in over this time.
    case fade(Duration)
    /// A function shows the picture. It must call ``ImageDisplaying/display(_:transition:)`` of the view, as within an
    /// animation.
    case custom(@MainActor (_ view: any ImageDisplaying, _ picture: Bitmap) -> Void)
}

/// What a view shows until its image arrives.
public enum ImagePlaceholder: Sendable {
    /// A picture.
    case picture(Bitmap)
    /// An object that adds itself to the view.
    case custom(any PlaceholderPresenting)
}

/// A placeholder that is more than a picture, such as a view of its own.
@MainActor
public protocol PlaceholderPresenting: AnyObject, Sendable {
    /// Adds the placeholder to a view, which shows no picture.
    func add(to view: any ImageDisplaying)
    /// Removes the placeholder. Called once for each ``add(to:)``, unless the view is released first.
    func remove(from view: any ImageDisplaying)
}

/// Shows that an image is loading.
@MainActor
public protocol ImageIndicator: AnyObject, Sendable {
    /// Starts. Calls of `start` and ``stop()`` alternate.
    func start()
    /// Stops. Called once for each ``start()``: when the image has arrived, the load has failed or was cancelled, or
    /// the view is released.
    func stop()
    /// Shows the progress of the load. Called between `start` and `stop` only. Default: ignores it.
    func report(_ progress: DownloadProgress)
}

extension ImageIndicator {
    public func report(_ progress: DownloadProgress) {}
}
