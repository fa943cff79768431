import CProcessor

/// A table that numbers distinct names densely from 0, in order of first occurrence.
///
/// The table uses open addressing with linear probing, 16 bytes a slot, and is at most three quarters full: 22 to 43
/// bytes a key. Keys that are numbers are stored in their slot. For other keys the table also stores their bytes and
/// compares them, never the hash alone. Expected O(1) a key.
struct NameTable: Sendable {
    /// The number of an empty slot and of a token without a name.
    static let none = UInt32.max

    struct Slot: Sendable {
        /// The key if it is a number, otherwise the hash of its text.
        var bits: UInt64
        var number: UInt32
        /// 0 for a key that is a number, otherwise its index in `texts` plus 1.
        var text: UInt32

        static let empty = Slot(bits: 0, number: NameTable.none, text: 0)
    }

    private(set) var slots = [Slot](repeating: .empty, count: 1 << 10)
    private(set) var texts = StringTable()
    /// The number of distinct names.
    private(set) var count = 0

    /// The number of distinct names that is too many: 2³² − 1, because the last number means no name.
    static let tooMany = Int(UInt32.max)
    /// How many rows ahead the slot of a key is loaded into the processor's cache, if the table has more than
    /// ``nearSlots``, which are in it anyway.
    private static let lookahead = 16
    private static let nearSlots = 1 << 14
    /// ``tooMany``, or less in tests.
    private let tooMany: Int

    /// Creates an empty table that accepts less than `tooMany` names.
    init(tooMany: Int = NameTable.tooMany) { self.tooMany = tooMany }

    /// Whether there are too many names. Tokens after the last accepted name are then not numbered.
    var isOverfull: Bool { count >= tooMany }

    /// Returns the error for a trace with too many distinct names of a kind, such as `keys`.
    func fault(_ kind: String, path: String) -> TraceError {
        TraceError(
            file: path,
            message: "has at least \(tooMany) distinct \(kind), and less are accepted; read a part of it with --limit")
    }

    /// Returns the numbers of tokens whose texts are at `base`, and adds new names.
    mutating func intern(_ tokens: TokenColumn, _ rows: Range<Int>, base: UnsafePointer<UInt8>) -> NameColumn {
        var firsts: [UInt32] = []
        let numbers = [UInt32](unsafeUninitializedCapacity: rows.count) { numbers, initialized in
            guard let start = numbers.baseAddress else { return }
            var row = rows.lowerBound
            while true {
                row = internRun(
                    tokens, row..<rows.upperBound, base: base, into: start - rows.lowerBound, newAt: &firsts)
                if row == rows.upperBound { break }
                if isOverfull {
                    (start + row - rows.lowerBound).initialize(
                        repeating: NameTable.none, count: rows.upperBound - row)
                    break
                }
                grow()
            }
            initialized = rows.count
        }
        return NameColumn(numbers: numbers, firsts: firsts.map { $0 - UInt32(rows.lowerBound) })
    }

