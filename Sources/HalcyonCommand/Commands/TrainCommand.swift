import ArgumentParser
import Foundation
import HalcyonPrefetch
import HalcyonSimulation
import HalcyonTrace

/// `replay train TRACE --output model.safetensors`: trains a model for use from the first request on.
struct TrainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "train",
        abstract: "Replay a trace through 'learned' and save its model as safetensors.",
        discussion:
            "replay train yesterday.csv --output model.safetensors; replay today.csv --model model.safetensors. With "
            + "--prefetch, the model of the prefetch planner: replay train yesterday.csv --prefetch planner --output "
            + "planner.safetensors; replay today.csv --prefetch planner --prefetch-model planner.safetensors")

    @OptionGroup var trace: TraceArguments

    @OptionGroup(title: "Learning") var learner: LearnerArguments

    @Option(
        help: ArgumentHelp(
            "Save the model of this prefetch planner instead: planner, planner(visits=on). It prefetches at most 2 objects per request.",
            valueName: "policy"))
    var prefetch: String?

    @Option(name: [.short, .long], help: "The file to write.")
    var output: String

    func run() async throws {
        try await reportingFailure {
            try CommandFiles(reads: trace.files, writes: [("--output", output)]).verify()
            let (replay, notes) = try learner.load(trace)
            for sentence in notes { Terminal.say("note: \(sentence)") }
            if let prefetch { return try await trainPlanner(prefetch, replay) }
            let progress = replay.makeProgress()
            let training = try await trace.naming {
                try await showingProgress(progress) { try replay.train(progress: progress) }
            }
            try Output.write(try training.model.data(), to: output)
            if let note = training.run.kernelNote { Terminal.say("note: \(note)") }
            Terminal.say(
                "\(output): learned from \(training.model.trainingSamples.counted("sample")) in "
                    + "\(training.model.trainingSteps.counted("step")); the replay hit "
                    + "\(training.run.objectHitRatio.percent) of \(training.run.requests.counted("request"))")
        }
    }

    private func trainPlanner(_ policy: String, _ replay: LearnerReplay) async throws {
        let options = try PrefetchOptions(policy: policy, budget: try PrefetchBudget(parsing: "2/request"))
        let progress = replay.makeProgress()
        let training = try await trace.naming {
            try await showingProgress(progress) { try replay.trainPlanner(options, progress: progress) }
        }
        try Output.write(try training.model.data(), to: output)
        Terminal.say(
            "\(output): learned in \(training.model.trainingSteps.counted("step")); the replay hit "
                + "\(training.run.objectHitRatio.percent) of \(training.run.requests.counted("request")), without "
                + "prefetching \((training.run.prefetch?.objectHitRatioWithout ?? 0).percent)")
    }
}
