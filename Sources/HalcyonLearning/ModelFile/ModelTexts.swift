extension SafeTensors {
    /// The largest weight that is accepted; what is learnt stays far below.
    static let largestWeight: Float = 10_000

    /// The numbers of an array that must be there, have this shape, be finite and within ±``largestWeight``.
    package func values(_ name: String, shape: [Int]) throws(ModelFileError) -> [Float] {
        guard let tensor = tensors[name] else {
            throw ModelFileError(reason: .inconsistent("The array '\(name)' is missing"))
        }
        guard tensor.shape == shape else {
            throw ModelFileError(
                reason: .inconsistent("The array '\(name)' has the shape \(tensor.shape) where \(shape) is needed"))
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

/// The metadata of a model, each text of which must be there.
package struct ModelTexts {
    let texts: [String: String]

    init(_ texts: [String: String]) { self.texts = texts }

    package func text(_ name: String) throws(ModelFileError) -> String {
        guard let text = texts[name] else {
            throw ModelFileError(reason: .inconsistent("The metadata has no '\(name)'"))
        }
        return text
    }

    func price(_ name: String) throws(ModelFileError) -> Double {
        guard let price = Double(try text(name)), (0...1e9).contains(price) else {
            throw ModelFileError(reason: .inconsistent("The '\(name)' of a miss is not a number from 0 to 1000000000"))
        }
        return price
    }

    /// How many steps or samples were seen, far from where counting on would overflow.
    package func count(_ name: String) throws(ModelFileError) -> Int { try number(name, in: 0...1 << 40) }

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