    /// Numbers rows until the last one or until the table is full, and returns the next row.
    private mutating func internRun(
        _ tokens: TokenColumn, _ rows: Range<Int>, base: UnsafePointer<UInt8>,
        into numbers: UnsafeMutablePointer<UInt32>, newAt firsts: inout [UInt32]
    ) -> Int {
        var slots: [Slot] = []
        var texts = StringTable()
        swap(&slots, &self.slots)
        swap(&texts, &self.texts)
        let limit = min(slots.count / 4 * 3, tooMany)
        var known = count
        let bits = tokens.bits
        let kinds = tokens.kinds
        let mask = slots.count - 1
        let end = rows.upperBound
        let expectedEnd = slots.count > NameTable.nearSlots ? end - NameTable.lookahead : 0
        var row = rows.lowerBound
        slots.withUnsafeMutableBufferPointer { buffer in
            guard let table = buffer.baseAddress else { return }
            while row < end, known < limit {
                let word = bits[row]
                let kind = kinds[row]
                if row < expectedEnd, kinds[row + NameTable.lookahead] == TokenColumn.Kind.number {
                    let next = mix(bits[row + NameTable.lookahead], 0x9e37_79b9_7f4a_7c15)
                    halcyon_prefetch(table + (Int(truncatingIfNeeded: next) & mask))
                }
                if kind == TokenColumn.Kind.number {
                    var index = Int(truncatingIfNeeded: mix(word, 0x9e37_79b9_7f4a_7c15)) & mask
                    while true {
                        let slot = table[index]
                        if slot.bits == word, slot.text == 0, slot.number != NameTable.none {
                            numbers[row] = slot.number
                            break
                        }
                        if slot.number == NameTable.none {
                            let number = UInt32(truncatingIfNeeded: known)
                            table[index] = Slot(bits: word, number: number, text: 0)
                            numbers[row] = number
                            firsts.append(UInt32(truncatingIfNeeded: row))
                            known += 1
                            break
                        }
                        index = (index + 1) & mask
                    }
                } else if kind == TokenColumn.Kind.text {
                    let text = base + Int(word >> 32)
                    let length = Int(word & 0xffff_ffff)
                    let hash = hashBytes(text, length)
                    var index = Int(truncatingIfNeeded: hash) & mask
                    while true {
                        let slot = table[index]
                        if slot.number == NameTable.none {
                            let number = UInt32(truncatingIfNeeded: known)
                            let place = texts.append(utf8: UnsafeBufferPointer(start: text, count: length))
                            table[index] = Slot(bits: hash, number: number, text: place + 1)
                            numbers[row] = number
                            firsts.append(UInt32(truncatingIfNeeded: row))
                            known += 1
                            break
                        }
                        if slot.bits == hash, slot.text != 0, texts.equals(slot.text - 1, text, length) {
                            numbers[row] = slot.number
                            break
                        }
                        index = (index + 1) & mask
                    }
                } else {
                    numbers[row] = NameTable.none
                }
                row += 1
            }
        }
        swap(&slots, &self.slots)
        swap(&texts, &self.texts)
        count = known
        return row
    }

    /// Returns the index where the probing for a slot's key starts.
    @inline(__always)
    private static func home(_ slot: Slot, _ mask: Int) -> Int {
        Int(truncatingIfNeeded: slot.text == 0 ? mix(slot.bits, 0x9e37_79b9_7f4a_7c15) : slot.bits) & mask
    }

    private mutating func grow() {
        var wider = [Slot](repeating: .empty, count: slots.count * 2)
        let mask = wider.count - 1
        wider.withUnsafeMutableBufferPointer { buffer in
            for slot in slots where slot.number != NameTable.none {
                var index = NameTable.home(slot, mask)
                while buffer[index].number != NameTable.none { index = (index + 1) & mask }
                buffer[index] = slot
            }
        }
        slots = wider
    }

    /// Adds another table's names and returns their numbers in this table, by their numbers in the other. O(slots).
    mutating func absorb(_ other: NameTable) -> [UInt32] {
        var numbers = [UInt32](repeating: NameTable.none, count: other.count)
        for slot in other.slots where slot.number != NameTable.none {
            if isOverfull { break }
            if count >= slots.count / 4 * 3 { grow() }
            numbers[Int(slot.number)] = add(slot, from: other)
        }
        return numbers
    }

    private mutating func add(_ key: Slot, from other: NameTable) -> UInt32 {
        let mask = slots.count - 1
        var index = NameTable.home(key, mask)
        while true {
            let slot = slots[index]
            if slot.number == NameTable.none { break }
            if slot.bits == key.bits, (slot.text == 0) == (key.text == 0),
                key.text == 0 || texts.utf8(slot.text - 1) == other.texts.utf8(key.text - 1)
            {
                return slot.number
            }
            index = (index + 1) & mask
        }
        let number = UInt32(count)
        let text = key.text == 0 ? 0 : texts.append(utf8: other.texts.utf8(key.text - 1)) + 1
        slots[index] = Slot(bits: key.bits, number: number, text: text)
        count += 1
        return number
    }

