import Foundation

extension PretrainedModel {
    private static let format = "halcyon.model"
    private static let normalisation = "(byte - 64) / 64"
    private static let mostHidden = 256

    /// The bytes of its file; the same for the same model. O(weights).
    ///
    /// - Throws: ``ModelFileError`` if the header cannot be written.
    public func data() throws(ModelFileError) -> Data {
        var file = SafeTensors(
            network: weights, inputs: inputs, hidden: hidden, trainingSteps: trainingSteps,
            format: PretrainedModel.format, version: PretrainedModel.formatVersion, producer: producer)
        file.metadata["features"] = Feature.names[..<inputs].joined(separator: ",")
        file.metadata["feature_groups"] = groups.names.joined(separator: ",")
        file.metadata["normalisation"] = PretrainedModel.normalisation
        file.metadata["horizon"] = "\(baseWindow)"
        file.metadata["horizon_stretch"] = "\(windowMultiplier)"
        file.metadata["objective"] = objective.rawValue
        file.metadata["training_samples"] = "\(trainingSamples)"
        if objective == .cost {
            file.metadata["per_miss"] = "\(perMiss)"
            file.metadata["per_byte"] = "\(perByte)"
        }
        return try file.data()
    }

    /// Reads the bytes of a file. O(bytes).
    ///
    /// - Throws: ``ModelFileError`` if they are no model that this release can use.
    public init(parsing data: Data) throws(ModelFileError) {
        let file = try SafeTensors(parsing: data)
        let texts = try file.texts(format: PretrainedModel.format, versions: 1...PretrainedModel.formatVersion)
        let features = try texts.text("features").split(separator: ",").map(String.init)
        let inputs = features.count
        guard Feature.layouts.contains(inputs), features == Array(Feature.names[..<inputs]),
            try texts.text("normalisation") == PretrainedModel.normalisation
        else {
            throw ModelFileError(
                reason: .inconsistent("The model was trained on other features than this release has; train it anew"))
        }
        let groupNames = try texts.text("feature_groups").split(separator: ",").map(String.init)
        guard let groups = FeatureGroups(names: groupNames) else {
            throw ModelFileError(reason: .inconsistent("There is an unknown name among the feature_groups"))
        }
        guard let objective = Objective(rawValue: try texts.text("objective")) else {
            throw ModelFileError(reason: .inconsistent("The objective is not one of objects, bytes, cost"))
        }
        var prices = (perMiss: 1.0, perByte: 0.0)
        if objective == .cost { prices = (try texts.price("per_miss"), try texts.price("per_byte")) }
        guard prices.perMiss > 0 || prices.perByte > 0 else {
            throw ModelFileError(reason: .inconsistent("A miss costs nothing by its per_miss and per_byte"))
        }
        guard let baseWindow = Double(try texts.text("horizon")), LabelWindow.range.contains(baseWindow) else {
            throw ModelFileError(reason: .inconsistent("The horizon is not a number from 0.05 to 16"))
        }
        let multiplier = try texts.number("horizon_stretch", in: 1...LabelWindow.largestMultiplier)
        guard multiplier.nonzeroBitCount == 1 else {
            throw ModelFileError(reason: .inconsistent("The horizon_stretch is not one of 1, 2, 4, 8, 16"))
        }
        let hidden = try texts.number("hidden", in: 4...PretrainedModel.mostHidden)
        self.init(
            weights: try file.network(inputs: inputs, hidden: hidden), inputs: inputs, hidden: hidden, groups: groups,
            objective: objective,
            perMiss: prices.perMiss, perByte: prices.perByte, baseWindow: baseWindow, windowMultiplier: multiplier,
            trainingSteps: try texts.count("training_steps"),
            trainingSamples: try texts.count("training_samples"),
            producer: try texts.text("halcyon_version"))
    }
}
