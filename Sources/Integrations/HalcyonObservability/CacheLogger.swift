@_spi(Observation) import HalcyonCache
import HalcyonNetworking
@_spi(Observation) import HalcyonPipeline
import Logging

/// Logs the failures and notable events of a cache, or of a manager with its cache, through swift-log.
///
/// ```swift
/// let logging = CacheLogger(manager, logger: Logger(label: "images"))
/// ```
///
/// | event | level |
/// |---|---|
/// | the disk is not in use, or an operation on it failed | error |
/// | another cache uses the directory; damaged files were removed | warning |
/// | a load failed | warning |
/// | the index was rebuilt; opening took longer than `slowOpening` | notice |
/// | the disk was opened, or is in use again; a cleaning removed files | info |
/// | a load was cancelled | debug |
///
/// No message contains the query, the fragment or the credentials of a URL, a user of a resource, or the home
/// directory. Look-ups cost nothing more with a logger than without. The events are logged until this is released.
public final class CacheLogger: Sendable {
    private let work: Task<Void, Never>
    private let detach: @Sendable () -> Void

    /// Logs the events of a cache.
    ///
    /// - Parameter slowOpening: the duration from which an opening is reported as slow.
    public init<Value>(_ cache: ImageCache<Value>, logger: Logger, slowOpening: Duration = .seconds(1)) {
        work = CacheEventLog(logger: logger, slowOpening: slowOpening).start(cache)
        detach = {}
    }

    /// Logs the events of a manager's cache, and the loads that fail.
    ///
    /// - Parameter slowOpening: the duration from which an opening is reported as slow.
    public init(_ manager: HalcyonManager, logger: Logger, slowOpening: Duration = .seconds(1)) {
        work = CacheEventLog(logger: logger, slowOpening: slowOpening).start(manager.cache)
        let loads = LoadLog(logger: logger)
        manager.loadObservers.add(loads)
        detach = { [observers = manager.loadObservers] in observers.remove(loads) }
    }

    deinit {
        work.cancel()
        detach()
    }
}

/// Logs the notable events of a cache.
private struct CacheEventLog: Sendable {
    let logger: Logger
    let slowOpening: Duration

    /// Starts to log. The events begin with this call; the cache is not retained.
    func start<Value>(_ cache: ImageCache<Value>) -> Task<Void, Never> {
        let events = cache.notableEvents()
        return Task.detached { [weak cache] in
            var isOpen = cache?.diskState.isOpen ?? false
            if isOpen {
                await logOpening(cache?.diskOpening())
            } else if let state = cache?.diskState {
                log(state)
            }
            for await event in events {
                guard let state = cache?.diskState else { return }
                if state.isOpen, !isOpen {
                    logger.info("The disk tier is in use again.")
                    await logOpening(cache?.diskOpening())
                } else if !state.isOpen, isOpen {
                    log(state)
                }
                isOpen = state.isOpen
                log(event)
            }
        }
    }

    private func log(_ event: CacheEvent) {
        switch event {
        case .cleaned(let hashes):
            logger.info("A cleaning removed files from disk.", metadata: ["files": "\(hashes.count)"])
        case .failure(let description):
            logger.error("The disk tier failed.", metadata: ["reason": "\(Redaction.text(description))"])
        case .lookUp, .store, .removal: break
        }
    }

    private func log(_ state: DiskState) {
        switch state {
        case .open: break
        case .closed: logger.info("The cache is closed.")
        case .unavailable(let error):
            let metadata: Logger.Metadata = ["reason": "\(Redaction.text("\(error)"))"]
            if case CacheError.directoryInUse = error {
                logger.warning("Another cache uses the directory; only memory is in use.", metadata: metadata)
            } else {
                logger.error("The disk tier is not in use.", metadata: metadata)
            }
        }
    }

    private func logOpening(_ opening: DiskOpening?) {
        guard let opening else { return }
        let duration = Duration.microseconds(opening.microseconds)
        let metadata: Logger.Metadata = [
            "entries": "\(opening.entryCount)", "seconds": "\(Double(opening.microseconds) / 1e6)",
        ]
        logger.info("The disk tier is open.", metadata: metadata)
        if !opening.isListed { logger.error("The directory of the disk tier cannot be listed.") }
        if opening.damagedCount > 0 {
            logger.warning("Damaged files were removed from disk.", metadata: ["files": "\(opening.damagedCount)"])
        }
        if opening.isIndexRebuilt {
            logger.notice("The index of the disk tier was rebuilt from its files.", metadata: metadata)
        }
        if duration >= slowOpening { logger.notice("The disk tier was slow to open.", metadata: metadata) }
    }
}

/// Logs the loads of a manager that fail.
private final class LoadLog: LoadObserver {
    private let logger: Logger

    init(logger: Logger) { self.logger = logger }

    func started(_ resource: Resource, isPrefetch: Bool) -> any LoadObservation {
        Load(logger, resource, isPrefetch: isPrefetch)
    }

    private final class Load: LoadObservation {
        private let logger: Logger
        private let resource: Resource
        private let isPrefetch: Bool

        init(_ logger: Logger, _ resource: Resource, isPrefetch: Bool) {
            self.logger = logger
            self.resource = resource
            self.isPrefetch = isPrefetch
        }

        func started(_ stage: LoadStage) {}

        func ended(_ stage: LoadStage, _ error: (any Error)?) {}

        func ended(_ result: Result<ImageOrigin, any Error>) {
            guard case .failure(let error) = result else { return }
            var metadata: Logger.Metadata = ["prefetch": "\(isPrefetch)"]
            if let url = resource.source.url { metadata["url"] = "\(Redaction.text(of: url))" }
            if error.isCancellation {
                logger.debug("A load was cancelled.", metadata: metadata)
            } else {
                metadata["reason"] = "\(Redaction.text("\(error)"))"
                logger.warning("A load failed.", metadata: metadata)
            }
        }
    }
}
