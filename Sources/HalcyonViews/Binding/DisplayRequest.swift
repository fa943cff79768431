import HalcyonImages
import HalcyonNetworking
import HalcyonPipeline
import Synchronization

/// A request of a view that is not completed.
struct DisplayRequest {
    let resource: Resource?
    let placeholder: ImagePlaceholder?
    let options: DisplayOptions
    /// The options of the load, for the view's size when the request was set.
    let loadOptions: ImageOptions?
    let progress: (@MainActor (DownloadProgress) -> Void)?
    let completion: PendingCompletion

    /// The priority of its load while the view is visible.
    func priority(_ manager: HalcyonManager) -> TransferPriority {
        loadOptions?.priority ?? manager.defaultOptions.priority ?? .normal
    }
}

extension DisplayOutcome {
    /// Returns what a completion receives.
    ///
    /// - Parameter loaded: the result of the load, if this is its end.
    func result(_ loaded: Result<ImageResult, any Error>?) -> Result<ImageResult, DisplayError> {
        switch (self, loaded) {
        case (.shown, .success(let result)?): .success(result)
        case (.failed, .failure(let error)?): .failure(error.isCancellation ? .cancelled : .loadFailed(error))
        case (.superseded, _): .failure(.superseded)
        case (.empty, _): .failure(.noResource)
        case (.gone, _): .failure(.viewGone)
        case (.cancelled, _), (.shown, _), (.failed, _): .failure(.cancelled)
        }
    }
}

// The three objects below end what they stand for when they are released, which a binding's deinitializer cannot do:
// it may run on any thread.

/// A load that is cancelled when it is released.
final class RunningLoad: Sendable {
    let task: DownloadTask

    init(_ task: DownloadTask) { self.task = task }

    deinit { task.cancel() }
}

/// An indicator that runs, and stops once: on call, or when this object is released.
final class RunningIndicator: Sendable {
    let indicator: any ImageIndicator
    private let isStopped = Atomic(false)

    @MainActor
    init(_ indicator: any ImageIndicator) {
        self.indicator = indicator
        indicator.start()
    }

    @MainActor
    func stop() {
        if !isStopped.exchange(true, ordering: .relaxed) { indicator.stop() }
    }

    deinit {
        guard !isStopped.load(ordering: .relaxed) else { return }
        Task { @MainActor [indicator] in indicator.stop() }
    }
}

/// A completion that is called once: with a result, or with ``DisplayError/viewGone`` when this object is released.
final class PendingCompletion: Sendable {
    private let completion: ImageBinding.Completion?
    private let isCalled = Atomic(false)

    init(_ completion: ImageBinding.Completion?) { self.completion = completion }

    @MainActor
    func call(_ result: Result<ImageResult, DisplayError>) {
        if !isCalled.exchange(true, ordering: .relaxed) { completion?(result) }
    }

    deinit {
        guard let completion, !isCalled.load(ordering: .relaxed) else { return }
        Task { @MainActor in completion(.failure(.viewGone)) }
    }
}
