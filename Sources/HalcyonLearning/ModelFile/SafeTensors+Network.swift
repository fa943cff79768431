/// What the files of a model and of a planner have in common: the arrays of a ``Perceptron``, and who wrote them in which format.
extension SafeTensors {
    /// What the network's hidden units do.
    private static let activation = "leaky_relu(0.1)"

    /// A file with the arrays `hidden.weight` (inputs × hidden units), `output.weight` (hidden units) and `output.bias` (1).
    ///
    /// - Parameter weights: W₁ row by row, w₂, b₂.
    package init(
        network weights: [Float], inputs: Int, hidden: Int, trainingSteps: Int, format: String, version: Int,
        producer: String
    ) {
        let output = inputs * hidden
        tensors = [
            "hidden.weight": Tensor(shape: [inputs, hidden], values: Array(weights[..<output])),
            "output.weight": Tensor(shape: [hidden], values: Array(weights[output..<output + hidden])),
            "output.bias": Tensor(shape: [1], values: [weights[output + hidden]]),
        ]
        metadata = [
            "format": format, "format_version": "\(version)", "halcyon_version": producer, "hidden": "\(hidden)",
            "activation": Self.activation, "training_steps": "\(trainingSteps)",
        ]
    }

    /// The weights of the network, as they were given.
    package func network(inputs: Int, hidden: Int) throws(ModelFileError) -> [Float] {
        try values("hidden.weight", shape: [inputs, hidden]) + values("output.weight", shape: [hidden])
            + values("output.bias", shape: [1])
    }

    /// The metadata, if the file is of this format, of no later version than is known, and of a network as it is here.
    package func texts(format: String, versions known: ClosedRange<Int>) throws(ModelFileError) -> ModelTexts {
        let texts = ModelTexts(metadata)
        guard metadata["format"] == format else {
            throw ModelFileError(reason: .foreign("The metadata does not name the format '\(format)'"))
        }
        let version = try texts.number("format_version", in: 1...Int.max)
        guard version <= known.upperBound else {
            throw ModelFileError(reason: .newer(version: version, known: known.upperBound))
        }
        guard version >= known.lowerBound else {
            throw ModelFileError(reason: .older(version: version, oldest: known.lowerBound))
        }
        let activation = try texts.text("activation")
        guard activation == Self.activation else {
            throw ModelFileError(
                reason: .inconsistent(
                    "The activation is '\(activation.prefix(40))', and only \(Self.activation) is known"))
        }
        return texts
    }
}
