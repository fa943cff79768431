import CProcessor
import HalcyonEviction

/// Values by pairs of numbers, in a table of bounded size.
///
/// A pair has ``reach`` places. Where all are taken the table doubles, up to its bound; from then on a newer pair takes the
/// place of an older one, which counts as never seen. A place holds a few bits of the hash and where the pair lies, so that a look
/// for a pair that is not there seldom leaves the table. O(1). Bytes: 4 a place, of which more than half are free before the bound;
/// 8 and the stride of `Value` a pair.
struct PairTable<Value: BitwiseCopyable>: ~Copyable {
    private static var reach: Int { 16 }

    private var places: HeapArray<PairPlace>
    private var entries = PairEntries<Value>()
    /// One value, on the heap, because a stored `Value` would make the layout depend on it; see ``SlotArray``.
    private let fill: HeapArray<Value>
    private let bound: Int
    private var count = 0

    /// An empty table of at most `bound` places, a power of two.
    init(repeating fill: Value, bound: Int) {
        precondition(bound <= PairPlace.bound, "a table of more places than can be numbered")
        self.fill = HeapArray(repeating: fill, count: 1)
        self.bound = bound
        places = HeapArray(repeating: .free, count: 1 << 8)
    }

    var byteCount: Int { places.byteCount + entries.byteCount }

    /// The value of a pair, if it has one.
    @inline(__always)
    func value(_ first: UInt32, _ second: UInt32) -> UnsafePointer<Value>? {
        value(Self.key(first, second), from: glance(first, second))
    }

    /// Looks at the first place of a pair.
    @inline(__always)
    private func glance(_ first: UInt32, _ second: UInt32) -> PairGlance {
        let hash = SplitMix64.mix(Self.key(first, second))
        let home = home(hash)
        return PairGlance(home: UInt32(truncatingIfNeeded: home), tag: PairPlace.tag(hash), found: places[home])
    }

    /// Has the first place of a pair on its way from memory.
    @inline(__always)
    func expectPlace(_ first: UInt32, _ second: UInt32) {
        halcyon_prefetch(places.base + home(SplitMix64.mix(Self.key(first, second))))
    }

    /// Has what is said to be at the first place of a pair on its way from memory.
    @inline(__always)
    func expect(_ first: UInt32, _ second: UInt32) {
        let found = places[home(SplitMix64.mix(Self.key(first, second)))]
        if found != .free { halcyon_prefetch(entries.value(found.number)) }
    }

    /// Changes the value of a pair, which begins as the fill.
    @inline(__always)
    mutating func update(_ first: UInt32, _ second: UInt32, _ change: (inout Value) -> Void) {
        change(&entries.value(number(Self.key(first, second))).pointee)
    }

    @inline(__always)
    private func value(_ key: UInt64, from glance: PairGlance) -> UnsafePointer<Value>? {
        number(key, from: glance).map { UnsafePointer(entries.value($0)) }
    }

    /// The number of a pair, if it has one.
    @inline(__always)
    private func number(_ key: UInt64, from glance: PairGlance) -> Int? {
        var (place, found) = (Int(glance.home), glance.found)
        for _ in 0..<Self.reach {
            if found == .free { return nil }
            if found.hasTag(glance.tag) && entries.key(found.number) == key { return found.number }
            place = (place &+ 1) & (places.count &- 1)
            found = places[place]
        }
        return nil
    }

    /// The number of a pair, given now if it has none.
    private mutating func number(_ key: UInt64) -> Int {
        let hash = SplitMix64.mix(key)
        let tag = PairPlace.tag(hash)
        while true {
            var place = home(hash)
            for _ in 0..<Self.reach {
                let found = places[place]
                if found == .free {
                    if count * 2 >= places.count && places.count < bound { break }
                    let number = entries.append(key, fill[0])
                    count += 1
                    places[place] = PairPlace(tag: tag, number: number)
                    return number
                }
                if found.hasTag(tag) && entries.key(found.number) == key { return found.number }
                place = (place &+ 1) & (places.count &- 1)
            }
            if places.count >= bound {
                place = home(hash)
                let number = places[place].number
                places[place] = PairPlace(tag: tag, number: number)
                entries.replace(number, by: key, fill[0])
                return number
            }
            enlarge()
        }
    }

    private mutating func enlarge() {
        var old = HeapArray(repeating: PairPlace.free, count: places.count * 2)
        swap(&places, &old)
        count = 0
        for index in 0..<old.count where old[index] != .free { enter(old[index].number) }
    }

    /// Gives a pair of the table before a place in this one.
    private mutating func enter(_ number: Int) {
        let hash = SplitMix64.mix(entries.key(number))
        while true {
            var place = home(hash)
            for _ in 0..<Self.reach {
                if places[place] == .free {
                    count += 1
                    places[place] = PairPlace(tag: PairPlace.tag(hash), number: number)
                    return
                }
                place = (place &+ 1) & (places.count &- 1)
            }
            if places.count >= bound {
                places[home(hash)] = PairPlace(tag: PairPlace.tag(hash), number: number)
                return
            }
            enlarge()
        }
    }

    @inline(__always)
    private static func key(_ first: UInt32, _ second: UInt32) -> UInt64 { UInt64(first) << 32 | UInt64(second) }

    @inline(__always)
    private func home(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (places.count &- 1) }
}

/// A place of a ``PairTable``: some bits of the hash of the pair that has it, and the pair's number.
struct PairPlace: BitwiseCopyable, Equatable {
    private static let numberBits: UInt32 = 22
    /// The most places of a table. A table numbers less than twice as many pairs, so that no place that is taken looks free.
    static let bound = 1 << (numberBits - 1)
    static let free = PairPlace(bits: .max)

    private let bits: UInt32

    private init(bits: UInt32) { self.bits = bits }

    @inline(__always)
    init(tag: UInt32, number: Int) { bits = tag | UInt32(truncatingIfNeeded: number) }

    /// The bits of a hash that a place keeps: not those that say which place it is.
    @inline(__always)
    static func tag(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 32) & (.max << numberBits) }

    @inline(__always)
    func hasTag(_ tag: UInt32) -> Bool { (bits ^ tag) >> Self.numberBits == 0 }

    var number: Int {
        @inline(__always) get { Int(truncatingIfNeeded: bits & (1 << Self.numberBits - 1)) }
    }

    @inline(__always)
    static func == (left: PairPlace, right: PairPlace) -> Bool { left.bits == right.bits }
}

/// What is at the first place of a pair.
private struct PairGlance: BitwiseCopyable {
    let home: UInt32
    let tag: UInt32
    let found: PairPlace
}
