extension SafeTensors {
    /// The numbers of an array that must be there, have this shape, and be finite.
    func values(_ name: String, shape: [Int]) throws(ModelFileError) -> [Float] {
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
        return tensor.values
    }
}

/// The metadata of a model, each text of which must be there.
struct ModelTexts {
    let texts: [String: String]

    init(_ texts: [String: String]) { self.texts = texts }

    func text(_ name: String) throws(ModelFileError) -> String {
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

    func number(_ name: String, in range: ClosedRange<Int>) throws(ModelFileError) -> Int {
        let text = try text(name)
        guard let number = Int(text), range.contains(number) else {
            throw ModelFileError(
                reason: .inconsistent("The metadata's '\(name)' is '\(text.prefix(40))', not a number that is accepted")
            )
        }
        return number
    }
}
