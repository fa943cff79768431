import HalcyonEviction

/// Learns from labelled samples as they come: predict, hold the prediction against the label, then learn.
///
/// New samples are gathered to groups of ``group``. Each group is first predicted, which feeds the ``Contest``; then it
/// goes into the replay buffer, of which a batch is drawn for a step of Adam whenever enough new samples have come. A
/// step costs about 20 µs, so steps get rarer once the network has settled.
struct OnlineTrainer: ~Copyable {
    static let group = 32
    static let batch = 256
    /// Steps before the network may decide.
    static let fewestSteps = 60

    private(set) var network: Perceptron
    private(set) var contest = Contest()
    private(set) var steps = 0
    private(set) var samples = 0

    /// Whether the network stays as it is.
    private(set) var isFrozen = false
    /// What single users add to the network.
    var corrections: UserCorrections
    /// Samples that are kept from training, to judge it by; none unless asked for.
    var heldBack = HeldBackSamples(every: 0, bound: 0, seed: 0)

    private var descent: StandardizedDescent
    private var buffer: ReplayBuffer
    private var fresh: HeapArray<UInt8>
    private var freshUsers: HeapArray<UInt32>
    private var freshCount = 0
    private var owed = 0
    private var input: HeapArray<Float>
    private var logits: HeapArray<Float>
    private var labels: HeapArray<Float>
    /// The samples of a batch.
    private var drawn: HeapArray<UnsafePointer<UInt8>>
    private var generator: SplitMix64
    private let missCost: MissCost
    private let rate: Float
    private let patience: Int

    init(hidden: Int, bufferBound: Int, missCost: MissCost, rate: Float, patience: Int, blas: BLAS, seed: UInt64) {
        self.missCost = missCost
        self.rate = rate
        self.patience = patience
        network = Perceptron(
            inputs: Feature.width, hidden: hidden, largestBatch: OnlineTrainer.batch, blas: blas, seed: seed)
        corrections = UserCorrections(blas: blas)
        descent = StandardizedDescent(of: network, one: Feature.one)
        buffer = ReplayBuffer(bound: bufferBound)
        fresh = HeapArray(repeating: 0, count: OnlineTrainer.group * Sample.width)
        freshUsers = HeapArray(repeating: UserCorrections.none, count: OnlineTrainer.group)
        input = HeapArray(repeating: 0, count: OnlineTrainer.batch * Feature.width)
        logits = HeapArray(repeating: 0, count: OnlineTrainer.batch)
        labels = HeapArray(repeating: 0, count: OnlineTrainer.batch)
        drawn = HeapArray(repeating: UnsafePointer(fresh.base), count: OnlineTrainer.batch)
        generator = SplitMix64(seed: seed ^ 0x5EED)
    }

    var byteCount: Int {
        network.byteCount + descent.byteCount + buffer.byteCount + fresh.byteCount + input.byteCount
            + logits.byteCount + labels.byteCount + freshUsers.byteCount + drawn.byteCount + corrections.byteCount
    }

    /// Starts from weights that were learnt before, in `steps` steps.
    mutating func adopt(_ weights: [Float], steps: Int, isFrozen: Bool) {
        network.load(weights)
        descent.adopt()
        // A network that goes on learning keeps its own way from where the first, large steps ended.
        self.steps = min(steps, patience)
        self.isFrozen = isFrozen
    }

    /// Whether samples serve anything but the contest.
    var needsSamples: Bool { !isFrozen || heldBack.isWanted || corrections.count > 0 }

    /// Whether the network has learnt enough to be asked.
    var isReady: Bool { steps >= OnlineTrainer.fewestSteps }

    /// How many new samples a step waits for: few while there is much to learn.
    var interval: Int { steps < patience ? 32 : steps < patience * 4 ? 64 : 128 }

    /// Takes a sample whose label has become known.
    ///
    /// - Parameter user: the number of the correction that learns from it too, if any.
    mutating func add(_ row: UnsafePointer<UInt8>, isPositive: Bool, user: UInt32) {
        let place = fresh.base + freshCount * Sample.width
        place.update(from: row, count: Sample.width)
        place[Sample.outcome] |= isPositive ? 1 : 0
        freshUsers[freshCount] = user
        freshCount += 1
        if freshCount == OnlineTrainer.group { digest() }
    }

    /// Where what is asked for is to be written: at most ``batch`` rows or columns of features.
    var inputs: UnsafeMutablePointer<Float> { input.base }

    /// The logit for the first row of ``inputs``: the network's, corrected for `user`.
    mutating func predict(user: UInt32) -> Float {
        var logit: Float = 0
        network.forward(input.base, rows: 1, logits: &logit)
        return logit + corrections.correction(user, input.base)
    }

    /// The logits where ``inputs`` has a row for each feature and `count` columns.
    mutating func predict(columns count: Int, user: UInt32, logits: UnsafeMutablePointer<Float>) {
        network.forward(columns: input.base, rows: count, logits: logits)
        corrections.correct(user, columns: input.base, count: count, logits: logits)
    }

    private mutating func digest() {
        for index in 0..<freshCount {
            Feature.decode(fresh.base + index * Sample.width, into: input.base + index * Feature.width)
        }
        network.forward(input.base, rows: freshCount, logits: logits.base)
        for index in 0..<freshCount where freshUsers[index] != UserCorrections.none {
            adapt(index)
        }
        for index in 0..<freshCount {
            let row = fresh.base + index * Sample.width
            let logSize = Float(row[Sample.cost]) / 8
            let isPositive = row[Sample.outcome] & 1 == 1
            let weight = FastMath.exp2(missCost.density(logSize: logSize) + 10)
            let verdicts = Contest.Verdicts(
                network: missCost.value(logit: logits[index], logSize: logSize),
                greedyDual: Float(row[Sample.worth]), recency: -Float(row[Sample.age]), weight: weight)
            contest.note(verdicts, isPositive: isPositive)
            if row[Sample.outcome] > 1 {
                contest.note(choices: row[Sample.outcome], isPositive: isPositive, weight: weight)
            }
            let isKept = heldBack.takes(row, logit: logits[index], isReady: isReady)
            if !isKept && !isFrozen { buffer.add(row) }
        }
        samples += freshCount
        if isFrozen {
            freshCount = 0
            return
        }
        owed += freshCount
        freshCount = 0
        if owed >= interval && buffer.count > 0 {
            owed = 0
            learn()
        }
    }

    /// Corrects the logit of a fresh sample as its user's own, and lets the correction learn.
    private mutating func adapt(_ index: Int) {
        let inputs = input.base + index * Feature.width
        let (user, logit) = (freshUsers[index], logits[index])
        logits[index] += corrections.correction(user, inputs)
        let isPositive = fresh[index * Sample.width + Sample.outcome] & 1 == 1
        corrections.learn(user, inputs, logit: logit, isPositive: isPositive)
    }

    private mutating func learn() {
        let rows = OnlineTrainer.batch
        for index in 0..<rows { drawn[index] = buffer.draw(&generator) }
        var index = 0
        while index < rows {
            let row = drawn[index]
            Feature.decode(row, into: input.base + index * Feature.width)
            labels[index] = row[Sample.outcome] & 1 == 1 ? 1 : 0
            index &+= 1
        }
        descent.observe(input.base, rows: rows, for: &network)
        network.forward(input.base, rows: rows, logits: logits.base)
        _ = network.backward(input.base, rows: rows, logits: logits.base, labels: labels.base)
        descent.step(&network, rate: steps < patience ? rate : rate / 3)
        steps += 1
    }
}
