import HalcyonEviction

/// The numbers of objects in shadows, given in the order of their first request.
///
/// Operations are amortised O(1) where ``free(unless:)`` is called if ``needsFreeing``. Bytes: 4 an object number and 8 a number; of a sample of the
/// objects some 24 a number.
struct ShadowNumbers: ~Copyable {
    private static let unknown = UInt32.max

    /// The numbers by object; empty for a sample.
    private var numbers = SlotArray<UInt32>(repeating: ShadowNumbers.unknown)
    /// The numbers of the objects of a sample; `nil` for all objects.
    private var sample: [EntryID: UInt32]?
    /// The object of each number; `.none` if it has none.
    private var entries: [EntryID] = []
    /// The numbers of objects that were forgotten, which a shadow may still remember.
    private(set) var retired: [UInt32] = []
    private var unused: [UInt32] = []
    /// The numbers that may wait before they are freed, so that the calls of ``free(unless:)`` take amortised O(1).
    private var waitingBound = ShadowNumbers.fewestWaiting
    private static let fewestWaiting = 1_024

    /// - Parameter isSample: whether few of the objects get a number.
    init(isSample: Bool = false) { if isSample { sample = [:] } }

    /// Whether enough numbers wait for ``free(unless:)``.
    var needsFreeing: Bool { retired.count > waitingBound }

    var byteCount: Int {
        numbers.byteCount + (entries.count + retired.count + unused.count) * 4 + (sample?.capacity ?? 0) * 12
    }

    /// Returns the number of an object, if it has one.
    @inline(__always)
    func known(_ entry: EntryID) -> UInt32? {
        if let sample { return sample[entry] }
        let number = numbers[entry]
        return number == ShadowNumbers.unknown ? nil : number
    }

    /// Returns the object of a number; `.none` if it was forgotten.
    func entry(of number: UInt32) -> EntryID { entries[Int(number)] }

    /// Returns the number of an object that is requested.
    @inline(__always)
    mutating func number(of entry: EntryID) -> UInt32 { known(entry) ?? add(entry) }

    /// Gives an object a number.
    @inline(never)
    private mutating func add(_ entry: EntryID) -> UInt32 {
        let number: UInt32
        if let reused = unused.popLast() {
            number = reused
            entries[Int(number)] = entry
        } else {
            number = UInt32(entries.count)
            entries.append(entry)
        }
        set(entry, to: number)
        return number
    }

    private mutating func set(_ entry: EntryID, to number: UInt32?) {
        if sample != nil { sample?[entry] = number } else { numbers[entry] = number ?? ShadowNumbers.unknown }
    }

    /// Forgets an object, and returns the number that it had, if any. It is not reused before ``free(unless:)``.
    @discardableResult
    mutating func retire(_ entry: EntryID) -> UInt32? {
        guard let number = known(entry) else { return nil }
        entries[Int(number)] = .none
        retired.append(number)
        set(entry, to: nil)
        return number
    }

    /// Frees the numbers of forgotten objects, unless `isRemembered`.
    mutating func free(unless isRemembered: (UInt32) -> Bool) {
        let candidates = retired
        retired = []
        for number in candidates {
            if isRemembered(number) { retired.append(number) } else { unused.append(number) }
        }
        waitingBound = max(ShadowNumbers.fewestWaiting, 2 * retired.count)
    }
}
