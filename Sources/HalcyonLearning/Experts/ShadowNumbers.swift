import HalcyonEviction

/// The numbers of objects in shadows, given in the order of their first request.
///
/// Of a sample of one in 2ⁿ objects, only these have numbers. Operations are O(1), ``free(unless:)`` is O(retired numbers). Bytes:
/// 4 an object number and 8 a number.
struct ShadowNumbers: ~Copyable {
    private static let unknown = UInt32.max
    private static let notSampled = UInt32.max - 1

    private let shift: Int
    private var numbers = SlotArray<UInt32>(repeating: ShadowNumbers.unknown)
    /// The object of each number; `.none` if it has none.
    private var entries: [EntryID] = []
    /// The numbers of objects that were forgotten, which a shadow may still remember.
    private var retired: [UInt32] = []
    private var unused: [UInt32] = []
    private var decisions: UInt64 = 0

    /// Numbers for one in 2^`shift` objects.
    init(shift: Int = 0) { self.shift = shift }

    /// The number of numbers that wait to be freed.
    var retiredCount: Int { retired.count }

    var byteCount: Int { numbers.byteCount + (entries.count + retired.count + unused.count) * 4 }

    /// Returns the number of an object, if it has one.
    @inline(__always)
    func known(_ entry: EntryID) -> UInt32? {
        let number = numbers[entry]
        return number < ShadowNumbers.notSampled ? number : nil
    }

    /// Returns the object of a number; `.none` if it was forgotten.
    func entry(of number: UInt32) -> EntryID { entries[Int(number)] }

    /// Returns the number of an object that is requested; `nil` if the object is not in the sample.
    mutating func number(of entry: EntryID) -> UInt32? {
        let known = numbers[entry]
        if known < ShadowNumbers.notSampled { return known }
        if known == ShadowNumbers.notSampled { return nil }
        decisions &+= 1
        if SplitMix64.mix(decisions) & (1 << UInt64(shift) - 1) != 0 {
            numbers[entry] = ShadowNumbers.notSampled
            return nil
        }
        let number: UInt32
        if let reused = unused.popLast() {
            number = reused
            entries[Int(number)] = entry
        } else {
            number = UInt32(entries.count)
            entries.append(entry)
        }
        numbers[entry] = number
        return number
    }

    /// Forgets an object. Its number is not reused before ``free(unless:)``.
    mutating func retire(_ entry: EntryID) {
        if let number = known(entry) {
            entries[Int(number)] = .none
            retired.append(number)
        }
        numbers[entry] = ShadowNumbers.unknown
    }

    /// Frees the numbers of forgotten objects, unless `isRemembered`.
    mutating func free(unless isRemembered: (UInt32) -> Bool) {
        let candidates = retired
        retired = []
        for number in candidates {
            if isRemembered(number) { retired.append(number) } else { unused.append(number) }
        }
    }
}
