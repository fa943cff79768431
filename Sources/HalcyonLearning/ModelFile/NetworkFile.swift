import HalcyonEviction

/// The common part of the files of a model and of a planner: the arrays of a ``Perceptron``, the format, the producer and the
/// result version.
extension SafeTensors {
    /// The activation of the hidden units.
    package static let activation = "leaky_relu(0.1)"

    /// Creates a file without arrays, with what the metadata of every file says.
    package init(format: String, version: Int, producer: String) {
        tensors = [:]
        metadata = [
            "format": format, "format_version": "\(version)", "halcyon_version": producer,
            "result_version": "\(Halcyon.resultVersion)", "activation": Self.activation,
        ]
    }

    /// Creates a file with the arrays `hidden.weight` (inputs × hidden units), `output.weight` (hidden units) and `output.bias` (1).
    ///
    /// - Parameter weights: W₁ row by row, w₂, b₂.
    package init(
        network weights: [Float], inputs: Int, hidden: Int, trainingSteps: Int, format: String, version: Int,
        producer: String
    ) {
        self.init(format: format, version: version, producer: producer)
        let output = inputs * hidden
        tensors["hidden.weight"] = Tensor(shape: [inputs, hidden], values: Array(weights[..<output]))
        tensors["output.weight"] = Tensor(shape: [hidden], values: Array(weights[output..<output + hidden]))
        tensors["output.bias"] = Tensor(shape: [1], values: [weights[output + hidden]])
        metadata["hidden"] = "\(hidden)"
        metadata["training_steps"] = "\(trainingSteps)"
    }

    /// Returns the weights of the network, in the order in which they were given.
    package func network(inputs: Int, hidden: Int) throws(ModelFileError) -> [Float] {
        try values("hidden.weight", shape: [inputs, hidden]) + values("output.weight", shape: [hidden])
            + values("output.bias", shape: [1])
    }

    /// The formats of this package, what their files hold, and the options of `replay` that take them.
    private static let options = [
        (format: "halcyon.model", content: "an eviction model of 'replay train'", option: "--model"),
        (
            format: "halcyon.planner", content: "a prefetch planner of 'replay train --prefetch planner'",
            option: "--prefetch-model"
        ),
    ]

    /// Returns the metadata if the file has this format, a known version, this release's result version and this activation.
    package func texts(
        format: String, versions known: ClosedRange<Int>, activation expected: String = activation
    ) throws(ModelFileError) -> ModelTexts {
        let texts = ModelTexts(metadata)
        guard metadata["format"] == format else {
            if let found = Self.options.first(where: { $0.format == metadata["format"] }) {
                throw ModelFileError(reason: .misplaced(found.content, option: found.option))
            }
            throw ModelFileError(reason: .foreign("The metadata does not name the format '\(format)'"))
        }
        let version = try texts.number("format_version", in: 1...Int.max)
        guard version <= known.upperBound else {
            throw ModelFileError(reason: .newer(version: version, known: known.upperBound))
        }
        guard version >= known.lowerBound else {
            throw ModelFileError(reason: .older(version: version, oldest: known.lowerBound))
        }
        // Under another result version, features, labels or the policy itself may have another meaning.
        let isNamed = metadata["result_version"] != nil
        let resultVersion = isNamed ? try texts.number("result_version", in: 1...Int.max) : nil
        guard resultVersion == Halcyon.resultVersion else {
            throw ModelFileError(reason: .otherResults(version: resultVersion, known: Halcyon.resultVersion))
        }
        let activation = try texts.text("activation")
        guard activation == expected else {
            throw ModelFileError(
                reason: .inconsistent(
                    "The activation is '\(activation.prefix(40))', and only \(expected) is supported"))
        }
        return texts
    }
}

extension SafeTensors {
    /// The largest accepted weight; trained weights are far smaller.
    static let largestWeight: Float = 10_000

    /// Returns the numbers of an array, which must exist, have this shape, and be finite and within ±``largestWeight``.
    package func values(_ name: String, shape: [Int]) throws(ModelFileError) -> [Float] {
        guard let tensor = tensors[name] else {
            throw ModelFileError(reason: .inconsistent("The array '\(name)' is missing"))
        }
        guard tensor.shape == shape else {
            throw ModelFileError(
                reason: .inconsistent("The array '\(name)' has the shape \(tensor.shape), not \(shape)"))
        }
        if let index = tensor.values.firstIndex(where: { !$0.isFinite }) {
            throw ModelFileError(reason: .notFinite(tensor: name, index: index))
        }
        if let index = tensor.values.firstIndex(where: { abs($0) > Self.largestWeight }) {
            throw ModelFileError(
                reason: .inconsistent(
                    "Weight \(index) of '\(name)' is \(tensor.values[index]), and -10000 to 10000 is accepted"))
        }
        return tensor.values
    }
}

/// The metadata of a model. Reading an absent text is an error.
package struct ModelTexts {
    let texts: [String: String]

    init(_ texts: [String: String]) { self.texts = texts }

    /// Returns a text.
    package func text(_ name: String) throws(ModelFileError) -> String {
        guard let text = texts[name] else {
            throw ModelFileError(reason: .inconsistent("The metadata has no '\(name)'"))
        }
        return text
    }

    /// Returns a price of a miss or of a byte.
    func price(_ name: String) throws(ModelFileError) -> Double {
        guard let price = Double(try text(name)), (0...1e9).contains(price) else {
            throw ModelFileError(reason: .inconsistent("The '\(name)' of a miss is not a number from 0 to 1000000000"))
        }
        return price
    }

    /// Returns a number of steps or samples, low enough that further counting cannot overflow.
    package func count(_ name: String) throws(ModelFileError) -> Int { try number(name, in: 0...1 << 40) }

    /// Returns a whole number.
    package func number(_ name: String, in range: ClosedRange<Int>) throws(ModelFileError) -> Int {
        let text = try text(name)
        guard let number = Int(text), range.contains(number) else {
            throw ModelFileError(
                reason: .inconsistent(
                    "The metadata's '\(name)' is '\(text.prefix(40))', not a whole number from \(range.lowerBound) to "
                        + "\(range.upperBound)"))
        }
        return number
    }
}
