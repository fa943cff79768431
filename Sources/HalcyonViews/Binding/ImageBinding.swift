import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking
import HalcyonPipeline
import HalcyonSupport

/// Loads images for one view.
///
/// ```swift
/// cell.images.setImage(with: Resource(url), placeholder: .picture(grey)) { result in
///     if case .failure(.loadFailed(let error)) = result { print(error) }
/// }
/// ```
///
/// The view shows the last image that was set, whatever the order in which images arrive. An image in memory is shown
/// before ``setImage(with:placeholder:options:progress:completion:)-(Resource?,_,_,_,_)`` returns. Each completion is called once, on the
/// main actor; that of a replaced request is called with ``DisplayError/superseded``.
///
/// The view owns the binding, and the binding refers to the view weakly. When the view is released, the load is
/// cancelled and its transfer is closed unless another load needs it.
@MainActor
public final class ImageBinding {
    /// The result of a request.
    public typealias Completion = @MainActor (Result<ImageResult, DisplayError>) -> Void

    /// The view.
    public private(set) weak var view: (any ImageDisplaying)?
    /// Loads the images.
    public let manager: HalcyonManager
    /// Shows that an image is loading. A change takes effect with the next load. Default: none.
    public var indicator: (any ImageIndicator)?

    /// That of the manager's default options, which take longer to copy than a hit in memory.
    private let defaultProcessor: (any ImageProcessor)?
    private var state = DisplayState<LoadKey>()
    private var requests: [Int: DisplayRequest] = [:]
    private var lastRequest = 0
    private var running: RunningLoad?
    private var indicating: RunningIndicator?
    private var placeholder: (any PlaceholderPresenting)?
    private var isPerforming = false
    /// Events that a view caused while actions were performed.
    private var inbox: [Input] = []

    /// Creates the binding of a view.
    public init(_ view: any ImageDisplaying, manager: HalcyonManager = .shared) {
        (self.view, self.manager) = (view, manager)
        defaultProcessor = manager.defaultOptions.processor
    }

    /// Whether an image is loading.
    public var isLoading: Bool { state.currentLoad != nil }

    /// Shows the image of a resource, in place of what was requested before.
    ///
    /// If the view is loading the same image already, with the same user, processor, cache and downloader, that load
    /// continues. Options such as retries and expirations are then those of the request that started it.
    ///
    /// - Parameters:
    ///   - resource: the resource; `nil` cancels the load, and shows the placeholder or nothing.
    ///   - placeholder: shown until the image arrives; by default nothing is.
    ///   - progress: receives the progress of the transfer.
    ///   - completion: called once.
    /// - Returns: whether the image was in memory, and is shown.
    @discardableResult
    public func setImage(
        with resource: Resource?, placeholder: ImagePlaceholder? = nil, options: DisplayOptions = DisplayOptions(),
        progress: (@MainActor (DownloadProgress) -> Void)?, completion: Completion? = nil
    ) -> Bool {
        lastRequest += 1
        let id = lastRequest
        let loadOptions = options.loadOptions(for: view?.displaySize, defaultProcessor: defaultProcessor)
        requests[id] = DisplayRequest(
            resource: resource, placeholder: placeholder, options: options, loadOptions: loadOptions,
            progress: progress,
            completion: PendingCompletion(completion))
        guard let resource else {
            handle(Input(.clear(id)))
            return false
        }
        let found = view == nil ? nil : manager.imageInMemory(for: resource, options: loadOptions)
        var request = DisplayState<LoadKey>.Request(id: id, key: LoadKey(resource, loadOptions, defaultProcessor))
        request.isInMemory = found != nil
        request.keepsCurrentImage = options.keepsCurrentImage
        request.forcesTransition = options.forcesTransition
        request.hasFailureImage = options.failureImage != nil
        request.whenDisappearing = options.whenDisappearing
        handle(Input(.set(request), found.map { .success($0) }))
        return found != nil
    }

    /// Shows the image of a resource; see ``setImage(with:placeholder:options:progress:completion:)-(Resource?,_,_,_,_)``.
    @discardableResult
    public func setImage(
        with resource: Resource?, placeholder: ImagePlaceholder? = nil, options: DisplayOptions = DisplayOptions(),
        completion: Completion? = nil
    ) -> Bool {
        setImage(with: resource, placeholder: placeholder, options: options, progress: nil, completion: completion)
    }

    /// Shows the image of a URL, also a file's; see ``setImage(with:placeholder:options:progress:completion:)-(Resource?,_,_,_,_)``.
    @_disfavoredOverload
    @discardableResult
    public func setImage(
        with url: URL?, placeholder: ImagePlaceholder? = nil, options: DisplayOptions = DisplayOptions(),
        progress: (@MainActor (DownloadProgress) -> Void)?, completion: Completion? = nil
    ) -> Bool {
        setImage(
            with: url.map { Resource($0) }, placeholder: placeholder, options: options, progress: progress,
            completion: completion)
    }

    /// Shows the image of a URL, also a file's; see ``setImage(with:placeholder:options:progress:completion:)-(Resource?,_,_,_,_)``.
    @_disfavoredOverload
    @discardableResult
    public func setImage(
        with url: URL?, placeholder: ImagePlaceholder? = nil, options: DisplayOptions = DisplayOptions(),
        completion: Completion? = nil
    ) -> Bool {
        setImage(with: url, placeholder: placeholder, options: options, progress: nil, completion: completion)
    }

    /// Cancels the request that is pending. What the view shows stays.
    public func cancel() { handle(Input(.cancel)) }

    /// Notes that the view is on the screen. Setting an image does so, too.
    public func appeared() { handle(Input(.appeared)) }

    /// Notes that the view is no longer on the screen; see ``DisplayOptions/whenDisappearing``.
    public func disappeared() { handle(Input(.disappeared)) }

