extension KeyTable {
    /// The slots by number.
    private func slotsByNumber() -> [Slot] {
        var byNumber = [Slot](repeating: .empty, count: count)
        for slot in slots where slot.number != KeyTable.none { byNumber[Int(slot.number)] = slot }
        return byNumber
    }

    /// The names with these numbers, in this order. O(slots + bytes).
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

    /// A hash of each name with these numbers, which depends on nothing but the name. O(slots).
    func hashes(_ order: [UInt32]) -> [UInt64] {
        let byNumber = slotsByNumber()
        return order.map { number in
            let slot = byNumber[Int(number)]
            return slot.text == 0 ? hashNumber(slot.bits) : slot.bits
        }
    }
}
