import CPortableBLAS

/// Trains a perceptron as if each of its inputs were standardized: minus its mean, over its deviation.
///
/// Inputs of different spread make the loss steep in some directions and flat in others, which slows descent (LeCun et al.:
/// Efficient BackProp, 1998). Here the inputs are unchanged. ``Adam`` moves the weights V that a network of standardized
/// inputs would have. The weights in use follow from V: V over the deviation, and a bias for the means. Only this type needs
/// the moments: scoring a row is as fast as without them, and a file of weights is complete without them.
///
/// The moments are those of the batches: of all of them at first, later of about the last ``window``. When they change, the
/// weights in use follow and V is unchanged. A step is O(rows × inputs + parameters). Bytes: 12 a parameter, 20 an input.
struct StandardizedDescent: ~Copyable {
    /// The number of batches after which old ones weigh less in the moments.
    static let window: Float = 1_200
    /// The deviation of a standardized input: small, so that the first outputs of the hidden layer are small.
    static let deviation: Float = 0.25
    /// The factor of ``deviation`` for cautious inputs. Their weights start smaller and move more slowly, so that the inputs
    /// count for less until they have proved useful in many samples.
    static let caution: Float = 0.25
    /// The addition to each variance, so that an input that hardly varies is not magnified.
    static let leastVariance: Float = 0.09

    private let inputs: Int
    private let hidden: Int
    /// The place of the input that is always 1.
    private let one: Int
    /// The inputs that are cautious.
    private let cautious: Range<Int>
    private let vectors: VectorKernels
    private var optimizer: Adam
    /// V, in the order of the network's parameters.
    private let standardized: HeapArray<Float>
    /// Whether V must be computed from the weights in use.
    private var isForeign = false

    private var batches: Float = 0
    private let means: HeapArray<Float>
    private let variances: HeapArray<Float>
    /// The factors from V to the weights in use.
    private let scales: HeapArray<Float>
    private let sums: HeapArray<Float>
    private let squares: HeapArray<Float>

    /// Starts with the weights of `network` as V.
    ///
    /// - Parameters:
    ///   - one: the place of the input that is always 1.
    ///   - cautious: the inputs whose deviation is ``caution`` times that of the others.
    init(of network: borrowing Perceptron, one: Int, cautious: Range<Int> = 0..<0) {
        (inputs, hidden, self.one, self.cautious) = (network.inputs, network.hidden, one, cautious)
        vectors = network.vectors
        optimizer = Adam(parameters: network.parameters.count, vectors: network.vectors)
        standardized = HeapArray(repeating: 0, count: network.parameters.count)
        standardized.base.update(from: network.parameters.base, count: network.parameters.count)
        means = HeapArray(repeating: 0, count: inputs)
        variances = HeapArray(repeating: 0, count: inputs)
        scales = HeapArray(repeating: 1, count: inputs)
        sums = HeapArray(repeating: 0, count: inputs)
        squares = HeapArray(repeating: 0, count: inputs)
    }

    var byteCount: Int {
        optimizer.byteCount + standardized.byteCount + means.byteCount + variances.byteCount + scales.byteCount
            + sums.byteCount + squares.byteCount
    }

    /// Takes the present weights of the network for weights in use, and continues from them.
    mutating func adopt() { isForeign = true }

    /// Updates the moments by the inputs of a batch, and sets the weights of `network` accordingly.
    mutating func observe(_ input: UnsafePointer<Float>, rows: Int, for network: inout Perceptron) {
        updateMoments(input, rows: rows)
        if isForeign {
            isForeign = false
            return standardize(network.parameters.base)
        }
        apply(to: network.parameters.base)
    }

    /// Moves the weights of `network` against its gradients, which must be those of the batch observed last.
    mutating func step(_ network: inout Perceptron, rate: Float) {
        let gradients = network.gradients.base
        let shift = gradients + one * hidden
        for place in 0..<inputs where place != one {
            halcyon_scale_gradients(
                vectors.routines, gradients + place * hidden, shift, means[place], scales[place], hidden)
        }
        optimizer.step(standardized.base, against: gradients, rate: rate)
        apply(to: network.parameters.base)
    }

    private mutating func updateMoments(_ input: UnsafePointer<Float>, rows: Int) {
        batches = min(batches + 1, Self.window)
        let share = 1 / batches
        // Pointers: for the thread sanitizer, Swift 6.3 emits invalid code where a stored array is modified in place.
        let (means, sums, squares) = (means.base, sums.base, squares.base)
        halcyon_moments(vectors.routines, input, means, sums, squares, rows, inputs)
        for place in 0..<inputs where place != one {
            let move = share * sums[place] / Float(rows)
            let mixed = (1 - share) * variances[place] + share * squares[place] / Float(rows)
            variances[place] = max(mixed - move * move, 0)
            means[place] += move
            let deviation = cautious.contains(place) ? Self.deviation * Self.caution : Self.deviation
            scales[place] = deviation / (variances[place] + Self.leastVariance).squareRoot()
        }
    }

    /// Sets `weights` to the weights in use that follow from V.
    private func apply(to weights: UnsafeMutablePointer<Float>) {
        weights.update(from: standardized.base, count: standardized.count)
        let shift = weights + one * hidden
        for place in 0..<inputs where place != one {
            halcyon_scale_weights(
                vectors.routines, weights + place * hidden, shift, means[place], scales[place], hidden)
        }
    }

    /// Sets V to the weights that follow from the weights in use.
    private func standardize(_ weights: UnsafePointer<Float>) {
        standardized.base.update(from: weights, count: standardized.count)
        let shift = standardized.base + one * hidden
        for place in 0..<inputs where place != one {
            let (mean, scale, row) = (means[place], scales[place], standardized.base + place * hidden)
            var unit = 0
            while unit < hidden {
                shift[unit] += mean * row[unit]
                row[unit] /= scale
                unit &+= 1
            }
        }
    }
}
