import Testing

@testable import HalcyonLearning

@Suite("The label window", .timeLimit(.minutes(20)))
struct LabelWindowTests {
    @Test("The window is a ratio of a cache turnover and eight more misses at the present miss ratio")
    func windowIsARatioOfTheTurnoverPlusEightMisses() {
        let window = LabelWindow(base: 0.25)
        #expect(window.requests(residents: 100, missRatio: 0.5) == 66)
        #expect(window.requests(residents: 20, missRatio: 1) == 13)
        #expect(window.requests(residents: 0, missRatio: 0.5) == 16)
        #expect(LabelWindow(base: 0.25, multiplier: 4).requests(residents: 100, missRatio: 0.5) == 216)
    }

    @Test("With variable sizes the window has 64 more misses instead of eight")
    func windowWithVariableSizesHas64MoreMisses() {
        let window = LabelWindow(base: 0.25)
        #expect(window.requests(residents: 100, missRatio: 0.5, usesUniformSizes: false) == 178)
        #expect(window.requests(residents: 0, missRatio: 0.5, usesUniformSizes: false) == 128)
    }

    @Test("Without misses the window is bounded, so that samples get their labels")
    func windowIsBoundedWithoutMisses() {
        #expect(LabelWindow(base: 16, multiplier: 16).requests(residents: 1e12, missRatio: 0) == 1_000_000_000)
        #expect(LabelWindow(base: 0.25).requests(residents: 8, missRatio: 0) == 10_000)
    }

    /// Returns the window after so many accesses to remembered objects with these gaps in turn.
    private func adapted(
        from start: LabelWindow, gaps: [Int], returns: Int, residents: Int = 100
    ) -> LabelWindow {
        var window = start
        for number in 0..<returns {
            let requests = window.requests(residents: Double(residents), missRatio: 1)
            window.countReturn(gap: gaps[number % gaps.count], window: requests, residents: residents)
        }
        return window
    }

    @Test(
        "The window doubles if almost no object returns within it, after max(100, residents) returns",
        arguments: [10, 100, 700])
    func windowDoublesIfNoObjectReturnsWithinIt(residents: Int) {
        let wanted = max(100, residents)
        let start = LabelWindow(base: 0.2)
        #expect(adapted(from: start, gaps: [100_000], returns: wanted - 1, residents: residents).multiplier == 1)
        #expect(adapted(from: start, gaps: [100_000], returns: wanted, residents: residents).multiplier == 2)
        #expect(adapted(from: start, gaps: [100_000], returns: wanted * 2, residents: residents).multiplier == 4)
        #expect(adapted(from: start, gaps: [100_000], returns: wanted * 9, residents: residents).multiplier == 16)
    }

    @Test("One return in ten within the window keeps it, one in thirty does not")
    func oneReturnInTenKeepsTheWindow() {
        let rare = Array(repeating: 1_000, count: 9) + [1]
        #expect(adapted(from: LabelWindow(base: 0.2), gaps: rare, returns: 2_000).multiplier == 1)
        let rarer = Array(repeating: 1_000_000, count: 29) + [1]
        #expect(adapted(from: LabelWindow(base: 0.2), gaps: rarer, returns: 2_000).multiplier > 1)
    }

    @Test("The window adapts to the gaps of a trace, is stable there, and shrinks with short gaps")
    func windowFollowsTheGapsOfATrace() {
        // The gaps are 50 to 149 requests, the windows 28, 48, 88, …: some 40 % return within 88 and none within 44.
        let gaps = (0..<100).map { 50 + $0 * 37 % 100 }
        let far = adapted(from: LabelWindow(base: 0.2), gaps: gaps, returns: 1_000)
        #expect(far.multiplier == 4)
        #expect(adapted(from: far, gaps: gaps, returns: 20_000).multiplier == 4)
        #expect(adapted(from: far, gaps: [2, 3, 5], returns: 1_000).multiplier == 1)
    }
}
