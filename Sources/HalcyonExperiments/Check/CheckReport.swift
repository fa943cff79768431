import HalcyonSimulation

/// The result of checking a suite.
package struct CheckReport: Sendable, Equatable {
    /// The file of the suite, as the user named it.
    package var suite: String
    /// The folder of the stored cells. Nil if only limits were checked.
    package var folder: String?
    /// The result version of the build that ran the check.
    package var resultVersion: Int
    /// The runs of all experiments, in the order of the suite.
    package var runs: [CheckedRun]
    /// What could not be run, in the order in which it was found. Empty by default.
    package var errors: [CheckError] = []
    /// The traces whose requests are not those of the stored results, in the order of the suite. Empty by default.
    package var otherTraces: [OtherTrace] = []
    /// The number of stored cells that belong to no run of the suite, without those of ``otherTraces``.
    package var leftovers: Int
    /// The number of stored cells of the requests that ``otherTraces`` had before.
    var replaced = 0
    /// Whether results were accepted into the folder, so that it may hold no cells of other runs: it has a file
    /// ``acceptedFile``. The default is false.
    package var ownsFolder = false
    /// Whether the results were stored after the check. No run is then missed for not having been stored. The default is
    /// false.
    package var isAccepted = false
    /// The results that are the same on every machine, in the order of their names.
    var cells: [MeasuredCell]

    /// Whether the check is passed: everything was run, no run is missed, and the stored cells have the result version
    /// of the build. In a folder of accepted results, each cell also belongs to a run.
    package var isPassed: Bool { errors.isEmpty && missed.isEmpty && versionFault == nil && leftoverFault == nil }

    /// A sentence if stored cells have another result version than the build; `nil` otherwise.
    ///
    /// If there is one, a run whose stored cell has that version is not missed for counts that moved.
    package var versionFault: String? {
        guard let folder, let recorded = recordedVersion, !isAccepted else { return nil }
        return "The stored cells in \(folder) have result version \(recorded), and this build has \(resultVersion): "
            + (resultVersion > recorded
                ? "record them with --accept --reason \"…\"." : "use a build with result version \(recorded).")
    }

    /// A sentence if a folder of accepted results has cells that belong to no run of the suite; `nil` otherwise.
    package var leftoverFault: String? {
        guard ownsFolder, !isAccepted, let sentence = leftoverSentence else { return nil }
        return
            "\(sentence): a run was deleted, or a parameter, a default or a policy's version changed. If that is meant, "
            + "remove \(leftovers == 1 ? "it" : "them") with --accept --reason \"…\"."
    }

    /// How many stored cells belong to no run, without a full stop. Nil if there are none.
    var leftoverSentence: String? {
        guard let folder, leftovers > 0 else { return nil }
        return "\(leftovers.counted("stored cell")) in \(folder) belong\(leftovers == 1 ? "s" : "") to no run"
    }

    /// The result version of stored cells, if it is not that of the build.
    var recordedVersion: Int? { runs.lazy.compactMap(\.recordedVersion).first { $0 != resultVersion } }

    /// The runs that are missed: of another trace, moved, not stored, or below a limit.
    package var missed: [CheckedRun] { runs.filter { !misses(of: $0).isEmpty } }
    /// The runs that differ from what is stored.
    package var moved: [CheckedRun] { runs.filter(\.hasMoved) }
    /// The runs of which no result is stored although it is the same on every machine.
    package var notStored: [CheckedRun] { runs.filter(isNotStored) }

    /// Returns whether a result of the run must be stored and is not.
    func isNotStored(_ run: CheckedRun) -> Bool {
        folder != nil && !isAccepted && run.isExact && run.recordedVersion == nil && otherTrace(of: run) == nil
    }

    /// Returns the trace of the run, if it is not that of the stored results.
    func otherTrace(of run: CheckedRun) -> OtherTrace? {
        isAccepted ? nil : otherTraces.first { $0.trace == run.trace && $0.mode == run.mode }
    }

    /// Returns the reasons why `run` is missed, one sentence each; empty if it is not.
    ///
    /// A run of another trace has that one reason: its counts and limits are of other requests.
    package func misses(of run: CheckedRun) -> [String] {
        if let other = otherTrace(of: run) { return [other.sentence] }
        var misses: [String] = []
        if isNotStored(run) {
            misses.append(
                "Its result is not stored in \(folder ?? ""): it is new, or a parameter, a default or its policy's "
                    + "version changed"
                    + (run.readsMoreThanRequests ? ", or the trace has other keys or another recording" : "")
                    + ". Store it with --accept --reason \"…\".")
        }
        if !run.unversionedChanges.isEmpty {
            misses.append(
                "It moved within \(version(of: run)): \(run.unversionedChanges.joined(separator: ", ")). \(advice(on: run))"
            )
        }
        return misses + run.missedLimits
    }

    /// Returns the version within which the results of a run do not move.
    private func version(of run: CheckedRun) -> String {
        run.policyVersion.map { "version \($0) of the policy" } ?? "result version \(resultVersion)"
    }

    /// Returns what to do about a run that moved within a version.
    func advice(on run: CheckedRun) -> String {
        if run.policyVersion != nil {
            return
                "If that is meant, raise the policy's version (PolicyInfo.version) and store the results with --accept "
                + "--reason \"…\"."
        }
        return "Builds with the same result version give the same results. If you changed Halcyon's sources, raise "
            + "Halcyon.resultVersion; if not, the stored cells were edited or come from changed sources: remove "
            + "\(folder ?? "them"). Then store the results with --accept --reason \"…\"."
    }
}

/// What a check could not run: a trace that cannot be read, a policy that is not known, or a run that does not suit its
/// trace.
package struct CheckError: Sendable, Equatable {
    /// The name: of the trace, of the run, or of the experiment and the policy.
    package var name: String
    /// The reason, in one sentence.
    package var sentence: String

    /// Creates an error.
    package init(name: String, sentence: String) {
        self.name = name
        self.sentence = sentence
    }

    init(_ failure: SuiteSchedule.Failure) {
        self.init(
            name: ([failure.trace] + [failure.cell].compactMap { $0 }).joined(separator: ", "),
            sentence: failure.sentence)
    }
}

/// A trace whose requests are not those of the stored results: its file was truncated or replaced.
package struct OtherTrace: Sendable, Equatable {
    /// Requests.
    package struct Requests: Sendable, Equatable {
        /// Their number.
        package var count: Int
        /// Their hash; see `Trace.fingerprint`.
        package var fingerprint: String

        var words: String { "\(count.counted("request")) (fingerprint \(fingerprint))" }
    }

    /// The name of the trace.
    package var trace: String
    /// The kind of caches, which decides the requests that are served.
    package var mode: ReplayMode
    /// The requests of the stored results.
    package var expected: Requests
    /// The requests that the trace has now.
    package var found: Requests

    /// What was expected and found, and what to do, in one sentence.
    package var sentence: String {
        "The trace is another one: expected \(expected.words), found \(found.words); if that is meant, store its results "
            + "with --accept --reason \"…\"."
    }

    /// The name: `shop, shared`.
    var name: String { "\(trace), \(mode.words)" }
}
