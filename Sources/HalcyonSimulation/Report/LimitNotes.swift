import HalcyonLearning
import HalcyonPrefetch
import HalcyonSupport

/// The limits of a learner's tables that a trace exceeded in a run, as notes for the report.
///
/// Below a limit it has no effect. Beyond it the run is valid, but the learner knows less than it would with larger
/// tables.
public enum LimitNotes {
    /// Returns a sentence for each limit that the trace of a run exceeded. O(1).
    public static func sentences(for run: RunResult, trace: TraceSummary) -> [String] {
        sentences(
            learnerOf: run, users: trace.users, categories: trace.categories)
            + sentences(
                prefetcherOf: run, objects: trace.objects, users: trace.users, categories: trace.categories)
    }

    /// Returns the sentences of several runs over one trace, each once, in the order of the runs.
    public static func sentences(for runs: [RunResult], trace: TraceSummary) -> [String] {
        var sentences: [String] = []
        for run in runs {
            for sentence in self.sentences(for: run, trace: trace) where !sentences.contains(sentence) {
                sentences.append(sentence)
            }
        }
        return sentences
    }

    /// Returns a sentence for each limit of the tables of a learned policy that a trace exceeds, before any run.
    ///
    /// - Parameters:
    ///   - label: the policy with the parameters set by the user.
    ///   - sharesModel: whether one model sees all users.
    public static func sentences(
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

    private static func sentences(learnerOf run: RunResult, users: Int, categories: Int) -> [String] {
        guard run.policy == LearnedPolicy.info.name else { return [] }
        var sentences = sentences(
            learner: run.label, sharesModel: run.models != .own, users: users, categories: categories)
        let (taken, notTaken) = (
            run.metrics["training_samples"] ?? 0, Int(clamping: Int64(run.metrics["samples_not_taken"] ?? 0))
        )
        if notTaken > 0 {
            let share = Double(notTaken) / (taken + Double(notTaken))
            sentences.append(
                "\(run.label) at \(run.capacityAsked) took \(notTaken.grouped) training samples fewer than its rate asks "
                    + "for (\(share.percent)), because at most \(LearnedPolicy.waitingSampleBound.grouped) wait for their "
                    + "label.")
        }
        return sentences
    }

    private static func sentences(
        prefetcherOf run: RunResult, objects: Int, users: Int, categories: Int
    ) -> [String] {
        guard let policy = run.prefetch?.policy else { return [] }
        let name = String(policy.prefix { $0 != "(" })
        guard let limits = PrefetchLimits(policy: name) else { return [] }
        var sentences: [String] = []
        if let bound = limits.objects, objects > bound {
            sentences.append(
                "\(name) ignores all but the first \(bound.grouped) objects, and the trace has \(objects.grouped).")
        }
        if let bound = limits.users, users > bound {
            sentences.append(
                "\(name) distinguishes \(bound.grouped) users, and the trace has \(users.grouped): the others share "
                    + "statistics.")
        }
        if let bound = limits.categories, categories > bound {
            sentences.append(
                "\(name) distinguishes \(bound.grouped) categories, and the trace has \(categories.grouped).")
        }
        return sentences
    }
}
