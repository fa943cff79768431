import CoreMetrics
@_spi(Observation) import HalcyonCache
import HalcyonNetworking
@_spi(Observation) import HalcyonPipeline
import Synchronization

/// Reports a cache, or a manager with its cache, through swift-metrics.
///
/// ```swift
/// MetricsSystem.bootstrap(factory)
/// let metrics = CacheMetrics(manager, name: "images")
/// try await metrics.run(every: .seconds(10))
/// ```
///
/// The cache counts look-ups, stores and removals already. These metrics are the differences between two readings of
/// its statistics, so a hit in memory costs nothing more with metrics than without. ``collect()`` reads the statistics;
/// call it before a scrape, or let ``run(every:)`` call it. Only a load that memory does not answer at once is
/// reported when it ends. See <doc:Observability> for the names of all metrics.
///
/// The number of label values is bounded: those of tiers, reasons and outcomes are fixed, and at most `categoryLimit`
/// categories have a label of their own. Keys, URLs and users are no labels.
public final class CacheMetrics: Sendable {
    /// The largest number of categories that have a label of their own, besides ``otherCategories``.
    public let categoryLimit: Int
    /// The label of all further categories.
    public static let otherCategories = "other"

    private let readings: @Sendable () -> Readings
    private let registry: MetricRegistry
    private let counted: Mutex<CountedValues>
    private let loads: LoadMetrics?
    private let detach: @Sendable () -> Void

    /// The values that one collection reads.
    private struct Readings {
        var cache: CacheStatistics
        var isDiskOpen: Bool
        var manager: ManagerReadings?
    }

    private struct ManagerReadings {
        var transfers: TransferCounts
        var transfersInFlight: Int
        var waiters: Int
        var decodes: (running: Int, waiting: Int)
    }

    /// Creates the metrics of a cache.
    ///
    /// - Parameters:
    ///   - name: the value of the label `cache`.
    ///   - categoryLimit: the largest number of categories that have a label of their own.
    ///   - factory: makes the metrics; by default the factory that was bootstrapped.
    public init<Value>(
        _ cache: ImageCache<Value>, name: String, categoryLimit: Int = 20,
        factory: any MetricsFactory = MetricsSystem.factory
    ) {
        self.categoryLimit = max(categoryLimit, 0)
        readings = { Readings(cache: cache.statistics, isDiskOpen: cache.diskState.isOpen) }
        registry = MetricRegistry(factory, dimensions: [("cache", name)])
        counted = Mutex(CountedValues(categoryLimit: max(categoryLimit, 0)))
        loads = nil
        detach = {}
    }

    /// Creates the metrics of a manager, its cache and its downloader. They observe the manager's loads until they are
    /// released.
    ///
    /// - Parameters:
    ///   - name: the value of the label `cache`.
    ///   - categoryLimit: the largest number of categories that have a label of their own.
    ///   - factory: makes the metrics; by default the factory that was bootstrapped.
    public convenience init(
        _ manager: HalcyonManager, name: String, categoryLimit: Int = 20,
        factory: any MetricsFactory = MetricsSystem.factory
    ) {
        let start = ContinuousClock.now
        self.init(manager, name: name, categoryLimit: categoryLimit, factory: factory) {
            let (seconds, attoseconds) = (ContinuousClock.now - start).components
            return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        }
    }

    /// - Parameter nanoseconds: the time, from any start.
    init(
        _ manager: HalcyonManager, name: String, categoryLimit: Int, factory: any MetricsFactory,
        nanoseconds: @escaping @Sendable () -> Int64
    ) {
        self.categoryLimit = max(categoryLimit, 0)
        let (cache, downloader, limiter) = (manager.cache, manager.downloader, manager.decodeLimiter)
        readings = {
            Readings(
                cache: cache.statistics, isDiskOpen: cache.diskState.isOpen,
                manager: ManagerReadings(
                    transfers: downloader.transferCounts, transfersInFlight: downloader.transferCount,
                    waiters: downloader.waiterCount, decodes: limiter.load))
        }
        let registry = MetricRegistry(factory, dimensions: [("cache", name)])
        self.registry = registry
        counted = Mutex(CountedValues(categoryLimit: max(categoryLimit, 0)))
        let loads = LoadMetrics(registry, nanoseconds: nanoseconds)
        self.loads = loads
        manager.loadObservers.add(loads)
        detach = { [observers = manager.loadObservers] in observers.remove(loads) }
    }

    deinit { detach() }

    /// Reads the statistics and updates the metrics. O(categories).
    public func collect() {
        let samples = samples(of: readings())
        let reports = counted.withLock { $0.update(samples) }
        for report in reports { registry.report(report) }
    }

    /// Collects at once, then repeatedly, and once more when the task is cancelled.
    ///
    /// - Throws: `CancellationError`.
    public func run(every interval: Duration) async throws {
        defer { collect() }
        while true {
            collect()
            try await Task.sleep(for: interval)
        }
    }

