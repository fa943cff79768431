import HalcyonCache
import HalcyonNetworking
import Synchronization

/// An observer of the loads of a manager. It does not receive requests that memory answers at once.
@_spi(Observation) public protocol LoadObserver: AnyObject, Sendable {
    /// Handles the start of a load, and returns the object that receives what follows. Called on the caller's path, in
    /// the caller's task, without a lock held.
    func started(_ resource: Resource, isPrefetch: Bool) -> any LoadObservation
}

/// Receives the progress of one load, on any thread, without a lock held.
///
/// A cancelled load ends at once, whereas its work may continue: calls may follow ``ended(_:)``, and are to be ignored.
@_spi(Observation) public protocol LoadObservation: AnyObject, Sendable {
    /// Handles the start of a stage. A stage may be repeated, by a retry, by an alternative source, or to
    /// process what was decoded.
    func started(_ stage: LoadStage)
    /// Handles the end of a stage. Without a running stage it has no effect.
    ///
    /// - Parameter error: the error if the stage failed.
    func ended(_ stage: LoadStage, _ error: (any Error)?)
    /// Handles the end of the load. Called once.
    func ended(_ result: Result<ImageOrigin, any Error>)
}

/// A stage of a load.
@_spi(Observation) public enum LoadStage: String, Sendable, CaseIterable {
    /// The load waits for bytes of a server or a provider, possibly in a transfer that other loads share.
    case transfer
    /// Bytes are decoded and processed. A load that shares the result of another one has no such stage.
    case decode
}

/// The place from which a load got its image.
@_spi(Observation) public enum ImageOrigin: String, Sendable, CaseIterable {
    /// The memory, which got the image since the load started.
    case memory
    /// The disk.
    case disk
    /// A cached original.
    case original
    /// A server.
    case network
    /// A provider.
    case provider
    /// The image of a prefetch was cached already.
    case cached

    init(_ result: ImageResult) {
        self =
            switch result.cacheType {
            case .memory: .memory
            case .disk: .disk
            case .none: result.isFromOriginal ? .original : result.source.url == nil ? .provider : .network
            }
    }
}

/// A load that has observers.
final class ObservedLoad: Sendable {
    private let observations: [any LoadObservation]

    fileprivate init(_ observations: [any LoadObservation]) { self.observations = observations }

    fileprivate func started(_ stage: LoadStage) {
        for observation in observations { observation.started(stage) }
    }

    fileprivate func ended(_ stage: LoadStage, _ error: (any Error)? = nil) {
        for observation in observations { observation.ended(stage, error) }
    }

    func ended(_ result: Result<ImageOrigin, any Error>) {
        for observation in observations { observation.ended(result) }
    }
}

extension ObservedLoad? {
    /// Runs the transfer of a load. It ends with the work, or when the load starts to decode.
    func transferring<Value>(_ work: () async throws -> Value) async throws -> Value {
        guard let self else { return try await work() }
        self.started(.transfer)
        do {
            let value = try await work()
            self.ended(.transfer)
            return value
        } catch {
            self.ended(.transfer, error)
            throw error
        }
    }

    /// Runs the decoding and processing of a load.
    func decoding<Value>(_ work: () throws -> Value) throws -> Value {
        guard let self else { return try work() }
        self.ended(.transfer)
        self.started(.decode)
        do {
            let value = try work()
            self.ended(.decode)
            return value
        } catch {
            self.ended(.decode, error)
            throw error
        }
    }
}

/// The observers of a manager's loads.
@_spi(Observation) public final class LoadObservers: Sendable {
    private let observers = Mutex<[any LoadObserver]>([])
    private let hasObservers = Atomic<Bool>(false)

    init() {}

    /// Adds an observer, which receives the loads that start from now on.
    @_spi(Observation) public func add(_ observer: any LoadObserver) {
        observers.withLock { observers in
            observers.append(observer)
            hasObservers.store(true, ordering: .relaxed)
        }
    }

    /// Removes an observer. Loads that it has received continue to report to it.
    @_spi(Observation) public func remove(_ observer: any LoadObserver) {
        // The observer is released outside the lock.
        _ = observers.withLock { observers -> (any LoadObserver)? in
            let removed = observers.firstIndex { $0 === observer }.map { observers.remove(at: $0) }
            hasObservers.store(!observers.isEmpty, ordering: .relaxed)
            return removed
        }
    }

    /// Runs a load and reports it. Without observers this costs one relaxed load.
    func observe<Value>(
        _ resource: Resource, isPrefetch: Bool, origin: (Value) -> ImageOrigin,
        _ work: (ObservedLoad?) async throws -> Value
    ) async throws -> Value {
        guard let load = start(resource, isPrefetch: isPrefetch) else { return try await work(nil) }
        do {
            let value = try await work(load)
            load.ended(.success(origin(value)))
            return value
        } catch {
            load.ended(.failure(error))
            throw error
        }
    }

    /// Reports the start of a load; `nil` without observers.
    func start(_ resource: Resource, isPrefetch: Bool) -> ObservedLoad? {
        guard hasObservers.load(ordering: .relaxed) else { return nil }
        let observers = observers.withLock { $0 }
        return ObservedLoad(observers.map { $0.started(resource, isPrefetch: isPrefetch) })
    }
}
