import Foundation
import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("A trained model and its file", .timeLimit(.minutes(20)))
struct PretrainedModelTests {
    private func model(hidden: Int = 4, trainingSteps: Int = 900) -> PretrainedModel {
        let count = Feature.width * hidden + hidden + 1
        return PretrainedModel(
            weights: (0..<count).map { Float($0) / 64 - 1 }, inputs: Feature.width, hidden: hidden,
            groups: [.recency, .size],
            objective: .bytes, baseWindow: 0.75, windowMultiplier: 4, trainingSteps: trainingSteps,
            trainingSamples: 30_000,
            producer: "9.9")
    }

    private func fault(_ change: (inout SafeTensors) -> Void) throws -> ModelFileError? {
        var file = try SafeTensors(parsing: model().data())
        change(&file)
        let data = try file.data()
        do {
            _ = try PretrainedModel(parsing: data)
            return nil
        } catch { return error }
    }

    @Test("A model equals itself after writing and reading; the arrays have the documented shapes")
    func modelEqualsItselfAfterWritingAndReading() throws {
        let model = model()
        #expect(try PretrainedModel(parsing: model.data()) == model)
        let file = try SafeTensors(parsing: model.data())
        #expect(file.tensors["hidden.weight"]?.shape == [Feature.width, 4])
        #expect(file.tensors["output.weight"]?.shape == [4])
        #expect(file.tensors["output.bias"]?.values == [model.weights[Feature.width * 4 + 4]])
        #expect(file.metadata["feature_groups"] == "recency,size")
        #expect(file.metadata["features"]?.split(separator: ",").count == Feature.width)
    }

    @Test("The window multiplier is read back, and must be a power of two up to 16")
    func windowMultiplierIsReadBack() throws {
        let parameters = LearnedParameters(serving: try PretrainedModel(parsing: model().data()), mode: .continuing)
        let model = LearnedModel(parameters, seed: 1)
        #expect(model.learner.pointee.labelWindow.multiplier == 4)
        #expect(model.snapshot(parameters, producer: "9.9")?.windowMultiplier == 4)
        for wrong in ["0", "3", "32", "far", ""] {
            #expect(try fault { $0.metadata["horizon_stretch"] = wrong } != nil, "\(wrong)")
        }
    }

    @Test("The prices of misses are read back, and one must be positive")
    func missPricesAreReadBack() throws {
        var parameters = LearnedParameters()
        parameters.objective = .cost
        (parameters.perMiss, parameters.perByte) = (250, 0.5)
        let model = PretrainedModel(
            weights: model().weights, inputs: Feature.width, hidden: 4, groups: .all, objective: .cost,
            perMiss: 250, perByte: 0.5, baseWindow: 1, trainingSteps: 900, trainingSamples: 30_000, producer: "9.9")
        let read = try PretrainedModel(parsing: model.data())
        #expect(read == model)
        #expect(LearnedParameters(serving: read, mode: .frozen).missCost == parameters.missCost)
        for prices in [["per_miss": "-1"], ["per_byte": "dear"], ["per_miss": "0", "per_byte": "0"]] {
            var file = try SafeTensors(parsing: model.data())
            file.metadata.merge(prices) { $1 }
            let data = try file.data()
            #expect(throws: ModelFileError.self, "\(prices)") { try PretrainedModel(parsing: data) }
        }
    }

    @Test("A model is read back from a file; writing replaces an existing file")
    func writingReplacesAnExistingModelFile() throws {
        let path = NSTemporaryDirectory() + "\(UUID().uuidString).safetensors"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try model(hidden: 8).write(to: path)
        try model().write(to: path)
        #expect(try PretrainedModel(contentsOf: path) == model())
    }

    @Test("A missing file, a directory and an unwritable path are errors that name the path")
    func fileErrorsNameThePath() {
        for path in ["/nowhere/model.safetensors", NSTemporaryDirectory()] {
            let error = #expect(throws: ModelFileError.self) { try PretrainedModel(contentsOf: path) }
            #expect(error?.description.hasPrefix(path + ": ") == true)
        }
        let error = #expect(throws: ModelFileError.self) { try model().write(to: "/nowhere/model.safetensors") }
        #expect(error?.isOfOutput == true)
    }

