import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

@Suite("W-TinyLFU", .timeLimit(.minutes(20)))
struct WTinyLFUTests {
    /// A window of 1, a main part of 3, of which 2 protected.
    ///
    /// a, b, c pass through the window; d is in it. a is hit and protected. e makes d the candidate: d was requested
    /// once, as b, the oldest unprotected entry, so d is evicted; f does the same to e. d is requested again and f is
    /// evicted. Then g makes d the candidate: two requests against one of b, so b is evicted. b returns; g has one
    /// request, as c, and is evicted.
    @Test("The candidate from the window is kept only if it is more frequent than the victim")
    func candidateCompetesWithTheOldestProbationEntry() throws {
        let sequence = WorkedSequence("a- b- c- d- a+ e-d f-e d-f g-b b-g d+")
        #expect(
            try sequence.played(by: "w-tinylfu(window=0.25,protected=0.67)", capacity: 4) == sequence.expected)
    }

    /// A new object larger than the window is a candidate at once, and is refused if the victim is as frequent.
    @Test("A new object larger than the window is a candidate for the main part at once")
    func objectLargerThanTheWindowIsACandidateAtOnce() throws {
        // Window 1 of 4. a fills the main part; b (2) was requested once, as a: refused. Its second request evicts a.
        let sequence = WorkedSequence("a- b! b-a b+", sizes: ["a": 3, "b": 2])
        #expect(try sequence.played(by: "w-tinylfu(window=0.25)", capacity: 4) == sequence.expected)
    }
}

@Suite("Frequency sketch", .timeLimit(.minutes(20)))
struct FrequencySketchTests {
    @Test("An estimate is never too small, at most 15, and mostly exact while there is room")
    func estimateIsNeverTooSmallAndAtMost15() {
        var sketch = FrequencySketch(sampleFactor: 1_000)
        sketch.ensure(entries: 65)
        sketch.ensure(entries: 129)
        sketch.ensure(entries: 257)
        var exact = 0
        for entry in EntryID(0)..<100 {
            for _ in 0..<Int(entry % 20) { sketch.add(entry) }
        }
        for entry in EntryID(0)..<100 {
            let count = min(15, Int(entry % 20))
            #expect(sketch.estimate(entry) >= count)
            exact += sketch.estimate(entry) == count ? 1 : 0
        }
        #expect(exact >= 95)
    }

    @Test("Doubling the sketch keeps every estimate")
    func doublingKeepsEveryEstimate() {
        var sketch = FrequencySketch(sampleFactor: 1_000)
        for entry in EntryID(0)..<200 {
            for _ in 0..<Int(entry % 7) { sketch.add(entry) }
        }
        let before = (EntryID(0)..<400).map { sketch.estimate($0) }
        sketch.ensure(entries: 65)
        #expect(sketch.byteCount == 128 * 8)
        #expect((EntryID(0)..<400).map { sketch.estimate($0) } == before)
    }

    @Test("After a sample all counts are halved")
    func countsAreHalvedAfterASample() {
        var sketch = FrequencySketch(sampleFactor: 1)
        sketch.ensure(entries: 20)
        for _ in 0..<12 { sketch.add(1) }
        #expect(sketch.estimate(1) == 12)
        for _ in 0..<8 { sketch.add(2) }
        #expect(sketch.estimate(1) == 6)
        #expect(sketch.estimate(2) == 4)
    }
}
