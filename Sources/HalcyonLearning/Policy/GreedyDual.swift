import HalcyonEviction

/// A way to choose victims. Each gives a score to a resident; the resident with the lowest score is the victim.
enum Expert {
    /// The network; see ``CandidateSampler``.
    case network
    /// GreedyDual-Size-Frequency; see ``GreedyDual``.
    case greedyDual

    /// The name in reports.
    var name: String { self == .network ? "network" : "gdsf" }
}

/// GreedyDual-Size-Frequency (Cherkasova, 1998), the heuristic that decides until the network does better. With uniform
/// sizes it is LFU with aging.
///
/// The priority of an object is the clock at its last access, plus its accesses while resident times the cost of its miss
/// over its size. An eviction moves the clock to the priority of the victim. Costs over sizes are counted in units of the
/// first one, which keeps the digits of the sums. The clock would grow without bound, and a `Float` then no longer tells
/// priorities apart: above 2²⁴ units a single access changes nothing. So it starts again at 0 when it is 2²² times as
/// large as what one access adds on average (``clockIsLong``), and all priorities are lowered by as much.
///
/// With variable sizes a heap holds all residents by priority. An operation is then O(log residents), otherwise O(1).
struct GreedyDual: ~Copyable {
    /// The part of the way to the victim's priority that the clock moves when another expert chose the victim.
    private static let slowStep: Float = 0.1

    /// The priority of the latest victims.
    var clock: Float = 0
    /// The residents by priority; empty with uniform sizes.
    private var heap: IndexedHeap<Worth>
    private var unit = Float.infinity
    /// The addition of one access to a priority, as a moving mean.
    private var meanWeight: Float = 1
    private let missCost: MissCost
    private let usesUniformSizes: Bool

    init(missCost: MissCost, usesUniformSizes: Bool) {
        self.missCost = missCost
        self.usesUniformSizes = usesUniformSizes
        heap = IndexedHeap(room: usesUniformSizes ? 1 : 64)
    }

    var byteCount: Int { heap.metadataBytes.total }

    /// The resident with the lowest priority, and the next one after it; `nil` with uniform sizes.
    @inline(__always)
    var lowest: (slot: UInt32, priority: Float)? { heap.smallest.map { ($0.entry, $0.key.priority) } }
    var secondLowest: (slot: UInt32, priority: Float)? { heap.second.map { ($0.entry, $0.key.priority) } }

    /// Sets the priority of a record as of its access now.
    @inline(__always)
    mutating func rate(_ record: inout ObjectRecord) {
        let density = missCost.density(logSize: record.logSize)
        if unit == .infinity { unit = density }
        let weight = unit == density ? 1 : FastMath.exp2(density - unit)
        meanWeight += (weight - meanWeight) * 0.001
        record.priority = clock + FastMath.float(small: UInt32(record.residentAccesses)) * weight
    }

    /// Adds a new resident, whose priority was set at request `now`.
    @inline(__always)
    mutating func insert(_ slot: UInt32, priority: Float, now: Int) {
        if !usesUniformSizes { heap.insert(slot, key: Worth(priority, now: now)) }
    }

    /// Changes the priority of a resident at request `now`.
    @inline(__always)
    mutating func update(_ slot: UInt32, priority: Float, now: Int) {
        if !usesUniformSizes { heap.update(slot, key: Worth(priority, now: now)) }
    }

    /// Removes a resident.
    @inline(__always)
    mutating func remove(_ slot: UInt32) {
        if !usesUniformSizes { heap.remove(slot) }
    }

    /// Moves the clock towards the priority of a victim or of a refused object: all the way if this expert chose it.
    @inline(__always)
    mutating func age(to priority: Float, isOwnChoice: Bool) {
        let step = isOwnChoice ? 1 : GreedyDual.slowStep
        clock = max(clock, clock + (priority - clock) * step)
    }

    /// Whether the clock must start again; see ``restart()``.
    @inline(__always)
    var clockIsLong: Bool { clock > meanWeight * 0x1p22 }

    /// Starts the clock again at 0, and returns what it was: the caller lowers all priorities by as much.
    mutating func restart() -> Float {
        defer { clock = 0 }
        return clock
    }

    /// Returns a priority above the clock as a number of a byte: eight steps an octave, from 2⁻¹⁶ to 2¹⁶.
    @inline(__always)
    static func level(_ excess: Float) -> Float {
        let octaves = FastMath.nearestByte(FastMath.log2(excess) * 8 + 128)
        return excess < 0x1p-16 ? 0 : octaves
    }

    /// A priority and the request at which it was set, modulo 2³². Of equal priorities the older one comes first, if they
    /// are less than 2³¹ requests apart. 8 bytes.
    ///
    /// It is not private, because Swift 6.3 then emits an invalid module for the noncopyable struct.
    struct Worth: BitwiseCopyable, Comparable {
        var priority: Float
        var stamp: UInt32

        @inline(__always)
        init(_ priority: Float, now: Int) {
            self.priority = priority
            stamp = UInt32(truncatingIfNeeded: now)
        }

        @inline(__always)
        static func < (left: Worth, right: Worth) -> Bool {
            left.priority < right.priority
                || (left.priority == right.priority && Int32(bitPattern: left.stamp &- right.stamp) < 0)
        }
    }
}
