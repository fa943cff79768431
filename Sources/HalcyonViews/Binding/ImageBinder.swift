import HalcyonImages
import HalcyonNetworking
import HalcyonPipeline
import Observation

#if canImport(CoreGraphics)
    import CoreGraphics
#endif

/// The image of a view that is described by its state, as in SwiftUI: an object to observe, in place of a view to
/// change.
///
/// ```swift
/// let binder = ImageBinder()
/// binder.show(ImageContext.url(url).downsampling(.to(PixelSize(width: 400, height: 300))))
/// // A view that reads binder.picture is drawn again when the picture arrives.
/// ```
///
/// Releasing it cancels the load.
@MainActor
@Observable
public final class ImageBinder: ImageDisplaying {
    /// The picture to show: the image, its placeholder or its failure image; `nil` for none.
    public private(set) var picture: Bitmap?
    /// The transition with which ``picture`` appears; never ``ImageTransition/custom(_:)``.
    public private(set) var transition = ImageTransition.none
    /// Whether the image is loading.
    public private(set) var isLoading = false
    /// The progress of the load; `nil` before the first bytes, and when no image is loading.
    public private(set) var progress: DownloadProgress?
    /// Why the last request has no image; `nil` for a pending request, or one whose image is shown.
    public private(set) var error: DisplayError?
    #if canImport(CoreGraphics)
        /// ``picture`` as an image of Core Graphics, converted once. It changes with ``picture``, which is observed.
        @ObservationIgnored private(set) var drawn: CGImage?
    #endif
    /// The size of the view that shows the picture, for ``Downsampling/toView``. Set it before the image is requested.
    /// Default: `nil`.
    @ObservationIgnored public var displaySize: DisplaySize?

    @ObservationIgnored private let manager: HalcyonManager
    @ObservationIgnored private lazy var binding: ImageBinding = {
        let binding = ImageBinding(self, manager: manager)
        binding.indicator = BinderIndicator(self)
        return binding
    }()

    /// Creates a binder without an image.
    public init(manager: HalcyonManager = .shared) { self.manager = manager }

    /// Requests an image, in place of the one before. An image in memory is the ``picture`` when this returns.
    public func show(_ context: ImageContext) {
        error = nil
        var context = context
        let completion = context.completion
        context.completion = { [weak self] result in
            self?.note(result)
            completion?(result)
        }
        context.set(to: binding)
    }

    /// Cancels the request that is pending. ``picture`` stays.
    public func cancel() { binding.cancel() }

    /// Notes that the view is on the screen.
    public func appeared() { binding.appeared() }

    /// Notes that the view is no longer on the screen; see ``DisplayOptions/whenDisappearing``.
    public func disappeared() { binding.disappeared() }

    public func display(_ picture: Bitmap?, transition: ImageTransition) {
        #if canImport(CoreGraphics)
            drawn = picture?.cgImage
        #endif
        (self.transition, self.picture) = (transition, picture)
    }

    private func note(_ result: Result<ImageResult, DisplayError>) {
        switch result {
        case .success: error = nil
        // A newer request has an outcome of its own.
        case .failure(.superseded): break
        case .failure(let error): self.error = error
        }
    }

    fileprivate func indicate(_ isLoading: Bool, _ progress: DownloadProgress? = nil) {
        (self.isLoading, self.progress) = (isLoading, progress)
    }
}

/// Sets the properties of a binder that say that it loads.
@MainActor
private final class BinderIndicator: ImageIndicator {
    private weak var binder: ImageBinder?

    init(_ binder: ImageBinder) { self.binder = binder }

    func start() { binder?.indicate(true) }
    func stop() { binder?.indicate(false) }
    func report(_ progress: DownloadProgress) { binder?.indicate(true, progress) }
}
