/// The display of one view: which request it shows, which load runs for it, and whether its indicator is on.
///
/// Events go in, actions come out. There are no views, loads or threads here. ``ImageBinding`` performs the actions.
///
/// - A view has at most one *pending* request: the last one that was set, until it is completed. Each request is
///   completed once.
/// - A pending request is *loading* or *suspended*. A suspended one has no load, because its view has disappeared.
/// - The indicator is on exactly while the request is loading.
/// - A request for the image that is being loaded already takes over that load.
/// - An event of a load that is not the current one is ignored.
///
/// Each event is O(1).
package struct DisplayState<Key: Hashable & Sendable>: Hashable, Sendable {
    /// The number of a request. The caller gives each request a new one.
    package typealias RequestID = Int
    /// The number of a load: 1 for the first.
    package typealias LoadID = Int

    /// A request to show an image.
    package struct Request: Hashable, Sendable {
        package let id: RequestID
        /// The identity of the image. A load continues for a new request with an equal key.
        package var key: Key
        /// Whether the image is in memory, so that it is shown at once.
        package var isInMemory = false
        /// Whether the picture that the view shows stays, in place of the placeholder, until the image is shown.
        package var keepsCurrentImage = false
        /// Whether also a cached image is shown with a transition.
        package var forcesTransition = false
        /// Whether a failure shows another image.
        package var hasFailureImage = false
        package var whenDisappearing = DisappearanceBehavior.lowersPriority

        package init(id: RequestID, key: Key) { (self.id, self.key) = (id, key) }
    }

    package enum Event: Hashable, Sendable {
        /// A request is set. It makes the view visible.
        case set(Request)
        /// The view is to show no image. The request number is completed as `empty`.
        case clear(RequestID)
        /// The pending request is cancelled. What the view shows stays.
        case cancel
        /// Bytes of a load have arrived.
        case progress(LoadID)
        /// A preview of the image of a load was made.
        case preview(LoadID)
        /// The image of a load has arrived.
        case arrived(LoadID, wasCached: Bool)
        /// A load has failed.
        case failed(LoadID)
        /// The view is on the screen.
        case appeared
        /// The view is no longer on the screen.
        case disappeared
        /// The view no longer exists.
        case gone
    }

    package enum Action: Hashable, Sendable {
        /// Cancel a load, which no request needs.
        case cancel(LoadID)
        /// Show the placeholder of a request, or nothing if it has none.
        case showPlaceholder(RequestID)
        /// Show the image of a request.
        case show(RequestID, withTransition: Bool)
        /// Show a preview of the image of a request.
        case showPreview(RequestID)
        /// Show the failure image of a request.
        case showFailureImage(RequestID)
        case startIndicator
        case stopIndicator
        /// Load the image of a request, with the priority of its options.
        case load(LoadID, RequestID)
        /// Change the priority of a load: to low, or back to that of its options.
        case setPriority(LoadID, isLow: Bool)
        /// Report the progress of a load to a request.
        case report(RequestID)
        /// Call the completion of a request.
        case complete(RequestID, DisplayOutcome)
    }

    private enum Phase: Hashable {
        case loading(LoadID, isLow: Bool)
        case suspended
    }

    private var pending: Request?
    private var phase = Phase.suspended
    private var lastLoad: LoadID = 0
    private var showsPicture = false
    private var showsPreview = false
    private var isVisible = true
    private(set) var isGone = false

    package init() {}

    /// The load of the pending request.
    package var currentLoad: LoadID? {
        guard pending != nil, case .loading(let load, _) = phase else { return nil }
        return load
    }

    /// The number of the pending request.
    package var pendingRequest: RequestID? { pending?.id }

    /// Handles an event. The actions must be performed in their order. Completions come last.
    package mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .set(let request): return set(request)
        case .clear(let id):
            if isGone { return [.complete(id, .gone)] }
            let (ended, completions) = end(.superseded)
            (showsPicture, showsPreview) = (false, false)
            return ended.cancels + [.showPlaceholder(id)] + ended.indicator + completions + [.complete(id, .empty)]
        case .cancel:
            let (ended, completions) = end(.cancelled)
            return ended.cancels + ended.indicator + completions
        case .progress(let load):
            guard load == currentLoad, let pending else { return [] }
            return [.report(pending.id)]
        case .preview(let load):
            guard load == currentLoad, let pending else { return [] }
            (showsPicture, showsPreview) = (false, true)
            return [.showPreview(pending.id)]
        case .arrived(let load, let wasCached):
            guard load == currentLoad, let request = pending else { return [] }
            (pending, showsPicture, showsPreview) = (nil, true, false)
            let withTransition = isVisible && (!wasCached || request.forcesTransition)
            return [.show(request.id, withTransition: withTransition), .stopIndicator, .complete(request.id, .shown)]
        case .failed(let load):
            guard load == currentLoad, let request = pending else { return [] }
            // A part of a picture does not stay.
            let wasPreview = showsPreview
            (pending, showsPreview) = (nil, false)
            if request.hasFailureImage { showsPicture = false }
            let shown: [Action] =
                request.hasFailureImage
                ? [.showFailureImage(request.id)] : wasPreview ? [.showPlaceholder(request.id)] : []
            return shown + [.stopIndicator, .complete(request.id, .failed)]
        case .appeared: return appeared()
        case .disappeared: return disappeared()
        case .gone:
            isGone = true
            let (ended, completions) = end(.gone)
            return ended.cancels + ended.indicator + completions
        }
    }

    private mutating func set(_ request: Request) -> [Action] {
        if isGone { return [.complete(request.id, .gone)] }
        isVisible = true
        if !request.isInMemory, pending?.key == request.key, case .loading(let load, let isLow) = phase {
            return takeOver(load, isLow, request)
        }
        let (ended, completions) = end(.superseded)
        if request.isInMemory {
            (showsPicture, showsPreview) = (true, false)
            let shown = Action.show(request.id, withTransition: request.forcesTransition)
            return ended.cancels + [shown] + ended.indicator + completions + [.complete(request.id, .shown)]
        }
        let placeholder = placeholder(request)
        let load = startLoad(request)
        return ended.cancels + placeholder + (ended.indicator.isEmpty ? [.startIndicator] : [])
            + [.load(load, request.id)] + completions
    }

    /// Lets a running load continue for a new request.
    private mutating func takeOver(_ load: LoadID, _ isLow: Bool, _ request: Request) -> [Action] {
        let superseded = pending.map { [Action.complete($0.id, .superseded)] } ?? []
        let placeholder = showsPreview ? [] : placeholder(request)
        (pending, phase) = (request, .loading(load, isLow: false))
        return placeholder + (isLow ? [.setPriority(load, isLow: false)] : []) + superseded
    }

    private mutating func placeholder(_ request: Request) -> [Action] {
        if request.keepsCurrentImage, showsPicture { return [] }
        (showsPicture, showsPreview) = (false, false)
        return [.showPlaceholder(request.id)]
    }

    private mutating func startLoad(_ request: Request) -> LoadID {
        lastLoad += 1
        (pending, phase) = (request, .loading(lastLoad, isLow: false))
        return lastLoad
    }

    /// Ends the pending request. Returns the actions that end its load, that which stops the indicator, and its
    /// completion.
    private mutating func end(
        _ outcome: DisplayOutcome
    ) -> (ended: (cancels: [Action], indicator: [Action]), completions: [Action]) {
        guard let request = pending else { return (([], []), []) }
        let load = currentLoad
        pending = nil
        let completions = [Action.complete(request.id, outcome)]
        guard let load else { return (([], []), completions) }
        return (([.cancel(load)], [.stopIndicator]), completions)
    }

    private mutating func appeared() -> [Action] {
        isVisible = true
        guard let request = pending else { return [] }
        switch phase {
        case .suspended:
            let load = startLoad(request)
            return [.startIndicator, .load(load, request.id)]
        case .loading(let load, isLow: true):
            phase = .loading(load, isLow: false)
            return [.setPriority(load, isLow: false)]
        case .loading(_, isLow: false): return []
        }
    }

    private mutating func disappeared() -> [Action] {
        isVisible = false
        guard let request = pending, case .loading(let load, isLow: false) = phase else { return [] }
        switch request.whenDisappearing {
        case .continues: return []
        case .lowersPriority:
            phase = .loading(load, isLow: true)
            return [.setPriority(load, isLow: true)]
        case .cancels:
            phase = .suspended
            return [.cancel(load), .stopIndicator]
        }
    }
}

/// What becomes of a view's load while the view is not on the screen.
public enum DisappearanceBehavior: String, Hashable, Sendable, CaseIterable {
    /// The load continues unchanged.
    case continues
    /// The load continues with a low priority. It returns to its own priority when the view appears.
    case lowersPriority
    /// The load is cancelled, and starts again when the view appears. The request stays pending meanwhile. The bytes
    /// that have arrived are lost unless the downloader can resume the transfer.
    case cancels
}

/// How a request ended.
package enum DisplayOutcome: Hashable, Sendable {
    case shown, failed, superseded, cancelled, empty, gone
}
