import HalcyonEviction

/// The labelled samples that the network never learns from: a uniform draw with a bound on their number. Each has the
/// network's logit as of when its label became known.
///
/// The draw is reservoir sampling (Vitter: Random sampling with a reservoir, algorithm R, 1985). O(1) a sample. Bytes: 58 a
/// sample, or nothing with a bound of 0.
struct HeldBackSamples: ~Copyable {
    /// The facts about a kept sample besides its row.
    struct Note: BitwiseCopyable {
        /// The number of labels that became known before.
        var order = 0
        /// The network's logit before it could learn anything later.
        var logit: Float = 0
        /// Whether the network had learned enough to decide.
        var isReady = false
    }

    private let every: Int
    private let bound: Int
    private var rows: HeapArray<UInt8>
    private var notes: HeapArray<Note>
    private var seen = 0
    private var held = 0
    private var generator: SplitMix64

    private(set) var count = 0

    /// Holds back every `every`-th sample and keeps at most `bound` of them; none with a bound of 0.
    init(every: Int, bound: Int, seed: UInt64) {
        self.every = every
        self.bound = bound
        rows = HeapArray(repeating: 0, count: bound * Sample.width)
        notes = HeapArray(repeating: Note(), count: bound)
        generator = SplitMix64(seed: seed ^ 0xE81D)
    }

    var byteCount: Int { rows.byteCount + notes.byteCount }
    var isWanted: Bool { bound > 0 }

    /// Returns whether a labelled sample is held back from training, and keeps it if the draw says so.
    mutating func takes(_ row: UnsafePointer<UInt8>, logit: Float, isReady: Bool) -> Bool {
        guard bound > 0 else { return false }
        seen += 1
        guard seen % every == 0 else { return false }
        held += 1
        let place = count < bound ? count : generator.next(below: held)
        guard place < bound else { return true }
        (rows.base + place * Sample.width).update(from: row, count: Sample.width)
        notes[place] = Note(order: seen, logit: logit, isReady: isReady)
        count = max(count, place + 1)
        return true
    }

    /// Returns the kept samples, in the order in which their labels became known. O(n log n).
    func inOrder() -> [(note: Note, row: [UInt8])] {
        (0..<count).sorted { notes[$0].order < notes[$1].order }.map { place in
            (notes[place], (0..<Sample.width).map { rows[place * Sample.width + $0] })
        }
    }
}