    /// Returns the slots by number.
    private func slotsByNumber() -> [Slot] {
        var byNumber = [Slot](repeating: .empty, count: count)
        for slot in slots where slot.number != NameTable.none { byNumber[Int(slot.number)] = slot }
        return byNumber
    }

    /// Returns the names with these numbers, in this order. O(slots + bytes).
    func names(_ order: [UInt32]) -> StringTable {
        let byNumber = slotsByNumber()
        var names = StringTable()
        for number in order {
            let slot = byNumber[Int(number)]
            if slot.text == 0 {
                names.append(String(slot.bits))
            } else {
                names.append(utf8: texts.utf8(slot.text - 1))
            }
        }
        return names
    }

    /// Returns a hash of each name with these numbers, which depends on the name alone. O(slots).
    func hashes(_ order: [UInt32]) -> [UInt64] {
        let byNumber = slotsByNumber()
        return order.map { number in
            let slot = byNumber[Int(number)]
            return slot.text == 0 ? hashNumber(slot.bits) : slot.bits
        }
    }
}

/// The name numbers of a chunk's requests, from the table of the worker that parsed it.
struct NameColumn: Sendable {
    /// The numbers by row; ``NameTable/none`` for no name.
    var numbers: [UInt32] = []
    /// The rows with a name that is new to the worker, ascending.
    ///
    /// A worker takes chunks in the order of the file, so the first request for a name is in such a row of some chunk.
    var firsts: [UInt32] = []

    /// Returns only these rows. All of them are then in `firsts`, because earlier rows are lost.
    func kept(_ rows: Range<Int>) -> NameColumn {
        if numbers.isEmpty { return self }
        return NameColumn(numbers: Array(numbers[rows]), firsts: (0..<UInt32(rows.count)).map { $0 })
    }
}

/// A parsed column of names that are not yet numbered.
///
/// Nearly all keys are numbers. They are stored as 64 bits, so their text is not needed again. A token is a number
/// only if its text is the shortest decimal form, so `7` and `007` are different keys.
final class TokenColumn {
    /// The kind of a token.
    enum Kind {
        /// No name.
        static let none: UInt8 = 0
        /// The number itself.
        static let number: UInt8 = 1
        /// A text in the chunk: `offset << 32 | length`.
        static let text: UInt8 = 2
    }

    let bits: UnsafeMutablePointer<UInt64>
    let kinds: UnsafeMutablePointer<UInt8>

    init(capacity: Int) {
        bits = .allocate(capacity: capacity)
        kinds = .allocate(capacity: capacity)
    }

    deinit {
        bits.deallocate()
        kinds.deallocate()
    }

    @inline(__always)
    func setNumber(_ row: Int, _ value: UInt64) {
        bits[row] = value
        kinds[row] = Kind.number
    }

    @inline(__always)
    func setText(_ row: Int, offset: Int, length: Int) {
        bits[row] = UInt64(truncatingIfNeeded: offset) &<< 32 | UInt64(truncatingIfNeeded: length)
        kinds[row] = Kind.text
    }

    /// Copies the token in a row of another column.
    func set(_ row: Int, to other: TokenColumn, _ source: Int) {
        bits[row] = other.bits[source]
        kinds[row] = other.kinds[source]
    }

    /// Returns a hash of the name in a row, which depends on the name alone.
    func hash(_ row: Int, base: UnsafePointer<UInt8>) -> UInt64 {
        let word = bits[row]
        return kinds[row] == Kind.text ? hashBytes(base + Int(word >> 32), Int(word & 0xffff_ffff)) : hashNumber(word)
    }

    @inline(__always)
    func setNone(_ row: Int) { kinds[row] = Kind.none }
}
