import HalcyonSupport

/// Evaluates a network on samples of a run.
struct NetworkEvaluator: ~Copyable {
    private var network: Perceptron

    /// The network with these weights.
    init(weights: [Float], inputs: Int, hidden: Int, blas: BLAS) {
        network = Perceptron(inputs: inputs, hidden: hidden, largestBatch: OnlineTrainer.batch, blas: blas, seed: 0)
        network.load(weights)
    }

    /// Replaces the weights by those of another network of the same shape.
    mutating func load(_ weights: [Float]) { network.load(weights) }

    /// Returns the features of a sample's row as inputs of the network.
    func inputs(_ row: [UInt8]) -> [Float] {
        let decoded = HeapArray<Float>(repeating: 0, count: network.inputs)
        row.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return }
            network.vectors.decode(base, into: decoded.base)
        }
        return (0..<network.inputs).map { decoded[$0] }
    }

    /// Returns the logit of each row of inputs. O(rows × inputs × hidden).
    mutating func logits(_ rows: [[Float]]) -> [Float] {
        var logits: [Float] = []
        logits.reserveCapacity(rows.count)
        let width = network.inputs
        let input = HeapArray<Float>(repeating: 0, count: OnlineTrainer.batch * width)
        let output = HeapArray<Float>(repeating: 0, count: OnlineTrainer.batch)
        for start in stride(from: 0, to: rows.count, by: OnlineTrainer.batch) {
            let end = min(start + OnlineTrainer.batch, rows.count)
            for index in start..<end {
                for place in 0..<width { input[(index - start) * width + place] = rows[index][place] }
            }
            network.forward(input.base, rows: end - start, logits: output.base)
            for index in 0..<(end - start) { logits.append(output[index]) }
        }
        return logits
    }

    /// Returns the logit of each row of inputs by the network that belongs to it. O(rows × inputs × hidden).
    ///
    /// - Parameter networks: the network of each row; equal ones must have equal numbers of training steps.
    mutating func logits(_ rows: [[Float]], by networks: [ObservedSamples.Network]) -> [Float] {
        var logits: [Float] = []
        logits.reserveCapacity(rows.count)
        var start = 0
        while start < rows.count {
            var end = start + 1
            while end < rows.count, networks[end].steps == networks[start].steps { end += 1 }
            load(networks[start].weights)
            logits += self.logits(Array(rows[start..<end]))
            start = end
        }
        return logits
    }

    /// Returns the logistic loss of one sample, in nats.
    static func loss(logit: Float, isPositive: Bool) -> Double {
        let value = Double(logit)
        return max(value, 0) - (isPositive ? value : 0) + PortableMath.log1p(PortableMath.exp(-abs(value)))
    }

    /// Returns the probability with this logit.
    static func probability(_ logit: Float) -> Double { 1 / (1 + PortableMath.exp(-Double(logit))) }
}
