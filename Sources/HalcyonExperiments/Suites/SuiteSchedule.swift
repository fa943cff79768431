import HalcyonEviction
import HalcyonSimulation
import HalcyonTrace

/// The cells of a suite, before they are run.
public struct SuiteSchedule: Sendable, Encodable {
    /// A cell of the schedule.
    package struct Cell: Sendable, Encodable {
        /// The name of the cell.
        package var hash: String
        /// The name of the trace.
        package var trace: String
        /// The name of the run in tables.
        package var label: String
        /// The capacity, or the capacities of the tiers, as requested.
        package var capacity: String
        /// The kind of caches.
        package var mode: ReplayMode
        /// The knowledge where it decides the result. Nil otherwise.
        package var knowledge: Knowledge?
        /// The prefetch policy. Nil without.
        package var prefetch: String?
        /// What the models of devices are trained on. Nil without such models.
        package var pretrain: String?
        /// The labels of the requests.
        package var labels: String
        /// The seed. Nil if the run draws no random numbers.
        package var seed: UInt64?
        /// The requests to serve.
        package var requests: Int
        /// The expected duration on one core, in seconds: rough.
        package var estimatedSeconds: Double
        /// The expected memory besides that of the trace, in bytes: rough.
        package var estimatedBytes: Int
        /// Whether the result is stored already.
        package var stored: Bool

        let job: SuiteJob
        let identity: CellIdentity

        enum CodingKeys: String, CodingKey {
            case hash, trace, label, capacity, mode, knowledge, prefetch, pretrain, labels, seed, requests,
                estimatedSeconds, estimatedBytes, stored
        }
    }

    /// A cell or a trace that cannot be run.
    public struct Failure: Sendable, Encodable, Equatable {
        /// The name of the trace.
        public var trace: String
        /// The name of the run, with its capacity. Nil if no cell of the trace can be run.
        public var cell: String?
        /// The reason, in one sentence.
        public var sentence: String
    }

    /// The version of this structure.
    package var schema = "halcyon.plan/1"
    /// The name of the suite.
    package var suite: String
    /// The cells by trace, those with the longest expected duration first.
    package var cells: [Cell]
    /// What cannot be run.
    public var failures: [Failure]
    /// The hash of the requests that caches of each kind serve, for each trace that could be read.
    var requests: [Requests: RequestIdentity] = [:]

    /// The requests of a trace that caches of one kind serve.
    struct Requests: Hashable {
        var trace: String
        var mode: ReplayMode
    }

    enum CodingKeys: String, CodingKey {
        case schema, suite, cells, failures
    }

    /// The cells whose results are not stored.
    package var missing: [Cell] { cells.filter { !$0.stored } }

    /// The schedule as one JSON object.
    package func json() throws -> String { String(decoding: try JSONReport.data(self), as: UTF8.self) }
}

/// Estimates what a cell costs.
struct CellCosts {
    private var rates: [String: [Double]] = [:]

    /// Learns the speed of runs from those of a store. O(cells).
    init(_ store: ResultStore) {
        guard let hashes = try? store.hashes() else { return }
        for hash in hashes {
            guard let provenance = try? store.provenance(hash), provenance.requestsPerSecond > 0,
                let cell = try? store.cell(hash)
            else { continue }
            let identity = cell.identity
            rates[Self.key(identity), default: []].append(provenance.requestsPerSecond)
        }
        for key in rates.keys { rates[key]?.sort() }
    }

    private static func key(_ identity: CellIdentity) -> String {
        "\(identity.policy) \(identity.mode.rawValue) \(identity.prefetch?.policy ?? "")"
    }

    /// Returns the expected duration on one core, in seconds. Without stored runs of the kind, a classical policy is
    /// taken to serve 3 million requests a second, one that learns 0.3, and a planner 0.1.
    func seconds(_ identity: CellIdentity, job: ReplayJob, requests: Int) -> Double {
        let known = rates[Self.key(identity)].map { $0[$0.count / 2] }
        let learns = job.policies.contains(where: \.learns)
        let rate = known ?? (job.options.prefetch != nil ? 100_000 : learns ? 300_000 : 3_000_000)
        return Double(requests) / rate
    }

    /// Returns the expected memory besides that of the trace, in bytes. It has 16 for each object, 128 for each resident
    /// and 512 for each user's cache. An offline policy adds 8 for each request, a model 8 MB.
    static func bytes(_ job: ReplayJob, trace: Trace, capacity: Int) -> Int {
        let average = max(1, Int(clamping: trace.distinctSize) / max(1, trace.objectCount))
        let perCache = min(trace.objectCount, capacity / average + 1)
        let residents =
            job.mode == .perUser ? min(trace.count, perCache.multipliedClamping(by: trace.userCount)) : perCache
        let learns = job.policies.contains(where: \.learns) || job.options.prefetch?.traits.contains(.learns) == true
        return trace.objectCount * 16 + residents * 128 + (job.mode == .perUser ? trace.userCount * 512 : 0)
            + (job.traits.contains(.needsFuture) ? trace.count * 8 : 0) + (learns ? 8_000_000 : 0)
    }
}

extension Int {
    fileprivate func multipliedClamping(by other: Int) -> Int {
        let (product, isTooLarge) = multipliedReportingOverflow(by: other)
        return isTooLarge ? .max : product
    }
}
