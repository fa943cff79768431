import Halcyon
import HalcyonEviction
import Testing

@testable import HalcyonCache

@Suite("Key table", .timeLimit(.minutes(20)))
struct KeyTableTests {
    @Test("The table numbers, finds and releases like a dictionary in 20,000 random steps")
    func tableEqualsDictionary() {
        var random = SplitMix64(seed: 3)
        var table = KeyTable()
        var expected: [String: EntryID] = [:]
        for _ in 0..<20_000 {
            let key = "key-\(random.next(below: 700))"
            if random.next(below: 3) == 0, let number = expected.removeValue(forKey: key) {
                table.release(number)
                #expect(table.number(of: key) == .none)
            } else {
                let number = table.intern(key)
                if let known = expected[key] { #expect(known == number) }
                expected[key] = number
            }
        }
        #expect(table.count == expected.count)
        #expect(Set(expected.values).count == expected.count)
        #expect(table.bound <= 700)
        for (key, number) in expected {
            #expect(table.number(of: key) == number)
            #expect(table.key(of: number) == key)
        }
    }

    @Test("Keys that differ in case, normalization, NUL or length stay distinct")
    func similarKeysStayDistinct() {
        let keys = ["", "a", "A", "\u{e9}", "e\u{301}", "a\0", "a\0b", "a\0c", String(repeating: "x", count: 1 << 20)]
        var table = KeyTable()
        let numbers = keys.map { table.intern($0) }
        #expect(Set(numbers).count == keys.count)
        #expect(keys.map { table.number(of: $0) } == numbers)
    }

    @Test("A released number is given to the next new key")
    func releasedNumberIsReused() {
        var table = KeyTable()
        let first = table.intern("a")
        _ = table.intern("b")
        table.release(first)
        #expect(table.intern("c") == first)
        #expect(table.number(of: "a") == .none)
        #expect(table.key(of: first) == "c")
    }
}
