import HalcyonEviction

/// Labelled samples that the network is evaluated on: a uniform draw with a bound on their number. Each has the
/// network as of when its label became known, before it learned from the sample (prequential evaluation).
///
/// Observed samples are trained on like all others. Those that arrive before the network has learned enough to decide
/// are not kept. The draw is reservoir sampling (Vitter: Random sampling with a reservoir, algorithm R, 1985). O(1) a
/// sample,
/// and a copy of the weights for each training step. Bytes: 74 a sample, and the weights of each step that a kept
/// sample was scored with (5 kB with 32 hidden units); nothing with a bound of 0.
struct ObservedSamples: ~Copyable {
    /// The facts about a kept sample besides its row.
    struct Note {
        /// The number of labels that became known before.
        var order = 0
        /// The network's logit before it could learn anything later.
        var logit: Float = 0
        /// The training steps of the network then, and its weights. Samples of the same step share one copy.
        var steps = 0
        var weights: [Float] = []
    }

    private let every: Int
    private let bound: Int
    private var rows: HeapArray<UInt8>
    private var notes: [Note] = []
    private var seen = 0
    private var drawn = 0
    private var generator: SplitMix64
    /// The training steps of the latest weights; -1 before the first.
    private(set) var steps = -1
    private var weights: [Float] = []

    /// Observes every `every`-th sample and keeps at most `bound` of them; none with a bound of 0.
    init(every: Int, bound: Int, seed: UInt64) {
        self.every = every
        self.bound = bound
        rows = HeapArray(repeating: 0, count: bound * SampleRow.width)
        generator = SplitMix64(seed: seed ^ 0xE81D)
    }

    /// The number of kept samples.
    var count: Int { notes.count }
    var byteCount: Int { rows.byteCount + notes.count * MemoryLayout<Note>.stride }
    var isWanted: Bool { bound > 0 }

    /// Sets the network that predicts the next samples.
    mutating func follow(_ weights: [Float], steps: Int) {
        self.weights = weights
        self.steps = steps
    }

    /// Counts a labelled sample, and keeps it if it is one of those observed, the network is ready and the draw says
    /// so.
    ///
    /// - Parameters:
    ///   - logit: the prediction of the latest network.
    ///   - isReady: whether that network has learned enough to decide.
    mutating func observe(_ row: UnsafePointer<UInt8>, logit: Float, isReady: Bool) {
        guard bound > 0 else { return }
        seen += 1
        guard seen % every == 0, isReady else { return }
        drawn += 1
        let place = count < bound ? count : generator.next(below: drawn)
        guard place < bound else { return }
        (rows.base + place * SampleRow.width).update(from: row, count: SampleRow.width)
        let note = Note(order: seen, logit: logit, steps: steps, weights: weights)
        if place < count { notes[place] = note } else { notes.append(note) }
    }

    /// Returns the kept samples, in the order in which their labels became known. O(n log n).
    func inOrder() -> [(note: Note, row: [UInt8])] {
        notes.indices.sorted { notes[$0].order < notes[$1].order }.map { place in
            (notes[place], (0..<SampleRow.width).map { rows[place * SampleRow.width + $0] })
        }
    }
}
