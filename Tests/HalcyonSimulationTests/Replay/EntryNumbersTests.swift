import HalcyonEviction
import HalcyonSupport
import Testing

@testable import HalcyonSimulation

@Suite("Entry numbers of a small cache", .timeLimit(.minutes(20)))
struct EntryNumbersTests {
    @Test("Entry numbers agree with a dictionary, and those of forgotten objects are used again", arguments: [20, 200])
    func recycling(live: Int) {
        var numbers = EntryNumbers(recycles: true)
        var random = SplitMix64(seed: 9)
        // The objects that are held, latest last, and their numbers.
        var held: [(object: UInt32, number: EntryID)] = []
        for _ in 0..<8_000 {
            let object = UInt32(random.next(below: live * 3))
            let number = numbers.number(of: object) { number in !held.contains { $0.number == number } }
            if let known = held.firstIndex(where: { $0.object == object }) {
                #expect(held[known].number == number)
                held.remove(at: known)
            }
            #expect(!held.contains { $0.number == number }, "number \(number) was given to two objects")
            held.append((object, number))
            if held.count > live { held.removeFirst() }
        }
        #expect(numbers.count <= live + live / 8 + 5)
        var all = EntryNumbers(recycles: false)
        #expect((0..<500).map { all.number(of: UInt32($0 * 7)) { _ in true } } == Array(0..<500))
    }

    @Test("Each object of a cache that keeps all numbers has one dense number, as in a dictionary")
    func numbersAreDenseAndEqualADictionary() {
        var numbers = EntryNumbers(recycles: false)
        var book: [UInt32: EntryID] = [:]
        var random = SplitMix64(seed: 6)
        var wrong = 0
        for step in 0..<5_000 {
            // Neighbours and numbers far apart.
            let object = UInt32(random.next(below: 300)) * (step % 2 == 0 ? 1 : 0x10001)
            if numbers.find(object) != book[object] { wrong += 1 }
            let number = numbers.number(of: object) { _ in true }
            if number != book[object] ?? EntryID(book.count) || numbers.object(of: number) != object { wrong += 1 }
            book[object] = number
        }
        #expect(wrong == 0)
        #expect(numbers.count == book.count && book.count > 400)
    }
}
