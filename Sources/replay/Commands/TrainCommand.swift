import ArgumentParser
import Foundation
import HalcyonModel
import HalcyonSimulation
import HalcyonTrace

/// `replay train TRACE --output model.safetensors`: a model that serves from the first request on.
struct TrainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "train",
        abstract: "Replay a trace through 'learned' and keep what it has learnt, as safetensors.",
        discussion: "replay train yesterday.csv --output model.safetensors; replay today.csv --model model.safetensors")

    @OptionGroup var trace: TraceArguments

    @OptionGroup(title: "Learning") var learner: LearnerArguments

    @Option(name: [.short, .long], help: "The file to write.")
    var output: String

    func run() async throws {
        try await reportingFailure {
            try Output.verify(output)
            let (replay, notes) = try learner.load(trace)
            for sentence in notes { Terminal.say("note: \(sentence)") }
            let progress = replay.makeProgress()
            let training = try await showingProgress(progress) { try replay.train(progress: progress) }
            try Output.write(try training.model.data(), to: output)
            Terminal.say(
                "\(output): learnt from \(training.model.trainingSamples.counted("sample")) in "
                    + "\(training.model.trainingSteps.counted("step")); the replay hit "
                    + "\(training.run.objectHitRatio.percent) of \(training.run.requests.counted("request"))")
        }
    }
}
