import CProcessor
import HalcyonEviction

/// Values by pairs of numbers, in a table of bounded size.
///
/// A pair has ``reach`` places. Where all are taken the table doubles, up to its bound; from then on a newer pair takes the
/// place of an older one, which counts as never seen. O(1). Bytes: 8 and the stride of `Value` a place.
struct PairTable<Value: BitwiseCopyable>: ~Copyable {
    private static var reach: Int { 16 }
    private static var free: UInt64 { .max }

    private var keys: HeapArray<UInt64>
    private var values: HeapArray<Value>
    /// One value, on the heap, because a stored `Value` would make the layout depend on it; see ``SlotArray``.
    private let fill: HeapArray<Value>
    private let bound: Int
    private var count = 0

    /// An empty table of at most `bound` places, a power of two.
    init(repeating fill: Value, bound: Int) {
        self.fill = HeapArray(repeating: fill, count: 1)
        self.bound = bound
        keys = HeapArray(repeating: Self.free, count: 1 << 8)
        values = HeapArray(repeating: fill, count: 1 << 8)
    }

    var byteCount: Int { keys.byteCount + values.byteCount }

    /// The value of a pair, if it has one.
    @inline(__always)
    func value(_ first: UInt32, _ second: UInt32) -> UnsafePointer<Value>? {
        let key = Self.key(first, second)
        var place = home(key)
        for _ in 0..<Self.reach {
            if keys[place] == key { return UnsafePointer(values.base + place) }
            if keys[place] == Self.free { return nil }
            place = (place &+ 1) & (keys.count &- 1)
        }
        return nil
    }

    /// Looks at the first place of a pair.
    @inline(__always)
    func glance(_ first: UInt32, _ second: UInt32) -> PairGlance {
        let key = Self.key(first, second)
        let found = keys[home(key)]
        // Sums instead of branches: whose it is cannot be foreseen.
        return PairGlance(rawValue: (found == key ? 1 : 0) + (found == Self.free ? 2 : 0))
    }

    /// Has the first place of a pair on its way from memory.
    @inline(__always)
    func expect(_ first: UInt32, _ second: UInt32) {
        let place = home(Self.key(first, second))
        halcyon_prefetch(keys.base + place)
        halcyon_prefetch(values.base + place)
    }

    /// Changes the value of a pair, which begins as the fill.
    @inline(__always)
    mutating func update(_ first: UInt32, _ second: UInt32, _ change: (inout Value) -> Void) {
        change(&values.base[place(Self.key(first, second))])
    }

    private mutating func place(_ key: UInt64) -> Int {
        while true {
            var place = home(key)
            for _ in 0..<Self.reach {
                if keys[place] == key { return place }
                if keys[place] == Self.free {
                    if count * 2 >= keys.count && keys.count < bound { break }
                    count += 1
                    keys[place] = key
                    values[place] = fill[0]
                    return place
                }
                place = (place &+ 1) & (keys.count &- 1)
            }
            if keys.count >= bound {
                place = home(key)
                keys[place] = key
                values[place] = fill[0]
                return place
            }
            enlarge()
        }
    }

    private mutating func enlarge() {
        var oldKeys = HeapArray(repeating: Self.free, count: keys.count * 2)
        var oldValues = HeapArray(repeating: fill[0], count: keys.count * 2)
        swap(&keys, &oldKeys)
        swap(&values, &oldValues)
        count = 0
        for index in 0..<oldKeys.count where oldKeys[index] != Self.free {
            values.base[place(oldKeys[index])] = oldValues[index]
        }
    }

    @inline(__always)
    private static func key(_ first: UInt32, _ second: UInt32) -> UInt64 { UInt64(first) << 32 | UInt64(second) }

    @inline(__always)
    private func home(_ key: UInt64) -> Int { Int(truncatingIfNeeded: SplitMix64.mix(key)) & (keys.count &- 1) }
}

/// What the first place of a pair says: whether it is the pair's own, or free, so that the pair has no value; otherwise the
/// pair may have a place further on.
struct PairGlance: OptionSet, BitwiseCopyable {
    let rawValue: UInt8
    static let isOwn = PairGlance(rawValue: 1)
    static let isFree = PairGlance(rawValue: 2)
}

/// The values of many pairs with one first number, looked up together, so that the processor waits for many at once.
struct PairFindings<Value: BitwiseCopyable>: ~Copyable {
    /// The values found in the last look, in the order of the pairs; anything where none was found.
    private(set) var values: HeapArray<Value>
    private var glances: HeapArray<PairGlance>

    /// Room for `count` pairs.
    init(repeating fill: Value, count: Int) {
        values = HeapArray(repeating: fill, count: count)
        glances = HeapArray(repeating: .isFree, count: count)
    }

    var byteCount: Int { values.byteCount + glances.byteCount }

    /// Looks up the pairs of `first` with each of `seconds`, as many as there is room for.
    @inline(__always)
    mutating func look(
        in table: borrowing PairTable<Value>, _ first: UInt32, _ seconds: UnsafePointer<UInt32>, count: Int
    ) {
        for index in 0..<count { glances[index] = table.glance(first, seconds[index]) }
        for index in 0..<count where glances[index] != .isFree {
            guard let value = table.value(first, seconds[index]) else { continue }
            values[index] = value.pointee
            glances[index] = .isOwn
        }
    }

    /// Whether the `index`-th pair has a value.
    @inline(__always)
    func isFound(_ index: Int) -> Bool { glances[index] == .isOwn }
}
