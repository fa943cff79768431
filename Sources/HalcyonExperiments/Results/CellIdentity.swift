import Foundation
import HalcyonEviction
import HalcyonPrefetch
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace

/// Everything that decides the result of a cell: the requests, the job and the build's result version.
///
/// Two cells with equal identities have equal results, whichever machine runs them. ``hash`` names a cell. Fractions
/// are stored as text, so that every language writes the same bytes.
package struct CellIdentity: Sendable, Hashable, Codable {
    /// Two tiers as requested.
    package struct Tiers: Sendable, Hashable, Codable {
        /// The capacity of the memory.
        package var memory: String
        /// The capacity of the disk.
        package var disk: String
        /// The policy of the memory, with the parameters set by the user.
        package var memoryPolicy: String
        /// The policy of the disk, with the parameters set by the user.
        package var diskPolicy: String
        /// The lifetime of an entry in memory after its last access, in microseconds. Nil if the policy decides.
        package var memoryLifetimeUs: Int64?
        /// The lifetime of an entry on disk after its last access, in microseconds. Nil if the policy decides.
        package var diskLifetimeUs: Int64?
        /// The latencies, in the notation of `--latency`.
        package var latency: String
        /// The ratio of an object's size in memory to its size on disk. Nil if it is 1.
        package var decodedSizeRatio: String?
    }

    /// Prefetching as requested.
    package struct Prefetch: Sendable, Hashable, Codable {
        /// The name of the prefetch policy.
        package var policy: String
        /// Every parameter of the policy with its value.
        package var parameters: [String: String]
        /// The prefetch budget of each cache, in the notation of `--prefetch-budget`.
        package var budget: String
        /// The latency of a prefetch of no bytes, in microseconds.
        package var latencyUs: Int64
        /// The bandwidth of prefetches, in bytes a second. Nil if each prefetch takes the same time.
        package var bandwidth: String?
        /// The idle time after which a visit has ended, in microseconds. Nil for the default of 30 minutes.
        package var idleTimeUs: Int64?
        /// The hash of the keys; see ``RequestIdentity/keys``. Nil for a policy that does not use them.
        package var keys: String?
        /// The hash of the recording of an access log; see ``RequestIdentity/recording``. Nil without one.
        package var recording: String?
    }

    /// The hash of the requests; see `Trace.fingerprint`.
    package var fingerprint: String
    /// The labels of the requests, in the notation of ``LabelControl``.
    package var labels: String
    /// The name of the policy, or of the pair of policies of two tiers.
    package var policy: String
    /// The parameters of the policy with their values; see `RunResult.parameters`.
    package var parameters: [String: String]
    /// The capacity as requested. Nil with tiers.
    package var capacity: String?
    /// The tiers. Nil without.
    package var tiers: Tiers?
    /// The kind of caches.
    package var mode: ReplayMode
    /// The knowledge where it decides the result; see `ReplayJob.statedKnowledge`.
    package var knowledge: Knowledge?
    /// The prefetching. Nil without.
    package var prefetch: Prefetch?
    /// The announcements with every value; see `AnnouncementOptions`. Nil without.
    package var announce: String?
    /// What the models of devices were trained on, in the notation of `Pretraining`. Nil without such models.
    package var pretrain: String?
    /// The hash of the fingerprints of the traces in ``pretrain``. Nil without other traces.
    package var pretrainRequests: String?
    /// The restarts between visits; see `RestartOptions`. Nil without.
    package var restart: String?
    /// The seed. Nil if the run draws no random numbers.
    package var seed: UInt64?
    /// The requests that are not counted, in the notation of `Warmup`: a share (`0.25`), a number of requests
    /// (`60000`) or a time (`432000s`).
    package var warmup: String
    /// The result version of the build; see `BuildInfo.resultVersion`.
    package var resultVersion: Int
    /// The matrix routines, if results depend on the processor. Nil for portable ones.
    package var kernels: String?
    /// The part of the users that is replayed, such as `1/4`. Nil for all users.
    package var users: String?

    /// Creates the identity of a job.
    ///
    /// - Parameters:
    ///   - job: without a pretrained model, which has no identity here.
    ///   - labels: the labels of the requests.
    ///   - requests: with the labels of the trace.
    init(_ job: ReplayJob, labels: LabelControl, requests: RequestIdentity) {
        fingerprint = requests.fingerprint
        self.labels = labels.description
        policy = job.name ?? job.policies.map(\.info.name).joined(separator: "/")
        parameters = RunResult.parameters(job.policies)
        mode = job.mode
        knowledge = job.statedKnowledge
        if let tiers = job.tiers {
            self.tiers = Tiers(
                memory: tiers.memory.description, disk: tiers.disk.description,
                memoryPolicy: job.memoryPolicy?.label ?? "", diskPolicy: job.mainPolicy.label,
                memoryLifetimeUs: tiers.memoryLifetime, diskLifetimeUs: tiers.diskLifetime,
                latency: tiers.latency.text,
                decodedSizeRatio: tiers.decodedSizeRatio == 1 ? nil : Self.text(tiers.decodedSizeRatio))
        } else {
            capacity = job.capacity.description
        }
        // Latencies that a log measured are part of the hash of its recording.
        var prefetching = job.options.prefetch
        prefetching?.adopt(job.tiers)
        prefetch = prefetching.map {
            Prefetch(
                policy: $0.policy.name, parameters: $0.parameters, budget: $0.budget.description,
                latencyUs: $0.latency.shortest, bandwidth: $0.latency.bandwidth.map { Self.text($0) },
                idleTimeUs: $0.idleTime == PlanningMoment.idleTime ? nil : $0.idleTime,
                keys: $0.traits.contains(.usesKeys) ? requests.keys : nil, recording: requests.recording)
        }
        announce = job.options.announcements?.description
        pretrain = job.statedPretraining?.description
        if let names = job.statedPretraining?.traceNames, !names.isEmpty {
            pretrainRequests = Self.name(of: Data(names.map { requests.others[$0] ?? "" }.joined(separator: ",").utf8))
        }
        restart = job.options.restart?.description
        seed = job.isRandomised ? job.options.seed : nil
        users = job.users?.description
        warmup = job.options.warmup.description
        resultVersion = Halcyon.resultVersion
        let kernels =
            job.policies.compactMap { KernelInfo($0) }
            + [job.options.prefetch.flatMap { KernelInfo($0) }]
            .compactMap { $0 }
        self.kernels = kernels.first(where: \.dependsOnProcessor)?.implementation
    }

    /// The name of the cell: the first 32 hexadecimal digits of the SHA-256 digest of ``canonicalJSON``.
    package var hash: String { Self.name(of: canonicalJSON) }

    /// Returns the first 32 hexadecimal digits of the SHA-256 digest of data.
    static func name(of data: Data) -> String {
        SHA256Digest.hexadecimal(SHA256Digest.hash(data).prefix(16))
    }

    /// The identity as JSON with sorted keys and without spaces; values that are absent are left out.
    package var canonicalJSON: Data {
        // Every value is text, a whole number or a mapping of these, which are always encodable.
        (try? JSONReport.compact(self)) ?? Data()
    }

    /// The whole number or fraction as text, the shortest that reads as the same number.
    private static func text(_ value: Double) -> String { value == value.rounded() ? "\(Int(value))" : "\(value)" }
}

extension LatencyModel {
    /// The latencies in the notation of `--latency`.
    var text: String {
        "memory=\(memory),disk=\(disk),network=\(network),bandwidth=\(UInt64(bandwidth))B"
    }
}
