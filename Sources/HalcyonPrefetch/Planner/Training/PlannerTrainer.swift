import CProcessor
import HalcyonEviction
import HalcyonLearning

/// The online training of the network: a perceptron, a buffer of the last samples, Adam.
///
/// Every ``interval`` samples it trains on a batch, a quarter of which are the newest samples. A scale and a shift
/// correct the probabilities, because the network lags behind the requests. They are learned from predictions made
/// before the label was known (Platt: Probabilistic outputs for support vector machines, 1999). Bytes: 168 a sample in
/// the buffer.
struct PlannerTrainer: ~Copyable {
    static let batch = 32
    static let interval = 8
    static let bound = 16_384
    /// The training steps before the network is used.
    static let minSteps = 150
    /// The training steps that are four times as frequent and three times as large.
    private static let warmUpSteps = 1_000
    /// The weight of a step in the served network.
    private static let averaging: Float = 0.003

    /// The network that predicts: the mean of the trained network over its last steps. It is more stable and allows
    /// larger steps. Source: Polyak and Juditsky: Acceleration of stochastic approximation by averaging, 1992.
    private var served: Perceptron
    private var network: Perceptron
    private(set) var steps = 0
    private(set) var calibration = Calibration()
    private var optimizer: Adam
    private var rows: HeapArray<Float>
    private var outcomes: HeapArray<Float>
    private var offsets: HeapArray<Float>
    private var next = 0
    private var count = 0
    private var pendingSamples = 0
    private var input: HeapArray<Float>
    private var labels: HeapArray<Float>
    private var logits: HeapArray<Float>
    private var drawn = HeapArray<Int>(repeating: 0, count: batch)
    private var generator: SplitMix64
    private let rate: Float

    init(hidden: Int, rate: Float, blas: BLAS, seed: UInt64) {
        let width = PlannerInput.width
        network = Perceptron(inputs: width, hidden: hidden, largestBatch: Self.batch, blas: blas, seed: seed)
        served = Perceptron(inputs: width, hidden: hidden, largestBatch: CandidateList.bound, blas: blas, seed: seed)
        // Few candidates are requested, and the initial bias says so.
        network.parameters[network.parameters.count - 1] = -4
        served.load(network.weights)
        optimizer = Adam(parameters: Perceptron.parameterCount(inputs: width, hidden: hidden))
        rows = HeapArray(repeating: 0, count: Self.bound * width)
        outcomes = HeapArray(repeating: 0, count: Self.bound)
        offsets = HeapArray(repeating: 0, count: Self.bound)
        input = HeapArray(repeating: 0, count: Self.batch * width)
        labels = HeapArray(repeating: 0, count: Self.batch)
        logits = HeapArray(repeating: 0, count: Self.batch)
        generator = SplitMix64(seed: seed ^ 0xF0E5)
        self.rate = rate
    }

    var byteCount: Int {
        network.byteCount + served.byteCount + optimizer.byteCount + rows.byteCount + outcomes.byteCount
            + offsets.byteCount + input.byteCount + labels.byteCount + logits.byteCount + drawn.byteCount
    }

    /// Whether there are enough training steps to use the network.
    var isReady: Bool { steps >= Self.minSteps }

    /// Whether the initial phase of fast training is over.
    var hasWarmedUp: Bool { steps >= Self.warmUpSteps }

    /// The weights of the served network.
    var weights: [Float] { served.weights }

    /// Starts from a trained network.
    mutating func adopt(_ pretrained: PretrainedRequests) {
        network.load(pretrained.weights)
        served.load(pretrained.weights)
        calibration.adopt(scale: pretrained.scale, shift: pretrained.shift)
        steps = max(pretrained.trainingSteps, Self.warmUpSteps)
    }

    /// Writes the logits of `count` candidates, at most ``CandidateList/bound``, given as the columns of a matrix.
    mutating func predict(_ columns: UnsafePointer<Float>, count: Int, logits: UnsafeMutablePointer<Float>) {
        served.forward(columns: columns, rows: count, logits: logits)
    }

    /// Records the outcome of a selected candidate.
    mutating func noteChosen(logit: Float, isPositive: Bool) {
        calibration.noteChosen(logit: logit, isPositive: isPositive)
    }

    /// Adds a labelled sample: a column of inputs, which are `stride` apart.
    ///
    /// - Parameter share: the sampling share of a negative sample relative to a positive one.
    mutating func add(
        _ column: UnsafePointer<Float>, stride: Int, logit: Float, share: Float, isPositive: Bool
    ) {
        if isReady { calibration.note(logit: logit, share: share, isPositive: isPositive) }
        let row = rows.base + next * PlannerInput.width
        for input in 0..<PlannerInput.width { row[input] = column[input &* stride] }
        outcomes[next] = isPositive ? 1 : 0
        offsets[next] = CaseControl.offset(ofShare: share)
        next = (next + 1) % Self.bound
        count = min(count + 1, Self.bound)
        pendingSamples += 1
        if pendingSamples >= (hasWarmedUp ? Self.interval : Self.interval / 4) && count >= Self.batch {
            pendingSamples = 0
            learn()
        }
    }

    private mutating func learn() {
        let width = PlannerInput.width
        for index in 0..<Self.batch {
            let back = index < Self.interval ? index : Int(generator.next(below: count))
            let place = (next - 1 - back + Self.bound) % Self.bound
            drawn[index] = place
            // The rows are scattered in the buffer, so all of them are loaded at once.
            let row = rows.base + place * width
            for part in stride(from: 0, to: width, by: 16) { halcyon_prefetch(row + part) }
        }
        for index in 0..<Self.batch {
            (input.base + index * width).update(from: rows.base + drawn[index] * width, count: width)
            labels[index] = outcomes[drawn[index]]
        }
        network.forward(input.base, rows: Self.batch, logits: logits.base)
        for index in 0..<Self.batch { logits[index] += offsets[drawn[index]] }
        network.backward(input.base, rows: Self.batch, logits: logits.base, labels: labels.base)
        optimizer.step(network.parameters.base, against: network.gradients.base, rate: hasWarmedUp ? rate : rate * 3)
        steps += 1
        let (share, from, to) = (max(Self.averaging, 1 / Float(steps)), network.parameters.base, served.parameters.base)
        for index in 0..<network.parameters.count { to[index] += (from[index] - to[index]) * share }
    }
}
