import HalcyonEviction

/// The numbers of objects in shadows, given in the order of their first request.
///
/// Of a sample of one in 2ⁿ objects, only these have numbers. Operations are O(1), ``sweep(_:)`` is O(numbers). Bytes: 4 an
/// object number and 9 a number.
struct ShadowNumbers: ~Copyable {
    private static let unknown = UInt32.max
    private static let notSampled = UInt32.max - 1

    private let shift: Int
    private var numbers = SlotArray<UInt32>(repeating: ShadowNumbers.unknown)
    /// The object of each number; `.none` if the number is free.
    private var entries: [EntryID] = []
    /// Whether the object was requested since the last sweep.
    private var isRecent: [Bool] = []
    private var free: [UInt32] = []
    private var decisions: UInt64 = 0
    /// The objects that were numbered since the last sweep.
    private(set) var numberedSinceSweep = 0
    /// Whether some object was requested since the last sweep.
    private(set) var hasRecent = false

    /// Numbers for one in 2^`shift` objects.
    init(shift: Int = 0) { self.shift = shift }

    /// The numbers in use.
    var count: Int { entries.count - free.count }

    var byteCount: Int { numbers.byteCount + entries.count * 9 }

    /// Returns the number of an object, if it has one.
    @inline(__always)
    func known(_ entry: EntryID) -> UInt32? {
        let number = numbers[entry]
        return number < ShadowNumbers.notSampled ? number : nil
    }

    /// Returns the object of a number in use.
    func entry(of number: UInt32) -> EntryID { entries[Int(number)] }

    /// Returns the number of an object that is requested; `nil` if the object is not in the sample.
    mutating func number(of entry: EntryID) -> UInt32? {
        var number = numbers[entry]
        if number == ShadowNumbers.notSampled { return nil }
        if number == ShadowNumbers.unknown {
            decisions &+= 1
            if SplitMix64.mix(decisions) & (1 << UInt64(shift) - 1) != 0 {
                numbers[entry] = ShadowNumbers.notSampled
                return nil
            }
            number = add(entry)
        }
        isRecent[Int(number)] = true
        hasRecent = true
        return number
    }

    private mutating func add(_ entry: EntryID) -> UInt32 {
        let number: UInt32
        if let reused = free.popLast() {
            number = reused
            entries[Int(number)] = entry
        } else {
            number = UInt32(entries.count)
            entries.append(entry)
            isRecent.append(true)
        }
        numbers[entry] = number
        numberedSinceSweep += 1
        return number
    }

    /// Frees the numbers of objects that were not requested since the last sweep and that no shadow holds.
    mutating func sweep(_ isHeld: (UInt32) -> Bool) {
        numberedSinceSweep = 0
        hasRecent = false
        for place in entries.indices where entries[place] != .none {
            if isRecent[place] || isHeld(UInt32(place)) {
                isRecent[place] = false
                continue
            }
            numbers[entries[place]] = ShadowNumbers.unknown
            entries[place] = .none
            free.append(UInt32(place))
        }
    }
}
