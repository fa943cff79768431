/// Samples that wait for their label: the object is asked for again, or the horizon passes.
///
/// A ring in order of time, bounded; the samples of one object are chained from its newest. Numbers given out stay valid
/// names of a sample until it has left the ring. All operations are O(1), settling O(samples of the object).
/// Bytes: 48 a sample.
struct PendingSamples: ~Copyable {
    static let none = ObjectRecord.none

    struct Slot: BitwiseCopyable {
        var taken: UInt32 = 0
        var older = PendingSamples.none
        var isSettled = false
    }

    private var slots: HeapArray<Slot>
    private var rows: HeapArray<UInt8>
    private var first: UInt32 = 0
    private var count: UInt32 = 0
    private let bound: Int

    /// Room for at most `bound` samples, a power of two.
    init(bound: Int) {
        self.bound = bound
        slots = HeapArray(repeating: Slot(), count: 0)
        rows = HeapArray(repeating: 0, count: 0)
    }

    var byteCount: Int { slots.byteCount + rows.byteCount }
    var isFull: Bool { Int(count) >= bound }

    /// Adds a sample taken at `now` in front of the chain `older`, and returns its number and where to write its
    /// row. Not to be called when full.
    mutating func push(now: UInt32, older: UInt32) -> (number: UInt32, row: UnsafeMutablePointer<UInt8>) {
        if Int(count) == slots.count { enlarge() }
        let number = first &+ count
        let place = Int(number) & (slots.count - 1)
        slots[place] = Slot(taken: now, older: older, isSettled: false)
        count &+= 1
        let row = rows.base + place * Sample.width
        row.update(repeating: 0, count: Sample.width)
        return (number, row)
    }

    /// The row of the oldest sample once `horizon` has passed since it was taken, in the same unit, which leaves the ring; `nil`
    /// if none is due. The row stays readable until the next push.
    mutating func popDue(now: UInt32, horizon: UInt32) -> (row: UnsafePointer<UInt8>, isSettled: Bool)? {
        guard count > 0 else { return nil }
        let place = Int(first) & (slots.count - 1)
        guard now &- slots[place].taken >= horizon else { return nil }
        first &+= 1
        count &-= 1
        return (UnsafePointer(rows.base + place * Sample.width), slots[place].isSettled)
    }

    /// Settles the sample `number`: returns its row, and the next older one of the same object. `nil` if it has left.
    mutating func settle(_ number: UInt32) -> (row: UnsafePointer<UInt8>, older: UInt32)? {
        guard number != PendingSamples.none, number &- first < count else { return nil }
        let place = Int(number) & (slots.count - 1)
        slots[place].isSettled = true
        return (UnsafePointer(rows.base + place * Sample.width), slots[place].older)
    }

    private mutating func enlarge() {
        var larger = HeapArray(repeating: Slot(), count: max(slots.count * 2, 64))
        var wider = HeapArray<UInt8>(repeating: 0, count: larger.count * Sample.width)
        for offset in 0..<count {
            let number = Int(first &+ offset)
            let (from, to) = (number & (slots.count - 1), number & (larger.count - 1))
            larger[to] = slots[from]
            (wider.base + to * Sample.width).update(from: rows.base + from * Sample.width, count: Sample.width)
        }
        swap(&slots, &larger)
        swap(&rows, &wider)
    }
}