    @Test("A foreign or newer file, wrong shapes, missing parts and weights that are not finite are errors")
    func invalidModelFilesAreErrors() throws {
        #expect(try fault { _ in } == nil)
        let newer = try fault { $0.metadata["format_version"] = "2" }
        #expect(newer?.reason == .newer(version: 2, known: 1))
        for (version, words) in [
            ("\(Halcyon.resultVersion - 1)", "has result version \(Halcyon.resultVersion - 1)"),
            ("\(Halcyon.resultVersion + 1)", "has result version \(Halcyon.resultVersion + 1)"),
            (nil, "names no result version"),
        ] {
            let other = try fault { $0.metadata["result_version"] = version }
            #expect(
                other?.description
                    == "The model \(words), and this release has \(Halcyon.resultVersion): train it again.")
        }
        let nan = try fault { $0.tensors["output.weight"]?.values[2] = .nan }
        #expect(nan?.reason == .notFinite(tensor: "output.weight", index: 2))
        #expect(try fault { $0.metadata["format"] = "other" } != nil)
        #expect(try fault { $0.metadata = [:] } != nil)
        #expect(try fault { $0.metadata["features"] = "age" } != nil)
        #expect(try fault { $0.metadata["features"] = "" } != nil)
        #expect(try fault { $0.metadata["normalisation"] = "none" } != nil)
        #expect(try fault { $0.metadata["feature_groups"] = "recency,colour" } != nil)
        // Files of earlier builds do not name the kernels, which were portable.
        #expect(try fault { $0.metadata["kernels"] = nil } == nil)
        for key in try SafeTensors(parsing: model().data()).metadata.keys where key != "kernels" {
            #expect(try fault { $0.metadata[key] = nil } != nil, "without \(key)")
        }
        for (key, values) in [
            "hidden": ["0", "-1", "99999999999", "x", "5"], "horizon": ["nan", "0", "1e9"],
            "format_version": ["0", "x"], "result_version": ["0", "x", ""],
            "training_steps": ["-1", "1099511627777"], "training_samples": ["9223372036854775807"],
            "objective": ["speed"], "kernels": ["fast", ""], "activation": ["relu", "leaky_relu(0.2)"],
        ] {
            for value in values { #expect(try fault { $0.metadata[key] = value } != nil, "\(key) \(value)") }
        }
        #expect(try fault { $0.tensors["hidden.weight"]?.shape = [4, Feature.width] } != nil)
        #expect(try fault { $0.tensors["output.bias"] = nil } != nil)
        #expect(try fault { $0.tensors["output.weight"]?.values[0] = -.infinity } != nil)
        #expect(try fault { $0.tensors["hidden.weight"]?.values[3] = 10_000 } == nil)
        #expect(
            try fault { $0.tensors["hidden.weight"]?.values[3] = -1e20 }?.description
                == "Weight 3 of 'hidden.weight' is -1e+20, and -10000 to 10000 is accepted.")
    }

    @Test("The kernels are read back, and a cache with other kernels refuses the model")
    func cacheWithOtherKernelsRefusesTheModel() throws {
        let model = PretrainedModel(
            weights: model().weights, inputs: Feature.width, hidden: 4, groups: .all, objective: .objects,
            baseWindow: 0.2, trainingSteps: 900, trainingSamples: 30_000, kernels: .system, producer: "9.9")
        let read = try PretrainedModel(parsing: model.data())
        #expect(read == model && read.kernels == .system)
        var parameters = LearnedParameters(serving: read, mode: .frozen)
        #expect(
            parameters.conflict
                == "The model was trained with kernels=system, and learned computes with kernels=portable: set "
                + "learned(kernels=system), or train the model again.")
        parameters.kernels = .system
        #expect(parameters.conflict == nil)
    }

    @Test("A file larger than any model is read only up to the limit")
    func oversizedFileIsReadOnlyUpToTheLimit() throws {
        let path = NSTemporaryDirectory() + "\(UUID().uuidString).safetensors"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try model().write(to: path)
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.truncate(atOffset: UInt64(ModelFile.longest))
        let padded = #expect(throws: ModelFileError.self) { try PretrainedModel(contentsOf: path) }
        #expect(padded?.description.contains("follow after") == true)
        try file.truncate(atOffset: 1 << 40)
        let error = #expect(throws: ModelFileError.self) { try PretrainedModel(contentsOf: path) }
        #expect(error?.description == "\(path): The file has more than 16 MB: this is not a model of 'replay train'.")
    }

    @Test("A model with too few training steps is not served frozen")
    func undertrainedModelIsNotServedFrozen() throws {
        let young = model(trainingSteps: OnlineTrainer.fewestSteps - 1)
        #expect(throws: PolicyError.self) {
            try PolicyCatalogue.standard.serving(young, mode: .frozen).policy("learned")
        }
        _ = try PolicyCatalogue.standard.serving(young, mode: .continuing).policy("learned")
        let ready = model(trainingSteps: OnlineTrainer.fewestSteps)
        _ = try PolicyCatalogue.standard.serving(ready, mode: .frozen).policy("learned")
    }

    @Test("Parameters that do not fit the weights are refused; model=none ignores the model")
    func parametersThatDoNotFitTheModelAreRefused() throws {
        let catalogue = PolicyCatalogue.standard.serving(model(), mode: .frozen)
        #expect(throws: PolicyError.self) { try catalogue.policy("learned(hidden=32)") }
        #expect(throws: PolicyError.self) { try catalogue.policy("learned(category=on)") }
        #expect(throws: PolicyError.self) { try PolicyCatalogue.standard.policy("learned(model=frozen)") }
        let parameters = try catalogue.policy("learned").parameters
        #expect(parameters.contains { $0.name == "model" && $0.value == "frozen" })
        #expect(parameters.contains { $0.name == "hidden" && $0.value == "4" })
        _ = try catalogue.policy("learned(model=continuing,horizon=1)")
        _ = try catalogue.policy("learned(model=none,hidden=32)")
    }
}
