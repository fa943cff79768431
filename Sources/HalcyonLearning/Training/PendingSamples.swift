/// The samples that wait for their label, oldest first, in a bounded ring. The samples of one object are chained from its
/// newest one.
///
/// A sample keeps its number until it leaves the ring. Numbers are modulo 2³¹, so that none equals ``none``. All
/// operations are O(1). Bytes: 53 a sample.
struct PendingSamples: ~Copyable {
    static let none = ObjectRecord.none
    private static let numbers: UInt32 = 1 << 31 - 1

    /// A waiting sample. It is not private, because Swift 6.3 then emits an invalid module for the noncopyable struct.
    struct Slot: BitwiseCopyable {
        /// The request at which the sample was taken, modulo 2³².
        var taken: UInt32 = 0
        var older = PendingSamples.none
        var isPositive = false
    }

    private var slots: HeapArray<Slot>
    private var rows: HeapArray<UInt8>
    private var first: UInt32
    private var count: UInt32 = 0
    private let bound: Int

    /// A ring of at most `bound` samples, a power of two.
    ///
    /// - Parameter first: the number of the first sample.
    init(bound: Int, first: UInt32 = 0) {
        self.bound = bound
        self.first = first & PendingSamples.numbers
        slots = HeapArray(repeating: Slot(), count: 0)
        rows = HeapArray(repeating: 0, count: 0)
    }

    var byteCount: Int { slots.byteCount + rows.byteCount }
    var isFull: Bool { Int(count) >= bound }

    /// Adds a sample taken at request `now` in front of the chain `older`, and returns its number and its row. Must not be
    /// called on a full ring.
    mutating func push(now: Int, older: UInt32) -> (number: UInt32, row: UnsafeMutablePointer<UInt8>) {
        if Int(count) == slots.count { enlarge() }
        let number = (first &+ count) & PendingSamples.numbers
        let place = Int(number) & (slots.count - 1)
        slots[place] = Slot(taken: UInt32(truncatingIfNeeded: now), older: older)
        count &+= 1
        let row = rows.base + place * SampleRow.width
        row.update(repeating: 0, count: SampleRow.width)
        return (number, row)
    }

    /// Returns whether `window` requests have passed since the oldest sample was taken.
    @inline(__always)
    func isDue(now: Int, window: Int) -> Bool {
        count > 0 && Int(UInt32(truncatingIfNeeded: now) &- slots[Int(first) & (slots.count - 1)].taken) >= window
    }

    /// Removes the oldest sample if it is due, and returns its row; otherwise `nil`. The row is valid until the next push.
    mutating func popDue(now: Int, window: Int) -> (row: UnsafePointer<UInt8>, isPositive: Bool)? {
        guard isDue(now: now, window: window) else { return nil }
        let place = Int(first) & (slots.count - 1)
        first = (first &+ 1) & PendingSamples.numbers
        count &-= 1
        return (UnsafePointer(rows.base + place * SampleRow.width), slots[place].isPositive)
    }

    /// Labels a sample as positive, and returns the next older one of the same object. Returns `nil` if the sample has left
    /// the ring.
    mutating func label(_ number: UInt32) -> UInt32? {
        guard isWaiting(number) else { return nil }
        let place = Int(number) & (slots.count - 1)
        slots[place].isPositive = true
        return slots[place].older
    }

    /// Returns whether a sample is in the ring.
    @inline(__always)
    func isWaiting(_ number: UInt32) -> Bool {
        number != PendingSamples.none && (number &- first) & PendingSamples.numbers < count
    }

    private mutating func enlarge() {
        var larger = HeapArray(repeating: Slot(), count: max(slots.count * 2, 4))
        var wider = HeapArray<UInt8>(repeating: 0, count: larger.count * SampleRow.width)
        for offset in 0..<count {
            let number = Int((first &+ offset) & PendingSamples.numbers)
            let (from, to) = (number & (slots.count - 1), number & (larger.count - 1))
            larger[to] = slots[from]
            (wider.base + to * SampleRow.width).update(from: rows.base + from * SampleRow.width, count: SampleRow.width)
        }
        swap(&slots, &larger)
        swap(&rows, &wider)
    }
}
