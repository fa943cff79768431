import Foundation
import HalcyonNetworking
import HalcyonSupport
import Synchronization

/// Prefetches that come and go, as for a list that scrolls.
///
/// ```swift
/// let queue = PrefetchQueue(manager: manager, maxConcurrent: 4)
/// queue.start(urls)
/// queue.stop(urls)
/// queue.isPaused = true
/// ```
///
/// Images are loaded as by an ``ImagePrefetcher``, in the order in which they were started. Releasing the queue stops all of them. See
/// `PrefetchQueueTests`.
public final class PrefetchQueue: Sendable {
    /// The name of a prefetch: what is loaded, and for whom.
    private struct Name: Hashable {
        let key: ByteName
        let user: ByteName?

        init(_ resource: Resource) {
            (key, user) = (ByteName(resource.cacheKey), resource.user.map(ByteName.init))
        }
    }

    private let running: RunningPrefetches<Name>
    private let options: ImageOptions?

    /// Creates an empty queue.
    ///
    /// - Parameters:
    ///   - options: override the manager's defaults, but for the priority, whose default is low.
    ///   - maxConcurrent: the number of loads at a time, at least 1.
    ///   - toMemory: whether the images are taken into memory, too, also those that are on disk already.
    public init(
        manager: HalcyonManager = .shared, options: ImageOptions? = nil, maxConcurrent: Int = 5, toMemory: Bool = false
    ) {
        running = RunningPrefetches(manager, maxConcurrent: maxConcurrent, toMemory: toMemory)
        self.options = options
    }

    deinit { running.stopAll() }

    /// Starts the prefetches of some resources, each by its key and user. Those that have not ended are ignored.
    public func start(_ resources: [Resource]) {
        running.start(resources.map { .init(key: Name($0), resource: $0, options: options) })
    }

    /// Starts the prefetches of some URLs.
    public func start(_ urls: [URL]) { start(urls.map { Resource($0) }) }

    /// Stops the prefetches of some resources. A load that a view or a call waits for continues. Those that have ended are ignored.
    public func stop(_ resources: [Resource]) { running.stop(resources.map(Name.init)) }

    /// Stops the prefetches of some URLs.
    public func stop(_ urls: [URL]) { stop(urls.map { Resource($0) }) }

    /// Stops all prefetches. Others can be started afterwards.
    public func stopAll() { running.stopAll() }

    /// Whether no prefetch begins. Those that have begun continue. Default: `false`.
    public var isPaused: Bool {
        get { running.isPaused }
        set { running.isPaused = newValue }
    }

    /// The priority of all prefetches, also of those that have begun; `nil`, the default, for that of the options, else `.low`.
    public var priority: TransferPriority? {
        get { running.priority }
        set { running.priority = newValue }
    }

    /// The number of prefetches that have not ended.
    public var count: Int { running.keys.count }
}

/// Prefetches by keys, some of them at a time, in the order of their starts.
package final class RunningPrefetches<Key: Hashable & Sendable>: Sendable {
    /// What is prefetched.
    package struct Item: Sendable {
        let key: Key
        let resource: Resource
        let options: ImageOptions?
        /// Called once at the end, on any thread: with whether the image was loaded, and whether the prefetch had begun.
        let ended: @Sendable (Key, Result<Bool, any Error>, _ hasBegun: Bool) -> Void

        package init(
            key: Key, resource: Resource, options: ImageOptions?,
            ended: @escaping @Sendable (Key, Result<Bool, any Error>, _ hasBegun: Bool) -> Void = { _, _, _ in }
        ) {
            (self.key, self.resource, self.options, self.ended) = (key, resource, options, ended)
        }
    }

    private struct State {
        /// In the order of their starts; `nil` for one that has begun or was stopped.
        var waiting: [Item?] = []
        /// The first place of ``waiting`` that may have an item.
        var next = 0
        var places: [Key: Int] = [:]
        var begun: [Key: (task: DownloadTask, own: TransferPriority)] = [:]
        var isPaused = false
        var priority: TransferPriority?

        /// Returns the item that begins now, with its handle and the priority.
        mutating func begin(_ limit: Int) -> (Item, DownloadTask, TransferPriority?)? {
            guard !isPaused, begun.count < limit else { return nil }
            while next < waiting.count {
                defer { next += 1 }
                guard let item = waiting[next] else { continue }
                let task = DownloadTask()
                (places[item.key], begun[item.key]) = (nil, (task, item.options?.priority ?? .low))
                waiting[next] = nil
                return (item, task, priority)
            }
            (waiting, next) = ([], 0)
            return nil
        }

        mutating func take(_ key: Key) -> (waiting: Item?, begun: DownloadTask?) {
            var item: Item?
            if let place = places.removeValue(forKey: key) {
                item = waiting[place]
                waiting[place] = nil
            }
            return (item, begun.removeValue(forKey: key)?.task)
        }
    }

    private let manager: HalcyonManager
    private let limit: Int
    private let toMemory: Bool
    private let state = Mutex(State())

    package init(_ manager: HalcyonManager, maxConcurrent: Int, toMemory: Bool) {
        (self.manager, limit, self.toMemory) = (manager, max(maxConcurrent, 1), toMemory)
    }

    /// Starts prefetches. One whose key has not ended is ignored.
    package func start(_ items: [Item]) {
        state.withLock { state in
            for item in items where state.places[item.key] == nil && state.begun[item.key] == nil {
                state.places[item.key] = state.waiting.count
                state.waiting.append(item)
            }
        }
        begin()
    }

    /// Stops prefetches: those that have begun are cancelled.
    package func stop(_ keys: some Sequence<Key>) {
        let stopped = state.withLock { state in keys.map { state.take($0) } }
        end(stopped)
        begin()
    }

    /// Stops all prefetches.
    package func stopAll() {
        let stopped = state.withLock { state in
            (Array(state.places.keys) + Array(state.begun.keys)).map { state.take($0) }
        }
        end(stopped)
    }

    /// The keys of the prefetches that have not ended.
    package var keys: Set<Key> { state.withLock { Set($0.places.keys).union($0.begun.keys) } }

    package var isPaused: Bool {
        get { state.withLock { $0.isPaused } }
        set {
            state.withLock { $0.isPaused = newValue }
            begin()
        }
    }

    package var priority: TransferPriority? {
        get { state.withLock { $0.priority } }
        set {
            let begun = state.withLock { state in
                state.priority = newValue
                return Array(state.begun.values)
            }
            for (task, own) in begun { task.setPriority(newValue ?? own) }
        }
    }

    private func end(_ stopped: [(waiting: Item?, begun: DownloadTask?)]) {
        for (item, task) in stopped {
            task?.cancel()
            if let item { item.ended(item.key, .failure(CancellationError()), false) }
        }
    }

    /// Begins as many prefetches as may run.
    private func begin() {
        while let (item, task, priority) = state.withLock({ $0.begin(limit) }) {
            var options = item.options
            if let priority {
                options = options ?? ImageOptions()
                options?.priority = priority
            }
            let work = Task.detached { [self, manager, toMemory, options] in
                let result: Result<Bool, any Error>
                do {
                    let loaded = try await manager.prefetch(item.resource, options, toMemory: toMemory, task: task)
                    result = .success(loaded != nil)
                } catch {
                    result = .failure(error)
                }
                state.withLock { state in
                    // A prefetch that was stopped may have been started again.
                    if state.begun[item.key]?.task === task { state.begun[item.key] = nil }
                }
                item.ended(item.key, result, true)
                begin()
            }
            task.whenCancelled { work.cancel() }
        }
    }
}
