import Foundation
import HalcyonSimulation
import HalcyonTrace

/// The category labels of a run: those of the trace, or a control that tells nothing about them.
package enum LabelControl: Sendable, Hashable, CustomStringConvertible {
    /// The labels of the trace.
    case given
    /// One category for all objects: what a policy knows without labels.
    case without
    /// The labels permuted among the objects, by one of many permutations that are numbered from 1.
    case permuted(PermutationScheme, number: Int)

    /// The seed of all permutations, so that a number stands for the same permutation in every suite.
    private static let seed: UInt64 = 1

    /// Reads `given`, `without` or a permutation such as `permuted uniform #1`.
    ///
    /// - Throws: `ReplayError.usage(_:)` for other text.
    package init(parsing text: String) throws(ReplayError) {
        switch text {
        case "given": self = .given
        case "without": self = .without
        default:
            let parts = text.split(separator: "#", maxSplits: 1)
            guard parts.count == 2, let number = Int(parts[1]), number > 0, let scheme = try Self.scheme(parts[0])
            else {
                throw .usage(
                    "'\(text.shortened)' does not name labels: write given, without, or a permutation such as "
                        + "permuted uniform #1.")
            }
            self = .permuted(scheme, number: number)
        }
    }

    /// Reads the labels of a suite. A permutation has no number there and stands for permutations 1 to `permutations`.
    ///
    /// - Throws: `ReplayError.usage(_:)` for other text.
    static func controls(parsing text: String, permutations: Int) throws(ReplayError) -> [LabelControl] {
        guard let scheme = try scheme(text[...]) else { return [try LabelControl(parsing: text)] }
        return (1...max(1, permutations)).map { .permuted(scheme, number: $0) }
    }

    /// Returns the scheme in `permuted SCHEME`; `nil` if the text does not begin so.
    private static func scheme(_ text: Substring) throws(ReplayError) -> PermutationScheme? {
        guard !text.contains("#"), text.hasPrefix("permuted ") else { return nil }
        return try PermutationScheme(parsing: text.dropFirst("permuted ".count).trimmingCharacters(in: .whitespaces))
    }

    /// The notation that ``init(parsing:)`` reads.
    package var description: String {
        switch self {
        case .given: "given"
        case .without: "without"
        case .permuted(let scheme, let number): "permuted \(scheme) #\(number)"
        }
    }

    /// Returns the trace with these labels. O(requests).
    ///
    /// - Throws: `ReplayError.data(_:)` if the trace has no categories, or strata cannot be made.
    func applied(to trace: Trace) throws(ReplayError) -> Trace {
        if self == .given { return trace }
        guard trace.hasCategories else {
            throw .data("The trace has no categories, so labels '\(self)' mean nothing: leave them out.")
        }
        var labelled: Trace
        if case .permuted(let scheme, let number) = self {
            let strata = try LabelStrata(scheme, of: trace)
            labelled = LabelPermutation(within: strata, objects: trace.allObjectCount, seed: Self.seed, number: number)
                .applied(to: trace)
        } else {
            labelled = trace.withOneCategory()
        }
        // Labels do not change what a log recorded: its latencies and moments are those of both sides of a comparison.
        labelled.recording = trace.recording
        return labelled
    }
}
