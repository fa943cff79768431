import Foundation
import HalcyonImages
import HalcyonNetworking
import HalcyonSupport
import Synchronization

/// A load of an image that has started, for code that awaits: its image, its progress, its priority.
///
/// ```swift
/// let task = manager.imageTask(with: url)
/// for await progress in task.progress { print(progress.received) }
/// show(try await task.image)
/// ```
///
/// Releasing it does not end the load. See `ImageTaskTests`.
public final class ImageTask: Sendable {
    /// How far a task is.
    public enum Status: String, Sendable, CaseIterable {
        /// The load has not ended.
        case running
        /// There is an image.
        case completed
        /// The load has failed.
        case failed
        /// The load was cancelled.
        case cancelled
    }

    /// What happens to a task.
    public enum Event: Sendable {
        /// A piece of the body has arrived.
        case progress(DownloadProgress)
        /// The load has ended. It is the last event.
        case ended(Result<ImageResult, any Error>)
    }

    private struct State {
        var result: Result<ImageResult, any Error>?
        var progress: DownloadProgress?
        var priority: TransferPriority
        var waiters: [CheckedContinuation<ImageResult, any Error>] = []
        var events: [AsyncStream<Event>.Continuation] = []
        var previews: [AsyncStream<Bitmap>.Continuation] = []
    }

    private let load = DownloadTask()
    private let state: Mutex<State>

    init(priority: TransferPriority) { state = Mutex(State(priority: priority)) }

    /// The image and where it was found; waits for the end of the load. Any number of tasks may wait. Cancelling one of them cancels
    /// the load, as it does with ``HalcyonManager/image(for:options:)``.
    ///
    /// - Throws: as ``HalcyonManager/image(for:options:)``.
    public var result: ImageResult {
        get async throws {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    let result = state.withLock { state in
                        if state.result == nil { state.waiters.append(continuation) }
                        return state.result
                    }
                    if let result { continuation.resume(with: result) }
                }
            } onCancel: {
                cancel()
            }
        }
    }

    /// The image; waits as ``result`` does.
    public var image: Bitmap { get async throws { try await result.image } }

    /// The progress of the transfer, from the latest on. It ends with the load, and has nothing of an image that is cached. A reader
    /// that is slow misses all but the latest.
    public var progress: AsyncStream<DownloadProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: DownloadProgress.self, bufferingPolicy: .bufferingNewest(1))
        let events = events
        let reading = Task {
            for await case .progress(let progress) in events { continuation.yield(progress) }
            continuation.finish()
        }
        continuation.onTermination = { _ in reading.cancel() }
        return stream
    }

    /// The previews, where the options ask for some (``ImageOptions/previewsPerSecond``). It ends with the load. A reader that is slow
    /// misses all but the latest.
    public var previews: AsyncStream<Bitmap> {
        let (stream, continuation) = AsyncStream.makeStream(of: Bitmap.self, bufferingPolicy: .bufferingNewest(1))
        let hasEnded = state.withLock { state in
            if state.result == nil { state.previews.append(continuation) }
            return state.result != nil
        }
        if hasEnded { continuation.finish() }
        return stream
    }

    /// The events, from the latest progress on. The last one is the end of the load, also where it has ended before.
    public var events: AsyncStream<Event> {
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self)
        state.withLock { state in
            if let progress = state.progress, state.result == nil { continuation.yield(.progress(progress)) }
            if let result = state.result {
                continuation.yield(.ended(result))
                continuation.finish()
            } else {
                state.events.append(continuation)
            }
        }
        return stream
    }

    /// How far it is.
    public var status: Status {
        switch state.withLock({ $0.result }) {
        case nil: .running
        case .success?: .completed
        case .failure(let error)?: error.isCancellation ? .cancelled : .failed
        }
    }

    /// The priority of the load. A change takes effect at once, as by `DownloadTask.setPriority(_:)`.
    public var priority: TransferPriority {
        get { state.withLock { $0.priority } }
        set {
            state.withLock { $0.priority = newValue }
            load.setPriority(newValue)
        }
    }

    /// Ends the load with a `CancellationError`: who waits receives it at once. Ignored if it has ended.
    public func cancel() {
        load.cancel()
        end(.failure(CancellationError()))
    }

    // MARK: - Inside

    /// Starts the load.
    ///
    /// - Parameter work: loads the image with the handle that changes its priority.
    func start(_ work: @escaping @Sendable (DownloadTask) async throws -> ImageResult) {
        let running = Task.detached { [self, load] in
            do { end(.success(try await work(load))) } catch { end(.failure(error)) }
        }
        load.whenCancelled { running.cancel() }
    }

    /// Notes an image that needed no load.
    func end(_ result: Result<ImageResult, any Error>) {
        let ended = state.withLock { state -> State? in
            guard state.result == nil else { return nil }
            defer { (state.waiters, state.events, state.previews) = ([], [], []) }
            state.result = result
            return state
        }
        for waiter in ended?.waiters ?? [] { waiter.resume(with: result) }
        for previews in ended?.previews ?? [] { previews.finish() }
        for events in ended?.events ?? [] {
            events.yield(.ended(result))
            events.finish()
        }
    }

    /// Notes a preview.
    func previewed(_ picture: Bitmap) {
        state.withLock { state in
            for previews in state.previews { previews.yield(picture) }
        }
    }

    /// Notes a progress.
    func received(_ progress: DownloadProgress) {
        state.withLock { state in
            guard state.result == nil else { return }
            state.progress = progress
            // Yielding runs no code of the reader.
            for events in state.events { events.yield(.progress(progress)) }
        }
    }
}
