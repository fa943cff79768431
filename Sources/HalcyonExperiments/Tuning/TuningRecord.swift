import Foundation
import HalcyonSimulation
import HalcyonTrace

/// Everything that decides a tuning: two tunings with equal identities search, choose and report the same.
public struct TuningIdentity: Sendable, Codable, Equatable {
    /// The name of the tuned policy.
    public var policy: String
    /// The parameters that the user set; they are the same for all candidates.
    public var fixed: [String: String]
    /// The search.
    public var search: TuningSearch
    /// The searched values by parameter.
    public var space: [String: String]
    /// The largest number of passes over the training requests.
    public var budget: Int
    /// The number of candidates that are replayed on the validation traces.
    public var finalists: Int
    /// The seed of the search. Nil if it draws no random numbers.
    public var seed: UInt64?
    /// The names of the cells of the policy as given, by split. They name the requests, the experiments, the seeds and the
    /// result version.
    public var cells: [String: [String]]

    /// The name of the tuning: the first 32 hexadecimal digits of the SHA-256 digest of the identity as canonical JSON.
    public var hash: String { CellIdentity.name(of: (try? JSONReport.compact(self)) ?? Data()) }
}

/// A tuning as it is stored, in `tuning/HASH.json` of a folder of results.
///
/// It is written twice: with the choice, before any test trace is replayed, and with the figures of the test. Equal
/// tunings have equal bytes. Scores are miss ratios divided by LRU's, averaged over cells; lower is better.
public struct TuningRecord: Sendable, Codable, Equatable {
    /// The score of a candidate in one round of the search.
    public struct Rung: Sendable, Codable, Equatable {
        /// The part of the requests, from the start: `1/4`, or `1` for all.
        public var share: String
        /// The score on the training traces.
        public var score: Double
    }

    /// A candidate.
    public struct Candidate: Sendable, Codable, Equatable {
        /// The policy with the parameters set by the user and by the search.
        public var policy: String
        /// Every parameter of the policy with its value.
        public var parameters: [String: String]
        /// The scores on the training traces, in the order of the rounds. A candidate that was dropped has fewer.
        public var training: [Rung]
        /// The score on the validation traces. Nil unless it is a finalist.
        public var validation: Double?

        /// The score on the training traces at full length. Nil if the candidate was dropped before.
        public var fullTraining: Double? { training.last.flatMap { $0.share == "1" ? $0.score : nil } }
    }

    /// A cell of the test: two parameter sets of a policy at one capacity on one trace.
    public struct TestCell: Sendable, Codable, Equatable {
        /// The name of the trace.
        public var trace: String
        /// The kind of caches.
        public var mode: ReplayMode
        /// The capacity, or the capacities of the tiers, as requested.
        public var capacity: String
        /// The sharing of models. Nil in shared mode and for a policy that does not learn.
        public var models: ModelSharing?
        /// The prefetch policy. Nil without.
        public var prefetch: String?
        /// The object hit ratio of LRU, a mean over seeds.
        public var lru: Double
        /// The object hit ratio of the policy as given, a mean over seeds.
        public var defaults: Double
        /// The object hit ratio of the chosen parameters, a mean over seeds.
        public var chosen: Double
        /// The hit ratio of the chosen parameters minus that of the policy as given, with its 95 % interval, over users or
        /// stretches of time and over seeds.
        public var contrast: Contrast
    }

    /// The figures of the test.
    public struct Test: Sendable, Codable, Equatable {
        /// The score of the policy as given.
        public var defaults: Double
        /// The score of the chosen parameters.
        public var chosen: Double
        /// The cells.
        public var cells: [TestCell]
        /// How many tunings of the policy, this one included, have looked at these test traces in this folder.
        public var look: Int
    }

    /// The version of this structure.
    public static let schema = "halcyon.tuning/1"

    /// The version of this structure.
    public var schema = TuningRecord.schema
    /// What decides the tuning.
    public var identity: TuningIdentity
    /// The name of the suite.
    public var suite: String
    /// The traces by split and kind of caches.
    public var traces: [TuningTrace]
    /// The number of passes over the training requests that the candidates cost. The policy as given is free of charge.
    public var spent: Double
    /// The candidates, the policy as given first.
    public var candidates: [Candidate]
    /// The place of the chosen candidate in ``candidates``; 0 if the policy as given is kept.
    public var choice: Int
    /// Whether the policy draws random numbers.
    public var isRandomised: Bool
    /// Whether several seeds were run, so that the intervals include the chance of runs.
    public var hasRunNoise: Bool
    /// The figures of the test. Nil until they are there.
    public var test: Test?

    /// The policy as given.
    public var defaults: Candidate { candidates[0] }
    /// The chosen candidate.
    public var chosen: Candidate { candidates[choice] }

    /// The bytes of the stored file.
    ///
    /// - Throws: `EncodingError` for a score that is not a number.
    public func json() throws -> Data { try JSONReport.data(self) }
}

extension ResultStore {
    /// The path of a tuning's file.
    public func path(ofTuning hash: String) -> String { "\(folder)/tuning/\(hash).json" }

    /// Returns a stored tuning; `nil` if it is not stored.
    ///
    /// - Throws: `ReplayError.data(_:)` if the file cannot be read, has another schema, or its name is not that of its
    ///   identity.
    public func tuning(_ hash: String) throws(ReplayError) -> TuningRecord? {
        let file = path(ofTuning: hash)
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        let record = try Self.decode(TuningRecord.self, file, schema: TuningRecord.schema)
        guard record.identity.hash == hash else {
            throw .data(
                "\(file): is not the tuning of its name, but \(record.identity.hash): it was renamed or edited.")
        }
        guard record.candidates.indices.contains(record.choice) else {
            throw .data("\(file): chooses candidate \(record.choice), which it does not have: it was edited.")
        }
        return record
    }

    /// Returns all stored tunings in alphabetical order of their names.
    ///
    /// - Throws: `ReplayError.data(_:)` as ``tuning(_:)``.
    public func tunings() throws(ReplayError) -> [TuningRecord] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/tuning")) ?? []
        var records: [TuningRecord] = []
        for file in files.filter({ $0.hasSuffix(".json") }).sorted() {
            if let record = try tuning(String(file.dropLast(".json".count))) { records.append(record) }
        }
        return records
    }

    /// Writes a tuning in place of an earlier state of it.
    ///
    /// - Throws: `ReplayError.usage(_:)` if there cannot be a folder; `TraceError` if the file cannot be written.
    func write(_ record: TuningRecord) throws {
        do {
            try FileManager.default.createDirectory(atPath: "\(folder)/tuning", withIntermediateDirectories: true)
        } catch {
            throw ReplayError.usage("\(folder)/tuning: cannot be a folder of tunings.")
        }
        try Self.write(try record.json(), to: path(ofTuning: record.identity.hash))
    }
}
