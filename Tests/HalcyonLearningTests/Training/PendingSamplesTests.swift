import Testing

@testable import HalcyonLearning

@Suite("Samples without a label yet", .timeLimit(.minutes(20)))
struct PendingSamplesTests {
    @Test("Samples are labelled along the chain, newest first, and due after the window, oldest first")
    func samplesAreLabelledNewestFirstAndDueOldestFirst() {
        var pending = PendingSamples(bound: 1 << 10)
        let (first, row) = pending.push(now: 10, older: PendingSamples.none)
        row[0] = 1
        let (second, other) = pending.push(now: 12, older: PendingSamples.none)
        other[0] = 2
        let (third, last) = pending.push(now: 15, older: first)
        last[0] = 3
        // The object of the first and the third sample is requested.
        let newest = pending.label(third)
        #expect(newest == first)
        let oldest = pending.label(first)
        #expect(oldest == PendingSamples.none)
        let answer1 = pending.popDue(now: 14, window: 5)
        #expect(answer1 == nil)
        let answer2 = pending.popDue(now: 15, window: 5).map { $0.isPositive }
        #expect(answer2 == true)
        let answer3 = pending.popDue(now: 16, window: 5)
        #expect(answer3 == nil)
        let due = pending.popDue(now: 20, window: 5)
        #expect(due?.row[0] == 2 && due?.isPositive == false)
        let answer4 = pending.label(second)
        #expect(answer4 == nil, "the sample has left the ring")
        let answer5 = pending.popDue(now: 20, window: 5).map { $0.isPositive }
        #expect(answer5 == true)
        let answer6 = pending.popDue(now: 99, window: 5)
        #expect(answer6 == nil, "empty")
    }

    @Test("Numbers wrap around after 2³¹ samples without changing labels")
    func sampleNumbersWrapAroundWithoutChangingLabels() {
        /// Returns the labels of a thousand samples of ten objects, whose chains are labelled now and then.
        func labels(first: UInt32) -> [[UInt8]] {
            var pending = PendingSamples(bound: 256, first: first)
            var newest = [UInt32](repeating: PendingSamples.none, count: 10)
            var labels: [[UInt8]] = []
            for now in 0..<1_000 {
                while let due = pending.popDue(now: now, window: 100) {
                    labels.append([due.row[0], due.row[1], due.isPositive ? 1 : 0])
                }
                let object = now * 7 % 10
                let (number, row) = pending.push(now: now, older: newest[object])
                (row[0], row[1]) = (UInt8(now % 256), UInt8(object))
                newest[object] = number
                if now % 3 > 0 { continue }
                var next = newest[object]
                while let older = pending.label(next) {
                    labels.append([2])
                    next = older
                }
                newest[object] = PendingSamples.none
            }
            return labels
        }
        let expected = labels(first: 0)
        #expect(expected.count > 1_000)
        for first: UInt32 in [1 << 31 - 1, 1 << 31 - 500, .max, .max - 300] {
            #expect(labels(first: first) == expected)
        }
    }

    @Test("The ring grows to its bound and keeps its samples")
    func ringGrowsToItsBoundAndKeepsItsSamples() {
        var pending = PendingSamples(bound: 256)
        var numbers: [UInt32] = []
        for time in 0..<256 {
            let isFull = pending.isFull
            #expect(!isFull)
            let (number, row) = pending.push(now: time, older: PendingSamples.none)
            row[0] = UInt8(time)
            numbers.append(number)
        }
        let isFull = pending.isFull
        #expect(isFull)
        for (time, number) in numbers.enumerated() {
            let isKept = pending.label(number) != nil
            #expect(isKept, "\(time)")
        }
        let bytes = pending.byteCount
        #expect(bytes == 256 * 53)
        for time in 0..<256 {
            let due = pending.popDue(now: time, window: 0)
            #expect(due?.row[0] == UInt8(time) && due?.isPositive == true)
        }
    }
}
