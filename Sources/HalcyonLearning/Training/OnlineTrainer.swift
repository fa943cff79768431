import CProcessor
import HalcyonEviction

/// Trains the network on labelled samples as they arrive.
///
/// New samples are collected into groups of ``group``, which enter the replay buffer. A step of Adam draws a batch from the
/// buffer whenever enough new samples have arrived. A step takes about 20 µs, so steps get rarer once the network has
/// settled.
struct OnlineTrainer: ~Copyable {
    static let group = 32
    static let batch = 256
    /// Steps before the network may decide.
    static let fewestSteps = 60

    private(set) var network: Perceptron
    private(set) var steps = 0
    private(set) var samples = 0

    /// Whether the network no longer changes.
    private(set) var isFrozen = false
    /// The network that training began with, if it began with one and goes on.
    private var given = GivenNetwork()
    /// Receives the samples before the network learns from them, if the model is to be explained.
    var observer: ObservedSamples?

    /// Training in advance; `nil` for a model that serves.
    var offline: OfflineTraining?

    private var descent: StandardizedDescent
    private var buffer: ReplayBuffer
    private var fresh: HeapArray<UInt8>
    private var freshCount = 0
    private var owed = 0
    private var input: HeapArray<Float>
    private var logits: HeapArray<Float>
    private var labels: HeapArray<Float>
    /// The samples of a batch.
    private var drawn: HeapArray<UnsafePointer<UInt8>>
    private var generator: SplitMix64
    private let rate: Float
    private let patience: Int

    /// - Parameter isCautious: whether the user–category features count for less at first; see ``StandardizedDescent/caution``.
    init(
        hidden: Int, bufferBound: Int, rate: Float, patience: Int, isCautious: Bool = false,
        blas: BLAS, seed: UInt64
    ) {
        self.rate = rate
        self.patience = patience
        network = Perceptron(
            inputs: Feature.width, hidden: hidden, largestBatch: OnlineTrainer.batch, blas: blas, seed: seed)
        descent = StandardizedDescent(
            of: network, one: Feature.one, cautious: isCautious ? Feature.userCategory : 0..<0)
        buffer = ReplayBuffer(bound: bufferBound)
        fresh = HeapArray(repeating: 0, count: OnlineTrainer.group * SampleRow.width)
        input = HeapArray(repeating: 0, count: OnlineTrainer.batch * Feature.width)
        logits = HeapArray(repeating: 0, count: OnlineTrainer.batch)
        labels = HeapArray(repeating: 0, count: OnlineTrainer.batch)
        drawn = HeapArray(repeating: UnsafePointer(fresh.base), count: OnlineTrainer.batch)
        generator = SplitMix64(seed: seed ^ 0x5EED)
    }

    var byteCount: Int {
        given.byteCount + network.byteCount + descent.byteCount + buffer.byteCount + fresh.byteCount + input.byteCount
            + logits.byteCount + labels.byteCount + drawn.byteCount
    }

    /// Starts from weights that were trained before, in `steps` steps.
    mutating func adopt(_ weights: [Float], steps: Int, isFrozen: Bool) {
        network.load(weights)
        descent.adopt()
        // A network that keeps learning continues after the first, large steps.
        self.steps = min(steps, patience)
        self.isFrozen = isFrozen
        if !isFrozen { given = GivenNetwork(weights) }
    }

    /// Whether samples have any use.
    var needsSamples: Bool { !isFrozen }

    /// Whether the network has learned enough to decide.
    var isReady: Bool { steps >= OnlineTrainer.fewestSteps }

    /// The new samples between two steps: few while there is much to learn.
    var interval: Int {
        offline != nil ? OfflineTraining.interval : steps < patience ? 32 : steps < patience * 4 ? 64 : 128
    }

    /// Adds a labelled sample.
    mutating func add(_ row: UnsafePointer<UInt8>, isPositive: Bool) {
        let place = fresh.base + freshCount * SampleRow.width
        place.update(from: row, count: SampleRow.width)
        place[SampleRow.label] = isPositive ? 1 : 0
        freshCount += 1
        if freshCount == OnlineTrainer.group { processGroup() }
    }

    /// The inputs of the next prediction, to be written by the caller: at most ``batch`` rows or columns of features.
    var inputs: UnsafeMutablePointer<Float> { input.base }

    /// Returns the logit of the first row of ``inputs``.
    mutating func predict() -> Float {
        var logit: Float = 0
        withDeciding { network, input in network.forward(input, rows: 1, logits: &logit) }
        return logit
    }

