import Testing

@testable import HalcyonPrefetch

@Suite("Session continuation", .timeLimit(.minutes(20)))
struct SessionContinuationTests {
    @Test("Pauses have classes of a quarter of an octave, and a first request its own")
    func pausesHaveClassesOfAQuarterOctave() {
        var rates = SessionContinuation()
        #expect(rates.probability(after: 30) == 0.5)
        for _ in 0..<98 { rates.note(30) }
        // 98 decayed by 1/5,000 each: 97.05.
        #expect(abs(rates.probability(after: 30) - 1 / 99.05) < 0.000_1)
        // log₂ 31 = 4.95 and log₂ 27.5 = 4.78 are of one quarter, log₂ 33 = 5.04 is of the next.
        #expect(rates.probability(after: 27) == rates.probability(after: 30))
        for pause: UInt32 in [0, 1, 20, 32, 3_600, 100_000_000, SessionContinuation.firstRequest] {
            #expect(rates.probability(after: pause) == 0.5)
        }
        rates.note(SessionContinuation.firstRequest)
        rates.noteNext(after: SessionContinuation.firstRequest)
        #expect(abs(rates.probability(after: SessionContinuation.firstRequest) - 2.0 / 3) < 0.000_1)
        #expect(rates.probability(after: 100_000_000) == 0.5)
    }

    @Test("Old counts decay, and no probability exceeds 1")
    func oldCountsDecayAndProbabilitiesStayBelowOne() {
        var rates = SessionContinuation()
        for _ in 0..<20_000 { rates.note(60) }
        for _ in 0..<40_000 {
            rates.note(60)
            rates.noteNext(after: 60)
        }
        #expect(rates.probability(after: 60) > 0.99 && rates.probability(after: 60) <= 1)
        for _ in 0..<100 { rates.noteNext(after: 60) }
        #expect(rates.probability(after: 60) == 1)
    }
}
