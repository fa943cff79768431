import HalcyonEviction

/// A share of the labelled samples that the network never learns from: a uniform draw of a bounded number of them, each
/// with what the network said of it when the label became known.
///
/// Reservoir sampling (Vitter: Random sampling with a reservoir, algorithm R, 1985). O(1) a sample; bytes: a sample's and
/// 16 more, nothing if none is wanted.
struct HeldBackSamples: ~Copyable {
    /// What is known of a kept sample beside its row.
    struct Note: BitwiseCopyable {
        /// How many labels became known before.
        var order = 0
        /// The network's logit before it could learn anything later.
        var logit: Float = 0
        /// Whether the network had learnt enough to be asked.
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

    /// Holds back every `every`-th sample, of which it keeps at most `bound`; none at all with a bound of 0.
    init(every: Int, bound: Int, seed: UInt64) {
        self.every = every
        self.bound = bound
        rows = HeapArray(repeating: 0, count: bound * Sample.width)
        notes = HeapArray(repeating: Note(), count: bound)
        generator = SplitMix64(seed: seed ^ 0xE81D)
    }

    var byteCount: Int { rows.byteCount + notes.byteCount }
    var isWanted: Bool { bound > 0 }

    /// Whether this labelled sample is held back from training.
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

    /// What is kept, in the order in which the labels became known. O(n log n).
    func inOrder() -> [(note: Note, row: [UInt8])] {
        (0..<count).sorted { notes[$0].order < notes[$1].order }.map { place in
            (notes[place], (0..<Sample.width).map { rows[place * Sample.width + $0] })
        }
    }
}
