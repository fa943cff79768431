import HalcyonImages
import HalcyonNetworking
import HalcyonPipeline

/// The options of one request of a view.
public struct DisplayOptions: Sendable {
    /// The options of the load. Default: those of the manager. A binding reports on the main actor whatever
    /// `ImageOptions.callbackQueue` states.
    public var load: ImageOptions?
    /// How the image appears. It is used for images that were not cached, and only while the view is visible. Default:
    /// none.
    public var transition = ImageTransition.none
    /// Whether the transition is used for cached images, too. Default: `false`.
    public var forcesTransition = false
    /// Whether the picture that the view shows stays until the image arrives, in place of the placeholder. Default:
    /// `false`.
    public var keepsCurrentImage = false
    /// The picture that is shown if the load fails. Default: none; the placeholder stays.
    public var failureImage: Bitmap?
    /// What becomes of the load while the view is not on the screen. Default: its priority is lowered.
    public var whenDisappearing = DisappearanceBehavior.lowersPriority
    /// The size to which pictures are decoded. Default: full size.
    public var downsampling = Downsampling.none

    /// Creates options with the defaults.
    public init() {}

    /// Creates options and sets some of them.
    public init(_ set: (inout DisplayOptions) -> Void) { set(&self) }

    /// Returns the options of a load for a view of a size; `nil` for those of the manager.
    func loadOptions(
        for size: DisplaySize?, defaultProcessor: (any ImageProcessor)?
    ) -> ImageOptions? {
        guard let pixels = downsampling.size(for: size) else { return load }
        var options = load ?? ImageOptions()
        let downsample = DownsamplingImageProcessor(size: pixels)
        if let processor = options.processor ?? defaultProcessor {
            options.processor = downsample |> processor
        } else {
            options.processor = downsample
        }
        return options
    }
}

/// The size to which pictures are decoded. A smaller size takes less memory and time. Each size is a cached variant of
/// its own.
public enum Downsampling: Sendable, Hashable {
    /// The size of the file.
    case none
    /// At most the size of the view in pixels, when the image is requested. Pictures keep their proportions and are
    /// never enlarged. The size of the file is used where the view does not know its size, or has none yet.
    case toView
    /// At most this size.
    case to(PixelSize)

    func size(for view: DisplaySize?) -> PixelSize? {
        switch self {
        case .none: nil
        case .toView: view?.pixels
        case .to(let size): size
        }
    }
}

/// Why a view does not show a requested image.
public enum DisplayError: CancellationRepresenting, CustomStringConvertible {
    /// Another request was set before the image arrived.
    case superseded
    /// The request was cancelled.
    case cancelled
    /// The view was released.
    case viewGone
    /// The request has no resource, which removes the image of the view.
    case noResource
    /// The load has failed, with the error of the manager.
    case loadFailed(any Error)

    /// One sentence that says what is wrong.
    public var description: String {
        switch self {
        case .superseded: "Another image was requested for the view."
        case .cancelled: "The request was cancelled."
        case .viewGone: "The view was released before the image arrived."
        case .noResource: "No resource was requested."
        case .loadFailed(let error): "The image could not be loaded: \(error)"
        }
    }

    /// Whether the request was replaced or cancelled, or its view released, so that there is no failure to report.
    public var representsCancellation: Bool {
        switch self {
        case .superseded, .cancelled, .viewGone: true
        case .noResource: false
        case .loadFailed(let error): error.isCancellation
        }
    }
}
