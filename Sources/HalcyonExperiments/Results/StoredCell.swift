import Foundation
import HalcyonSimulation
import HalcyonTrace

/// The result of a cell as it is stored: what decides it, its counts, and the counts by resampling unit.
///
/// The bytes of a stored cell depend on nothing else: not on the machine, the number of threads or the time.
package struct StoredCell: Sendable, Codable, Equatable {
    /// The replayed trace.
    package struct TraceFacts: Sendable, Codable, Equatable {
        /// The number of requests, warm-up included.
        package var requests: Int
        /// The number of distinct objects.
        package var objects: Int
        /// The number of distinct users.
        package var users: Int
        /// The number of distinct categories.
        package var categories: Int
        /// The total size of all distinct objects, in ``sizeUnit``.
        package var distinctSize: Int
        /// The unit of sizes.
        package var sizeUnit: SizeUnit
        /// The name that the suite gives the trace.
        package var name: String
        /// The resolution of the times, in microseconds; see `TimeColumn.resolution`. Nil without prefetching, and for
        /// a trace without times.
        package var timeResolutionUs: Int64?
    }

    /// Whole numbers that are summed over counted requests. Those that do not apply are absent.
    package struct Counts: Sendable, Codable, Equatable {
        /// The counted requests.
        package var requests = 0
        /// The requests that found their object.
        package var hits = 0
        /// The total size of the requests.
        package var size = 0
        /// The total size of the hits.
        package var hitSize = 0
        /// The entries evicted to make room.
        package var evictions = 0
        /// The requests whose object was not admitted.
        package var refused = 0
        /// The part of ``refused`` whose object is larger than the cache.
        package var refusedTooLarge = 0
        /// The requests that found their object expired or of a different size.
        package var stale = 0
        /// The requests that were not counted.
        package var warmupRequests = 0
        /// The prefetched objects.
        package var prefetched: Int?
        /// The prefetched objects that were requested while resident.
        package var prefetchesUsed: Int?
        /// The prefetched objects that were requested while in flight.
        package var prefetchesLate: Int?
        /// The total size of the prefetched objects.
        package var prefetchedSize: Int?
        /// The total size of the prefetched objects that were not used.
        package var prefetchWastedSize: Int?
        /// The bytes of the lists that a server announced.
        package var announcedBytes: Int?
        /// The requests for objects of the list last shown to their user, and the hits among them.
        package var listOpenings: Int?
        package var listHits: Int?
        /// The requests served from memory.
        package var memoryHits: Int?
        /// The requests served from disk.
        package var diskHits: Int?
        /// The requests fetched from the network.
        package var networkFetches: Int?
    }

    /// The latencies of accesses to two tiers, or of requests with prefetching, in milliseconds, as text.
    package struct Latency: Sendable, Codable, Equatable {
        /// The mean.
        package var meanMs: String
        /// The 99th percentile.
        package var p99Ms: String
    }

    /// The hits over time: in windows of equal length, but for the last.
    package struct Series: Sendable, Codable, Equatable {
        /// The number of requests in a window.
        package var window: Int
        /// The hits of each window.
        package var hits: [Int]
    }

    /// The version of this structure.
    package static let schema = "halcyon.cell/1"

    /// The version of this structure.
    package var schema = StoredCell.schema
    /// What decides the result.
    package var identity: CellIdentity
    /// The replayed trace.
    package var trace: TraceFacts
    /// The name of the run in tables: the policy with the parameters set by the user.
    package var label: String
    /// The capacity of the cache, of each user's cache or of its disk tier, in the unit of sizes.
    package var capacity: Int
    /// The capacity of the memory tier. Nil without tiers.
    package var memoryCapacity: Int?
    /// The sums over all counted requests.
    package var counts: Counts
    /// The latencies. Nil without tiers and prefetching.
    package var latency: Latency?
    /// The sums by resampling unit.
    package var units: UnitCounts
    /// The hits over time.
    package var series: Series

    /// The ratio of hits to requests, 0…1; 0 without requests.
    package var objectHitRatio: Double { counts.requests == 0 ? 0 : Double(counts.hits) / Double(counts.requests) }
    /// The ratio of bytes hit to bytes requested, 0…1; 0 without requests.
    package var byteHitRatio: Double { counts.size == 0 ? 0 : Double(counts.hitSize) / Double(counts.size) }

    /// Creates the stored form of a run.
    init(
        _ outcome: ReplayOutcome, identity: CellIdentity, trace: TraceFacts, units: UnitCounts
    ) {
        let (result, recorder) = (outcome.result, outcome.recorder)
        self.identity = identity
        self.trace = trace
        label = result.label
        capacity = result.capacity
        memoryCapacity = result.tiers?.memoryCapacity
        counts = Counts(
            requests: result.requests, hits: result.hits, size: recorder.total.size, hitSize: recorder.total.hitSize,
            evictions: result.evictions, refused: result.admissionsRefused, refusedTooLarge: result.refusedTooLarge,
            stale: result.stale, warmupRequests: result.warmupRequests,
            prefetched: result.prefetch?.fetched, prefetchesUsed: result.prefetch?.used,
            prefetchesLate: result.prefetch?.late, prefetchedSize: result.prefetch?.fetchedSize,
            prefetchWastedSize: result.prefetch?.wastedSize,
            announcedBytes: result.prefetch?.announcements?.bytes, listOpenings: result.prefetch?.lists?.openings,
            listHits: result.prefetch?.lists?.hits, memoryHits: result.tiers?.memoryHits,
            diskHits: result.tiers?.diskHits, networkFetches: result.tiers?.networkFetches)
        latency =
            result.tiers.map { Latency(meanMs: "\($0.meanLatency)", p99Ms: "\($0.p99Latency)") }
            ?? result.prefetch.map { Latency(meanMs: "\($0.meanLatency)", p99Ms: "\($0.p99Latency)") }
        self.units = units
        series = Series(window: recorder.windowLength, hits: recorder.windows.map(\.hits))
    }

    /// Returns whether two cells have the same identity and result. Two suites may give a trace different names, and a
    /// default may be written out in one of them (`s3-fifo(small=0.1)`); neither is a difference.
    package func hasResult(of other: StoredCell) -> Bool {
        var renamed = other
        renamed.trace.name = trace.name
        renamed.label = label
        return self == renamed
    }

    /// The bytes of the stored file: one line.
    ///
    /// - Throws: `EncodingError`, which no value of this type can cause.
    package func json() throws -> Data { try JSONReport.lines([self]) }
}

