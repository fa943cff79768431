import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("Rows of pairs", .timeLimit(.minutes(20)))
struct PairRowsTests {
    @Test("Pair rows equal a dictionary while they grow")
    func pairRowsEqualADictionaryWhileGrowing() {
        var generator = SplitMix64(seed: 5)
        var rows = PairRows(repeating: UInt32(0), bound: 1 << 16)
        var book: [UInt64: UInt32] = [:]
        for _ in 0..<20_000 {
            let (first, second) = (UInt32(generator.next(below: 40)), UInt32(generator.next(below: 300)))
            rows.update(first, second) { $0 += 1 }
            book[UInt64(first) << 32 | UInt64(second), default: 0] += 1
        }
        rows.updateKnown(0, 300) { _ in Issue.record("a pair without a value") }
        rows.updateKnown(40, 0) { _ in Issue.record("a row without a value") }
        var wrong = 0
        for first in UInt32(0)..<41 {
            for second in UInt32(0)..<300 {
                if rows.value(first, second)?.pointee != book[UInt64(first) << 32 | UInt64(second)] { wrong += 1 }
            }
        }
        #expect(wrong == 0)
    }

    @Test("Rows stay within their bound and are removed in turn")
    func rowsStayWithinTheirBound() {
        // Rows of three pairs take four places, so that four of them fit.
        var rows = PairRows(repeating: UInt32(0), bound: 16)
        for first in UInt32(0)..<6 {
            for second in UInt32(0)..<3 { rows.update(first, second) { $0 = 10 * first + second } }
            #expect(rows.byteCount <= 64 * 16 + 16 * 8)
        }
        for first in UInt32(0)..<6 {
            let kept = (0..<3).map { rows.value(first, $0)?.pointee }
            #expect(kept == (first < 2 ? [nil, nil, nil] : (0..<3).map { 10 * first + $0 }))
        }
        // A row that would take more than a quarter of the places is emptied.
        rows.update(5, 7) { $0 = 57 }
        #expect(rows.value(5, 0) == nil && rows.value(5, 7)?.pointee == 57 && rows.value(4, 0)?.pointee == 40)
    }

    @Test("A removed row frees its places and starts empty")
    func removedRowFreesItsPlacesAndStartsEmpty() {
        var rows = PairRows(repeating: UInt32(0), bound: 16)
        for first in UInt32(0)..<4 { rows.update(first, 1) { $0 = first } }
        let full = rows.byteCount
        rows.forget(2)
        rows.forget(2)
        rows.forget(9)
        #expect(rows.byteCount == full - 4 * 8 && rows.value(2, 1) == nil)
        rows.update(4, 1) { $0 = 4 }
        #expect((0..<5).map { rows.value($0, 1)?.pointee } == [0, 1, nil, 3, 4])
    }
}
