import HalcyonLearning
import HalcyonPrefetch
import HalcyonSupport

/// The limits of a learner's tables that a trace exceeded in a run, as notes for the report.
///
/// Below a limit it has no effect. Beyond it the run is valid, but the learner knows less than it would with larger
/// tables.
package enum LimitNotes {
    /// Returns a sentence for each limit that the trace of a run exceeded. O(1).
    package static func sentences(for run: RunResult, trace: TraceSummary) -> [String] {
        var sentences = sentences(
            learner: run.label, sharesModel: run.knowledge != .device, users: trace.users, categories: trace.categories)
        let taken = run.metrics["training_samples"] ?? 0
        let notTaken = Int(clamping: Int64(run.metrics["samples_not_taken"] ?? 0))
        if run.policy == LearnedPolicy.info.name, notTaken > 0 {
            let share = Double(notTaken) / (taken + Double(notTaken))
            sentences.append(
                "\(run.label) at \(run.capacityAsked) took \(notTaken.grouped) training samples fewer than its rate asks "
                    + "for (\(share.percent)), because at most \(LearnedPolicy.waitingSampleBound.grouped) wait for their "
                    + "label.")
        }
        guard let name = run.prefetch?.policy.prefix(while: { $0 != "(" }),
            let limits = PrefetchLimits(policy: String(name))
        else { return sentences }
        if let bound = limits.objects, trace.objects > bound {
            sentences.append(
                "\(name) ignores all but the first \(bound.grouped) objects, and the trace has \(trace.objects.grouped)."
            )
        }
        if let bound = limits.users, trace.users > bound {
            sentences.append(
                "\(name) distinguishes \(bound.grouped) users, and the trace has \(trace.users.grouped): the others share "
                    + "statistics.")
        }
        if let bound = limits.categories, trace.categories > bound {
            sentences.append(
                "\(name) distinguishes \(bound.grouped) categories, and the trace has \(trace.categories.grouped).")
        }
        return sentences
    }

    /// Returns the sentences of several runs over one trace, each once, in the order of the runs.
    package static func sentences(for runs: [RunResult], trace: TraceSummary) -> [String] {
        runs.flatMap { sentences(for: $0, trace: trace) }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// Returns a sentence for each limit of the tables of a learned policy that a trace exceeds, before any run.
    ///
    /// - Parameters:
    ///   - label: the policy with the parameters set by the user.
    ///   - sharesModel: whether one model sees all users.
    package static func sentences(
        learner label: String, sharesModel: Bool, users: Int, categories: Int
    ) -> [String] {
        guard label.prefix(while: { $0 != "(" }) == LearnedPolicy.info.name else { return [] }
        var sentences: [String] = []
        // A model of one user's cache sees one user.
        if sharesModel, users > LearnedPolicy.userBound {
            sentences.append(
                "\(label) keeps the statistics of at most \(LearnedPolicy.userBound.grouped) users at a time, and "
                    + "the trace has \(users.grouped): users whose numbers share a place replace each other.")
        }
        if categories > LearnedPolicy.categoryBound {
            sentences.append(
                "\(label) distinguishes \(LearnedPolicy.categoryBound.grouped) categories, and the trace has "
                    + "\(categories.grouped): some share statistics.")
        }
        return sentences
    }
}