    // MARK: - Inside

    /// An event, and the result or progress that comes with it.
    private struct Input {
        var event: DisplayState<LoadKey>.Event
        var result: Result<ImageResult, any Error>?
        var progress: DownloadProgress?
        var preview: Bitmap?

        init(_ event: DisplayState<LoadKey>.Event, _ result: Result<ImageResult, any Error>? = nil) {
            (self.event, self.result) = (event, result)
        }
    }

    /// Handles an event. Events that the view causes while actions are performed follow afterwards; completions may
    /// cause any.
    private func handle(_ input: Input) {
        inbox.append(input)
        guard !isPerforming else { return }
        while !inbox.isEmpty {
            let input = inbox.removeFirst()
            if view == nil, !state.isGone { perform(Input(.gone)) }
            perform(input)
        }
    }

    private func perform(_ input: Input) {
        let actions = state.handle(input.event)
        isPerforming = true
        var ended: [(PendingCompletion, Result<ImageResult, DisplayError>)] = []
        for action in actions {
            if case .complete(let id, let outcome) = action {
                guard let request = requests.removeValue(forKey: id) else { continue }
                ended.append((request.completion, outcome.result(input.result)))
            } else {
                perform(action, input)
            }
        }
        isPerforming = false
        for (completion, result) in ended { completion.call(result) }
    }

    private func perform(_ action: DisplayState<LoadKey>.Action, _ input: Input) {
        switch action {
        case .cancel: running = nil
        case .showPlaceholder(let id): show(requests[id]?.placeholder)
        case .show(let id, let withTransition):
            guard let request = requests[id], case .success(let result)? = input.result else { return }
            show(result.image, withTransition ? request.options.transition : .none)
        case .showPreview: show(input.preview, .none)
        case .showFailureImage(let id): show(requests[id]?.options.failureImage, .none)
        case .startIndicator: indicating = indicator.map(RunningIndicator.init)
        case .stopIndicator:
            indicating?.stop()
            (indicating, running) = (nil, nil)
        case .load(let load, let id): start(load, id)
        case .setPriority(let load, let isLow):
            guard let id = state.pendingRequest, let request = requests[id], load == state.currentLoad else { return }
            running?.task.setPriority(isLow ? .low : request.priority(manager))
        case .report(let id):
            guard let progress = input.progress else { return }
            requests[id]?.progress?(progress)
            indicating?.indicator.report(progress)
        case .complete: break
        }
    }

    private func show(_ picture: Bitmap?, _ transition: ImageTransition) {
        guard let view else { return }
        removePlaceholder(view)
        if case .custom(let show) = transition, let picture {
            show(view, picture)
        } else {
            view.display(picture, transition: transition)
        }
    }

    private func show(_ placeholder: ImagePlaceholder?) {
        switch placeholder {
        case .picture(let picture): show(picture, .none)
        case .custom(let custom):
            show(nil, .none)
            guard let view else { return }
            custom.add(to: view)
            self.placeholder = custom
        case nil: show(nil, .none)
        }
    }

    private func removePlaceholder(_ view: any ImageDisplaying) {
        placeholder?.remove(from: view)
        placeholder = nil
    }

    private func start(_ load: Int, _ id: Int) {
        guard let request = requests[id], let resource = request.resource else { return }
        var options = request.loadOptions ?? ImageOptions()
        let progress = options.onProgress ?? manager.defaultOptions.onProgress
        options.callbackQueue = .untouch
        options.onProgress = { [weak self] received in
            Task { @MainActor in
                progress?(received)
                self?.received(received, load)
            }
        }
        let preview = options.onPreview ?? manager.defaultOptions.onPreview
        options.onPreview = { [weak self] picture in
            Task { @MainActor in
                preview?(picture)
                self?.previewed(picture, load)
            }
        }
        running = RunningLoad(
            manager.retrieveImage(with: resource, options: options) { [weak self] result in
                Task { @MainActor in self?.ended(load, result) }
            })
    }

    private func received(_ progress: DownloadProgress, _ load: Int) {
        var input = Input(.progress(load))
        input.progress = progress
        handle(input)
    }

    private func previewed(_ picture: Bitmap, _ load: Int) {
        var input = Input(.preview(load))
        input.preview = picture
        handle(input)
    }

    private func ended(_ load: Int, _ result: Result<ImageResult, any Error>) {
        switch result {
        case .success(let found): handle(Input(.arrived(load, wasCached: found.cacheType != .none), result))
        case .failure: handle(Input(.failed(load), result))
        }
    }
}

/// What makes two requests want the same load: a request with an equal key continues the load that is running.
struct LoadKey: Hashable, Sendable {
    private let cacheKey: ByteName
    private let user: ByteName?
    private let processor: ByteName
    private let cache: ObjectIdentifier?
    private let downloader: ObjectIdentifier?
    private let flags: UInt8
    private let readsFrom: CacheTiers?

    init(_ resource: Resource, _ options: ImageOptions?, _ defaultProcessor: (any ImageProcessor)?) {
        (cacheKey, user) = (ByteName(resource.cacheKey), resource.user.map(ByteName.init))
        processor = ByteName((options?.processor ?? defaultProcessor)?.identifier ?? "")
        cache = options?.cache.map(ObjectIdentifier.init)
        downloader = options?.downloader.map(ObjectIdentifier.init)
        readsFrom = options?.readsFrom
        guard let options else {
            flags = 0
            return
        }
        flags = [
            options.forceRefresh, options.onlyFromCache, options.fromMemoryCacheOrRefresh, options.wantsOriginalData,
        ].reduce(0) { flags, flag in flags * 3 + (flag.map { $0 ? 2 : 1 } ?? 0) }
    }
}
