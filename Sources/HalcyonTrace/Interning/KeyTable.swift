/// Numbers distinct names densely from 0, in the order in which they come.
///
/// An open-addressing table with linear probing, 16 bytes a slot and at most three quarters full: 22 to 43 bytes a key.
/// Keys that are numbers live in their slot; others keep their bytes besides, and are compared by them, never by
/// their hash alone. Expected O(1) a key.
struct KeyTable: Sendable {
    /// The number of an empty slot, and of a token that is no name.
    static let none = UInt32.max

    struct Slot: Sendable {
        /// The key that is a number, or the hash of the text.
        var bits: UInt64
        var number: UInt32
        /// 0 for a key that is a number, else its place in `texts` plus 1.
        var text: UInt32

        static let empty = Slot(bits: 0, number: KeyTable.none, text: 0)
    }

    private(set) var slots = [Slot](repeating: .empty, count: 1 << 10)
    private(set) var texts = StringTable()
    /// The number of distinct names.
    private(set) var count = 0

    /// Numbers some tokens, whose texts lie at `base`.
    mutating func intern(_ tokens: TokenColumn, _ rows: Range<Int>, base: UnsafePointer<UInt8>) -> NameColumn {
        var firsts: [UInt32] = []
        let numbers = [UInt32](unsafeUninitializedCapacity: rows.count) { numbers, initialized in
            guard let start = numbers.baseAddress else { return }
            var row = rows.lowerBound
            while true {
                row = internRun(
                    tokens, row..<rows.upperBound, base: base, into: start - rows.lowerBound, newAt: &firsts)
                if row == rows.upperBound { break }
                grow()
            }
            initialized = rows.count
        }
        return NameColumn(numbers: numbers, firsts: firsts.map { $0 - UInt32(rows.lowerBound) })
    }

    /// Goes on until the last row or until the table is full, and returns the next row.
    private mutating func internRun(
        _ tokens: TokenColumn, _ rows: Range<Int>, base: UnsafePointer<UInt8>,
        into numbers: UnsafeMutablePointer<UInt32>, newAt firsts: inout [UInt32]
    ) -> Int {
        var slots: [Slot] = []
        var texts = StringTable()
        swap(&slots, &self.slots)
        swap(&texts, &self.texts)
        let limit = slots.count / 4 * 3
        var known = count
        let bits = tokens.bits
        let kinds = tokens.kinds
        let mask = slots.count - 1
        let end = rows.upperBound
        var row = rows.lowerBound
        slots.withUnsafeMutableBufferPointer { buffer in
            guard let table = buffer.baseAddress else { return }
            while row < end, known < limit {
                let word = bits[row]
                let kind = kinds[row]
                if kind == TokenColumn.Kind.number {
                    var index = Int(truncatingIfNeeded: mix(word, 0x9e37_79b9_7f4a_7c15)) & mask
                    while true {
                        let slot = table[index]
                        if slot.bits == word, slot.text == 0, slot.number != KeyTable.none {
                            numbers[row] = slot.number
                            break
                        }
                        if slot.number == KeyTable.none {
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
                        if slot.number == KeyTable.none {
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
                    numbers[row] = KeyTable.none
                }
                row += 1
            }
        }
        swap(&slots, &self.slots)
        swap(&texts, &self.texts)
        count = known
        return row
    }

    /// The place where the probing for a slot's key starts.
    @inline(__always)
    private static func home(_ slot: Slot, _ mask: Int) -> Int {
        Int(truncatingIfNeeded: slot.text == 0 ? mix(slot.bits, 0x9e37_79b9_7f4a_7c15) : slot.bits) & mask
    }

    private mutating func grow() {
        var wider = [Slot](repeating: .empty, count: slots.count * 2)
        let mask = wider.count - 1
        wider.withUnsafeMutableBufferPointer { buffer in
            for slot in slots where slot.number != KeyTable.none {
                var index = KeyTable.home(slot, mask)
                while buffer[index].number != KeyTable.none { index = (index + 1) & mask }
                buffer[index] = slot
            }
        }
        slots = wider
    }

    /// Adds another table's names and returns, by their numbers there, their numbers here. O(slots).
    mutating func absorb(_ other: KeyTable) -> [UInt32] {
        var numbers = [UInt32](repeating: KeyTable.none, count: other.count)
        for slot in other.slots where slot.number != KeyTable.none {
            if count >= slots.count / 4 * 3 { grow() }
            numbers[Int(slot.number)] = add(slot, from: other)
        }
        return numbers
    }

    private mutating func add(_ key: Slot, from other: KeyTable) -> UInt32 {
        let mask = slots.count - 1
        var index = KeyTable.home(key, mask)
        while true {
            let slot = slots[index]
            if slot.number == KeyTable.none { break }
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
}
