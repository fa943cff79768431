import HalcyonSimulation

/// The result of checking a suite.
public struct CheckReport: Sendable, Equatable {
    /// The file of the suite, as the user named it.
    public var suite: String
    /// The folder of the stored cells. Nil if only limits were checked.
    public var folder: String?
    /// The result version of the build that ran the check.
    public var resultVersion: Int
    /// The runs of all experiments, in the order of the suite.
    public var runs: [CheckedRun]
    /// The number of stored cells that belong to no run of the suite.
    public var leftovers: Int
    /// Whether results were accepted into the folder, so that it may hold no cells of other runs: it has a file
    /// ``acceptedFile``. The default is false.
    public var ownsFolder = false
    /// Whether the results were stored after the check. No run is then missed for not having been stored. The default is
    /// false.
    public var isAccepted = false
    /// The results that are the same on every machine, in the order of their names.
    var cells: [MeasuredCell]

    /// Whether the check is passed: no run is missed, and the stored cells have the result version of the build. In a
    /// folder of accepted results, each cell also belongs to a run.
    public var isPassed: Bool { missed.isEmpty && versionFault == nil && leftoverFault == nil }

    /// A sentence if stored cells have another result version than the build; `nil` otherwise.
    ///
    /// If there is one, a run whose stored cell has that version is not missed for counts that moved.
    public var versionFault: String? {
        guard let folder, let recorded = recordedVersion, !isAccepted else { return nil }
        return "The stored cells in \(folder) have result version \(recorded), and this build has \(resultVersion): "
            + (resultVersion > recorded
                ? "record them with --accept --reason \"…\"." : "use a build with result version \(recorded).")
    }

    /// A sentence if a folder of accepted results has cells that belong to no run of the suite; `nil` otherwise.
    public var leftoverFault: String? {
        guard ownsFolder, !isAccepted, let sentence = leftoverSentence else { return nil }
        return
            "\(sentence): a run was deleted, or its requests, a parameter or a default changed. If that is meant, "
            + "remove \(leftovers == 1 ? "it" : "them") with --accept --reason \"…\"."
    }

    /// How many stored cells belong to no run, without a full stop. Nil if there are none.
    var leftoverSentence: String? {
        guard let folder, leftovers > 0 else { return nil }
        return "\(leftovers.counted("stored cell")) in \(folder) belong\(leftovers == 1 ? "s" : "") to no run"
    }

    /// The result version of stored cells, if it is not that of the build.
    var recordedVersion: Int? { runs.lazy.compactMap(\.recordedVersion).first { $0 != resultVersion } }

    /// The runs that are missed: moved, not stored, or below a limit.
    public var missed: [CheckedRun] { runs.filter { !misses(of: $0).isEmpty } }
    /// The runs that differ from what is stored.
    public var moved: [CheckedRun] { runs.filter(\.hasMoved) }
    /// The runs of which no result is stored although it is the same on every machine.
    public var notStored: [CheckedRun] { runs.filter(isNotStored) }

    /// Returns whether a result of the run must be stored and is not.
    func isNotStored(_ run: CheckedRun) -> Bool {
        folder != nil && !isAccepted && run.isExact && run.recordedVersion == nil
    }

    /// Returns the reasons why `run` is missed, one sentence each; empty if it is not.
    public func misses(of run: CheckedRun) -> [String] {
        var misses: [String] = []
        if isNotStored(run) {
            misses.append(
                "Its result is not stored in \(folder ?? ""): it is new, or its requests, a parameter or a default changed. "
                    + "Record it with --accept --reason \"…\".")
        }
        if !run.unversionedChanges.isEmpty {
            misses.append(
                "It moved and the result version did not (\(resultVersion)): "
                    + "\(run.unversionedChanges.joined(separator: ", ")). A change that moves results needs a higher result version (Halcyon.resultVersion), an entry in CHANGELOG.md and "
                    + "--accept.")
        }
        return misses + run.missedLimits
    }
}