    private func samples(of readings: Readings) -> [MetricReading] {
        let cache = readings.cache
        var samples: [MetricReading] = []
        for (result, count) in cache.lookUps.byResult {
            samples.append(.total("halcyon_cache_lookups_total", ["result": result], count))
        }
        for (category, counts) in cache.lookUpsByCategory {
            samples.append(.category(category, counts))
        }
        for (tier, storage) in [("memory", cache.memory), ("disk", cache.disk)] {
            samples += [
                .value("halcyon_cache_bytes", ["tier": tier], storage.cost),
                .value("halcyon_cache_entries", ["tier": tier], storage.count),
                .total("halcyon_cache_stores_total", ["tier": tier], storage.stores),
                .total("halcyon_cache_refusals_total", ["tier": tier], storage.refusals),
            ]
            for reason in RemovalReason.allCases {
                samples.append(
                    .total(
                        "halcyon_cache_removals_total", ["tier": tier, "reason": reason.rawValue],
                        storage.removals[reason] ?? 0))
            }
        }
        samples += [
            .total("halcyon_cache_failures_total", [:], cache.diskFailures),
            .value("halcyon_cache_disk_open", [:], readings.isDiskOpen ? 1 : 0),
            .total("halcyon_prefetched_total", [:], cache.prefetches.prefetched),
            .total("halcyon_prefetches_used_total", [:], cache.prefetches.used),
            .total("halcyon_prefetches_wasted_total", [:], cache.prefetches.wasted),
        ]
        guard let manager = readings.manager else { return samples }
        let transfers = manager.transfers
        for (outcome, count) in [
            ("succeeded", transfers.succeeded), ("failed", transfers.failed), ("cancelled", transfers.cancelled),
        ] {
            samples.append(.total("halcyon_transfers_total", ["outcome": outcome], count))
        }
        return samples + [
            .total("halcyon_received_bytes_total", [:], transfers.receivedBytes),
            .value("halcyon_transfers_in_flight", [:], manager.transfersInFlight),
            .value("halcyon_transfer_waiters", [:], manager.waiters),
            .value("halcyon_decodes", ["state": "running"], manager.decodes.running),
            .value("halcyon_decodes", ["state": "waiting"], manager.decodes.waiting),
            .value("halcyon_loads_in_progress", [:], loads?.inProgress ?? 0),
        ]
    }
}

extension TierCounts {
    /// The counts with the value of the label `result`.
    fileprivate var byResult: [(String, Int)] { [("memory", memory), ("disk", disk), ("miss", none)] }
}

/// A reading of a statistic.
private enum MetricReading {
    /// The count of something since the cache was created.
    case total(String, [String: String], Int)
    /// The present value of something.
    case value(String, [String: String], Int)
    /// The look-ups of a category since the cache was created.
    case category(String, TierCounts)
}

/// The counts at the last collection, and the categories that have a label.
private struct CountedValues {
    let categoryLimit: Int
    private var totals: [MetricRegistry.Key: Int] = [:]
    private var labelled: Set<String> = []

    init(categoryLimit: Int) { self.categoryLimit = categoryLimit }

    /// Returns what has changed since the last collection, and remembers the counts.
    ///
    /// Categories get labels in the order of their look-ups, later ones as long as there are labels left. A category
    /// keeps its label, so that no count is reported under two labels.
    mutating func update(_ samples: [MetricReading]) -> [MetricRegistry.Report] {
        var reports: [MetricRegistry.Report] = []
        var categories: [(name: String, counts: TierCounts)] = []
        for sample in samples {
            switch sample {
            case .total(let label, let dimensions, let total):
                count(.init(label, dimensions), total, into: &reports)
            case .value(let label, let dimensions, let value):
                reports.append(.value(.init(label, dimensions), value))
            case .category(let name, let counts): categories.append((name, counts))
            }
        }
        categories.sort { ($1.counts.sum, $0.name) < ($0.counts.sum, $1.name) }
        var byLabel: [String: TierCounts] = [:]
        for (name, counts) in categories {
            if labelled.count < categoryLimit, name != CacheMetrics.otherCategories { labelled.insert(name) }
            let label = labelled.contains(name) ? name : CacheMetrics.otherCategories
            byLabel[label, default: TierCounts()].add(counts)
        }
        for (label, counts) in byLabel {
            for (result, total) in counts.byResult {
                let dimensions = ["category": label, "result": result]
                count(.init("halcyon_cache_category_lookups_total", dimensions), total, into: &reports)
            }
        }
        return reports
    }

    private mutating func count(_ key: MetricRegistry.Key, _ total: Int, into reports: inout [MetricRegistry.Report]) {
        let old = totals.updateValue(max(total, totals[key] ?? 0), forKey: key) ?? 0
        // A count of 0 is reported once, so that the metric exists.
        if total > old || old == 0 { reports.append(.increment(key, max(total - old, 0))) }
    }
}

extension TierCounts {
    fileprivate var sum: Int { memory + disk + none }

    fileprivate mutating func add(_ other: TierCounts) {
        memory += other.memory
        disk += other.disk
        none += other.none
    }
}
