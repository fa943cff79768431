@testable import HalcyonViews

/// The expected display of a view as facts. The actions of an event are the differences between the facts before
/// and after it.
///
/// It shares no code with ``DisplayState``, which lists the actions of each event; the model states only the facts
/// afterwards.
struct DisplayModel: Hashable {
    typealias State = DisplayState<Int>

    private enum Screen: Hashable {
        case nothing
        case placeholder(Int), preview(Int), picture(Int), failure(Int)
    }

    private var isVisible = true
    private var isGone = false
    /// The last request, and its outcome once it has one.
    private var request: State.Request?
    private var outcome: DisplayOutcome?
    private var screen = Screen.nothing
    /// The load for the request.
    private var load: Int?
    private var loadCount = 0

    init() {}

    private var isPending: Bool { request != nil && outcome == nil }
    private var wantsLoad: Bool {
        isPending && !isGone && (isVisible || request?.whenDisappearing != .cancels)
    }
    private var isLow: Bool { load != nil && !isVisible && request?.whenDisappearing == .lowersPriority }
    private var showsPicture: Bool { if case .picture = screen { true } else { false } }
    private var showsPreview: Bool { if case .preview = screen { true } else { false } }

    /// Returns the actions that an event must have.
    mutating func expected(_ event: State.Event) -> [State.Action] {
        let before = self
        if isGone {
            switch event {
            case .set(let request): return [.complete(request.id, .gone)]
            case .clear(let id): return [.complete(id, .gone)]
            default: return []
            }
        }
        change(event)
        chooseLoad(before)
        return actions(from: before, event)
    }

    /// Changes all facts but the load.
    private mutating func change(_ event: State.Event) {
        switch event {
        case .set(let new):
            isVisible = true
            let continues = isPending && load != nil && request?.key == new.key
            (request, outcome) = (new, new.isInMemory ? .shown : nil)
            if new.isInMemory {
                screen = .picture(new.id)
            } else if !(new.keepsCurrentImage && showsPicture || continues && showsPreview) {
                screen = .placeholder(new.id)
            }
        case .clear(let id):
            (request, outcome, screen) = (nil, nil, .placeholder(id))
        case .cancel: if isPending { outcome = .cancelled }
        case .arrived(load, _):
            if let request, isPending { (outcome, screen) = (.shown, .picture(request.id)) }
        case .failed(load):
            if let request, isPending {
                outcome = .failed
                if request.hasFailureImage {
                    screen = .failure(request.id)
                } else if showsPreview {
                    screen = .placeholder(request.id)
                }
            }
        case .preview(load): if let request, isPending { screen = .preview(request.id) }
        case .progress, .preview, .arrived, .failed: break
        case .appeared: isVisible = true
        case .disappeared: isVisible = false
        case .gone:
            isGone = true
            if isPending { outcome = .gone }
        }
    }

    /// Chooses the load: the current one if it is for the same image, else the next one.
    private mutating func chooseLoad(_ before: Self) {
        load = wantsLoad ? (before.request?.key == request?.key ? before.load : nil) : nil
        guard wantsLoad, load == nil else { return }
        loadCount += 1
        load = loadCount
    }

    private func actions(from before: Self, _ event: State.Event) -> [State.Action] {
        var actions: [State.Action] = []
        if let old = before.load, old != load, !ends(old, event) { actions.append(.cancel(old)) }
        if screen != before.screen {
            switch screen {
            // Each is shown, also after another one.
            case .nothing, .preview: break
            case .placeholder(let id): actions.append(.showPlaceholder(id))
            case .failure(let id): actions.append(.showFailureImage(id))
            case .picture(let id): actions.append(.show(id, withTransition: hasTransition(event)))
            }
        }
        if !before.wantsLoad, wantsLoad { actions.append(.startIndicator) }
        if before.wantsLoad, !wantsLoad { actions.append(.stopIndicator) }
        if let load, let request {
            if load != before.load { actions.append(.load(load, request.id)) }
            if load == before.load, isLow != before.isLow { actions.append(.setPriority(load, isLow: isLow)) }
            if case .progress(load) = event { actions.append(.report(request.id)) }
            if case .preview(load) = event { actions.append(.showPreview(request.id)) }
        }
        if let old = before.request, before.isPending {
            if old.id != request?.id {
                actions.append(.complete(old.id, .superseded))
            } else if let outcome {
                actions.append(.complete(old.id, outcome))
            }
        }
        if let request, request.id != before.request?.id, let outcome { actions.append(.complete(request.id, outcome)) }
        if case .clear(let id) = event { actions.append(.complete(id, .empty)) }
        return actions
    }

    /// Whether an event is the end of a load, which needs no cancellation then.
    private func ends(_ load: Int, _ event: State.Event) -> Bool {
        switch event {
        case .arrived(load, _), .failed(load): true
        default: false
        }
    }

    private func hasTransition(_ event: State.Event) -> Bool {
        switch event {
        case .arrived(_, let wasCached): isVisible && (!wasCached || request?.forcesTransition == true)
        default: request?.forcesTransition == true
        }
    }
}
