import Foundation
import HalcyonImages
import HalcyonNetworking
import HalcyonPipeline

/// A request for a view, built step by step, as by Kingfisher's `KF`, with the same names of steps. Each step returns a changed copy.
///
/// ```swift
/// ImageContext.url(url)
///     .placeholder(grey)
///     .downsampling(.toView)
///     .fade(.milliseconds(250))
///     .onFailure { error in print(error) }
///     .set(to: cell.images)
/// ```
public struct ImageContext: Sendable {
    /// The resource; `nil` for none, which removes the image of the view.
    public var resource: Resource?
    /// What is shown until the image arrives. Default: nothing.
    public var placeholder: ImagePlaceholder?
    /// The options of the display and of the load.
    public var options = DisplayOptions()
    var progress: (@MainActor (DownloadProgress) -> Void)?
    var completion: ImageBinding.Completion?

    /// Creates the request of a resource.
    public init(_ resource: Resource?) { self.resource = resource }

    /// The request of a URL, also a file's.
    ///
    /// - Parameter cacheKey: the key in the cache; by default the URL.
    public static func url(_ url: URL?, cacheKey: String? = nil) -> Self {
        Self(url.map { Resource($0, cacheKey: cacheKey) })
    }

    /// The request of a source.
    public static func source(_ source: Source?) -> Self { Self(source.map { Resource($0) }) }

    /// The request of a resource.
    public static func resource(_ resource: Resource?) -> Self { Self(resource) }

    /// The request of bytes in memory.
    public static func data(_ data: Data, cacheKey: String) -> Self { source(.data(data, cacheKey: cacheKey)) }

    /// What distinguishes the image from others: its key, its user, its processor and its size. A view that is described again loads again
    /// where this differs.
    var identity: [String?] {
        [resource?.cacheKey, resource?.user, options.load?.processor?.identifier, "\(options.downsampling)"]
    }

    /// Requests the image for a view. See ``ImageBinding/setImage(with:placeholder:options:progress:completion:)-(Resource?,_,_,_,_)``.
    ///
    /// - Returns: whether the image was in memory, and is shown.
    @MainActor
    @discardableResult
    public func set(to binding: ImageBinding) -> Bool {
        binding.setImage(
            with: resource, placeholder: placeholder, options: options, progress: progress, completion: completion)
    }

    // MARK: What is shown

    /// Shows a picture until the image arrives.
    public func placeholder(_ picture: Bitmap?) -> Self { with { $0.placeholder = picture.map { .picture($0) } } }

    /// Shows a placeholder of any kind until the image arrives.
    public func placeholder(_ placeholder: ImagePlaceholder?) -> Self { with { $0.placeholder = placeholder } }

    /// Shows a picture if the load fails.
    public func onFailureImage(_ picture: Bitmap?) -> Self { with { $0.options.failureImage = picture } }

    /// Keeps the picture that the view shows until the image arrives.
    public func keepCurrentImage(_ keeps: Bool = true) -> Self { with { $0.options.keepsCurrentImage = keeps } }

    /// Shows previews of a progressive JPEG while it is transferred, at most a number a second; see `ImageOptions.previewsPerSecond`.
    public func previews(perSecond: Double = 4) -> Self { load { $0.previewsPerSecond = perSecond } }

    /// Blends the image in over some time.
    public func fade(_ duration: Duration) -> Self { transition(.fade(duration)) }

    /// Sets the transition.
    public func transition(_ transition: ImageTransition) -> Self { with { $0.options.transition = transition } }

    /// Uses the transition for cached images, too.
    public func forceTransition(_ forces: Bool = true) -> Self { with { $0.options.forcesTransition = forces } }

    /// Sets what becomes of the load while the view is not on the screen.
    public func whenDisappearing(_ behavior: DisappearanceBehavior) -> Self {
        with { $0.options.whenDisappearing = behavior }
    }

    /// Sets the categories of the image, which policies and rules of a cache use.
    public func categories(_ categories: [String]) -> Self { with { $0.resource?.categories = categories } }

    /// Sets the user who requests the image; see `Resource.user`.
    public func user(_ user: String?) -> Self { with { $0.resource?.user = user } }

    // MARK: What is reported

    /// Adds a receiver of the progress.
    public func onProgress(_ receive: @escaping @MainActor (DownloadProgress) -> Void) -> Self {
        with { context in
            let first = context.progress
            context.progress = { progress in
                first?(progress)
                receive(progress)
            }
        }
    }

    /// Adds a receiver of the image.
    public func onSuccess(_ receive: @escaping @MainActor (ImageResult) -> Void) -> Self {
        onResult { if case .success(let result) = $0 { receive(result) } }
    }

    /// Adds a receiver of the error, also that of a request that was replaced or cancelled.
    public func onFailure(_ receive: @escaping @MainActor (DisplayError) -> Void) -> Self {
        onResult { if case .failure(let error) = $0 { receive(error) } }
    }

    /// Adds a receiver of the result.
    public func onResult(_ receive: @escaping ImageBinding.Completion) -> Self {
        with { context in
            let first = context.completion
            context.completion = { result in
                first?(result)
                receive(result)
            }
        }
    }

    func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}