    /// Writes the logits of ``inputs`` that have a row for each feature and `count` columns.
    mutating func predict(columns count: Int, logits: UnsafeMutablePointer<Float>) {
        withDeciding { network, input in network.forward(columns: input, rows: count, logits: logits) }
    }

    /// The training steps here of the network that decides, which tell one from another; −2 for the given network.
    var decidingSteps: Int { given.decides ? -2 : steps }

    /// The weights of the network that decides. O(weights).
    var decidingWeights: [Float] {
        mutating get { withDeciding { network, _ in network.weights } }
    }

    /// Runs `body` with the network that decides and the inputs.
    @inline(__always)
    private mutating func withDeciding<Result>(_ body: (inout Perceptron, UnsafeMutablePointer<Float>) -> Result)
        -> Result
    {
        let input = input.base
        return given.decides ? given.serving(&network) { body(&$0, input) } : body(&network, input)
    }

    /// Keeps the fresh samples, and takes a step if enough samples arrived.
    private mutating func processGroup() {
        defer { freshCount = 0 }
        if given.exists || observer != nil { predictGroup() }
        samples += freshCount
        if isFrozen { return }
        for index in 0..<freshCount { buffer.add(fresh.base + index * SampleRow.width) }
        owed += freshCount
        if owed >= interval && buffer.count > 0 {
            owed = 0
            takeStep()
        }
    }

    /// Predicts the fresh samples before the network learns from them, for the given network and for the observer.
    private mutating func predictGroup() {
        for index in 0..<freshCount { drawn[index] = UnsafePointer(fresh.base + index * SampleRow.width) }
        decodeDrawn(freshCount)
        network.forward(input.base, rows: freshCount, logits: logits.base)
        observer?.observe(drawn.base, logits.base, count: freshCount, by: network, steps: steps, isReady: isReady)
        if given.exists {
            given.compare(&network, input.base, rows: freshCount, labels: labels.base, trained: logits.base)
        }
    }

    /// Sets the inputs and the labels to those of the drawn samples.
    private func decodeDrawn(_ rows: Int) {
        let vectors = network.vectors
        var index = 0
        while index < rows {
            let row = drawn[index]
            vectors.decode(row, into: input.base + index * Feature.width)
            labels[index] = Float(row[SampleRow.label])
            index &+= 1
        }
    }

    private mutating func takeStep() {
        let rows = OnlineTrainer.batch
        for index in 0..<rows { drawn[index] = buffer.draw(&generator, prefersRecent: offline == nil) }
        decodeDrawn(rows)
        descent.observe(input.base, rows: rows, for: &network)
        network.forward(input.base, rows: rows, logits: logits.base)
        network.backward(input.base, rows: rows, logits: logits.base, labels: labels.base)
        descent.step(
            &network, rate: offline.map { rate * $0.rate(at: steps) } ?? (steps < patience ? rate : rate / 3))
        steps += 1
        offline?.add(network.weights, step: steps)
    }
}

/// The last labelled samples, from which batches are drawn at random. O(1) a sample. Bytes: 41 a sample, up to a bound.
struct ReplayBuffer: ~Copyable {
    /// The newest samples, which are drawn as often as all together: workloads change faster than a long memory follows.
    static let recent = 1_024

    private var rows: HeapArray<UInt8>
    private var next = 0
    private(set) var count = 0
    private let bound: Int

    /// A buffer of at most `bound` samples.
    init(bound: Int) {
        self.bound = bound
        rows = HeapArray(repeating: 0, count: 0)
    }

    var byteCount: Int { rows.byteCount }

    /// Adds a sample, which replaces the oldest one if the buffer is full.
    mutating func add(_ row: UnsafePointer<UInt8>) {
        if next == bound { next = 0 }
        if (next + 1) * SampleRow.width > rows.count {
            rows.grow(to: min(max(next * 2, 256), bound) * SampleRow.width, filling: 0)
        }
        (rows.base + next * SampleRow.width).update(from: row, count: SampleRow.width)
        next += 1
        count = max(count, next)
    }

    /// Returns a random sample and starts loading it into the processor's cache. The buffer must not be empty.
    ///
    /// - Parameter prefersRecent: whether it is one of the newest ``recent`` every other time.
    func draw(_ generator: inout SplitMix64, prefersRecent: Bool = true) -> UnsafePointer<UInt8> {
        let isRecent = prefersRecent && generator.next(below: 2) == 0
        let back = generator.next(below: isRecent ? min(count, ReplayBuffer.recent) : count) + 1
        let place = next >= back ? next - back : next - back + count
        let row = UnsafePointer(rows.base + place * SampleRow.width)
        halcyon_prefetch(row)
        halcyon_prefetch(row + SampleRow.width - 1)
        return row
    }
}
