import HalcyonEviction

/// Values by pairs of numbers, in a table of bounded size.
///
/// A pair has ``reach`` places. Where all are taken the table doubles, up to its bound; from then on a newer pair takes the
/// place of an older one, which counts as never seen. O(1). Bytes: 8 and the stride of `Value` a place.
struct PairTable<Value: BitwiseCopyable>: ~Copyable {
    private static var reach: Int { 8 }
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
