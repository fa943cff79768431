import HalcyonEviction
import Testing

@testable import HalcyonSimulation

@Suite("States of the objects of a cache", .timeLimit(.minutes(20)))
struct ResidencyTableTests {
    @Test("Each object has one dense number and the state of a dictionary")
    func numbersAreDenseAndStatesEqualADictionary() {
        var met = ResidencyTable()
        var (book, states): ([UInt32: EntryID], [UInt32: ResidencyTable.State]) = ([:], [:])
        var generator = SplitMix64(seed: 6)
        var wrong = 0
        if met.holds(0) { wrong += 1 }
        for step in 0..<5_000 {
            // Neighbours and numbers far apart.
            let object = UInt32(generator.next(below: 300)) * (step % 2 == 0 ? 1 : 0x10001)
            if met.holds(object) != ((states[object] ?? .absent) != .absent) { wrong += 1 }
            let number = met.assign(object)
            if number != book[object] ?? EntryID(book.count) || met.object(number) != object { wrong += 1 }
            book[object] = number
            switch generator.next(below: 4) {
            case 0: met[number] = .absent
            case 1: met[number] = .requested
            case 2: met[number] = .inFlight
            default:
                met.arrived(number, request: step, isCounted: step % 2 == 0)
                if met.fetch(of: number) != step { wrong += 1 }
                if met[number] != (step % 2 == 0 ? .unused : .unusedUncounted) { wrong += 1 }
            }
            states[object] = met[number]
        }
        #expect(wrong == 0)
        #expect(Int(met.count) == book.count && book.count > 400)
    }
}
