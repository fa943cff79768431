import Foundation
import HalcyonSimulation
import HalcyonTrace

/// The requests that one kind of caches serves of one trace of a tuning.
public struct TuningTrace: Sendable, Codable, Equatable {
    /// The name of the trace in the suite.
    public var name: String
    /// The part that the trace plays.
    public var split: TraceReference.Split
    /// The kind of caches.
    public var mode: ReplayMode
    /// The fingerprint of all requests of the file.
    public var file: String
    /// The fingerprint of the selected requests.
    public var fingerprint: String
    /// The position in the file of the first selected request, from 0.
    public var first: Int
    /// The position in the file of the last selected request.
    public var last: Int
    /// The number of selected requests.
    public var requests: Int

    /// Returns whether two selections share a request: the same requests, or overlapping parts of one file.
    func overlaps(_ other: TuningTrace) -> Bool {
        fingerprint == other.fingerprint || file == other.file && first <= other.last && other.first <= last
    }
}

/// The traces of a suite by split, verified to have no request in two splits.
///
/// Two files are the same if they have the same path, links followed, or the same content. Copies of a part of a file
/// under another name are not detected.
struct TuningTraces {
    /// The selections, in the order of the suite.
    let selections: [TuningTrace]

    /// Reads the traces that have a split and belong to an experiment. O(requests).
    ///
    /// - Throws: `ReplayError.data(_:)` if a split has no trace or two splits share requests; `TraceError` if a trace
    ///   cannot be read.
    init(_ suite: Suite) throws {
        var selections: [TuningTrace] = []
        var readings: [String: TraceReference] = [:]
        var places: [String: String] = [:]
        for reference in suite.traces {
            let modes = Set(
                suite.experiments.filter { $0.traces.isEmpty || $0.traces.contains(reference.name) }.flatMap(\.modes))
            guard let split = reference.split, !modes.isEmpty else { continue }
            let path = try reference.resolvedPath(inFileAt: suite.path)
            let whole = try reference.load(inFileAt: suite.path)
            let file = whole.fingerprint
            readings[reference.name] = reference
            places[reference.name] = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
            for mode in [ReplayMode.shared, .perUser] where modes.contains(mode) {
                let selected = try reference.selection(of: whole, mode: mode)
                let (first, last) = Self.ends(reference, of: whole, mode: mode, count: selected.count)
                selections.append(
                    TuningTrace(
                        name: reference.name, split: split, mode: mode, file: file, fingerprint: selected.fingerprint,
                        first: first, last: last, requests: selected.count))
            }
        }
        for split in TraceReference.Split.allCases where !selections.contains(where: { $0.split == split }) {
            throw ReplayError.data(
                "\(suite.path): a tuning needs a trace with 'split: \(split.rawValue)' that an experiment uses, and there is "
                    + "none.")
        }
        for (number, one) in selections.enumerated() {
            for other in selections[..<number] where other.split != one.split {
                let left = other
                var right = one
                var isComparable = true
                if places[left.name] == places[right.name] {
                    // One file, which may have been read with different sizes.
                    right.file = left.file
                    if let a = readings[left.name], let b = readings[right.name] {
                        isComparable = a.sort == b.sort && a.columns == b.columns
                    }
                }
                guard !isComparable || left.overlaps(right) else { continue }
                throw ReplayError.data("\(suite.path): \(Self.sentence(other, one, isComparable: isComparable))")
            }
        }
        self.selections = selections
    }

    private static func sentence(_ one: TuningTrace, _ other: TuningTrace, isComparable: Bool) -> String {
        let names = "the traces '\(one.name)' (\(one.split.rawValue)) and '\(other.name)' (\(other.split.rawValue))"
        if !isComparable {
            return
                "\(names) read one file in different ways: give both the same 'sort' and 'columns', and parts that do "
                + "not overlap."
        }
        if one.first == other.first, one.last == other.last {
            return "\(names) hold the same requests: a request belongs to one split only."
        }
        let (from, to) = (max(one.first, other.first) + 1, min(one.last, other.last) + 1)
        guard from <= to else { return "\(names) hold the same requests: a request belongs to one split only." }
        return
            "\(names) share requests \(from.grouped) to \(to.grouped) of one file: choose 'skip' and 'limit' so that they "
            + "do not overlap."
    }

    /// Returns the positions of the first and the last selected request in the file.
    private static func ends(
        _ reference: TraceReference, of whole: Trace, mode: ReplayMode, count: Int
    ) -> (Int, Int) {
        guard mode == .perUser else { return (reference.skip, reference.skip + count - 1) }
        var (seen, first, last) = (0, 0, 0)
        for position in 0..<whole.count where whole.users[position] != Trace.noUser {
            if seen == reference.skip { first = position }
            if seen < reference.skip + count { last = position }
            seen += 1
        }
        return (first, last)
    }

    /// Returns the selections of a split.
    func selections(_ split: TraceReference.Split) -> [TuningTrace] { selections.filter { $0.split == split } }
}