/// How and where a cell was run. It does not decide the result and is stored beside it.
package struct CellProvenance: Sendable, Codable, Equatable {
    /// The version of this structure.
    package static let schema = "halcyon.provenance/1"

    /// The version of this structure.
    package var schema = CellProvenance.schema
    /// The name of the cell.
    package var cell: String
    /// The version of Halcyon.
    package var halcyonVersion = BuildInfo.current.halcyonVersion
    /// The identifier of the executable; see `BuildInfo.identifier`.
    package var buildId = BuildInfo.current.identifier
    /// Whether the build was optimised.
    package var isOptimised = BuildInfo.current.isOptimised
    /// The name of the machine.
    package var host: String
    /// The operating system.
    package var system: String
    /// The number of processor cores.
    package var cores: Int
    /// The matrix routines that were used.
    package var kernels: [String]
    /// The suite that the cell was run for.
    package var suite: String
    /// When the run ended, in universal time: `2026-11-24T20:15:00Z`.
    package var finishedAt: String
    /// The processor time of the run, in seconds; see `RunResult.seconds`. The counts are those of its first run.
    package var seconds: Double
    /// The requests per second of processor time, warm-up included.
    package var requestsPerSecond: Double
    /// The heap bytes of the metadata of all caches at the end.
    package var metadataBytes: Int
    /// The time for learning and planning of prefetches, in microseconds per request. Nil without prefetching.
    package var planningMicroseconds: Double?

    /// Creates the provenance of a run that has just ended.
    init(_ result: RunResult, cell: String, suite: String) {
        self.cell = cell
        self.suite = suite
        host = ProcessInfo.processInfo.hostName
        system = ProcessInfo.processInfo.operatingSystemVersionString
        cores = ProcessInfo.processInfo.processorCount
        kernels = result.allKernels.map { "\($0.name.rawValue): \($0.implementation)" }
        finishedAt = Date().formatted(.iso8601)
        seconds = result.seconds
        requestsPerSecond = result.requestsPerSecond
        metadataBytes = result.metadataBytes
        planningMicroseconds = result.prefetch?.planningMicroseconds
    }
}
