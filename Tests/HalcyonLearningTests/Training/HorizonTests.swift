import Testing

@testable import HalcyonLearning

@Suite("How far ahead a label looks")
struct HorizonTests {
    @Test("A share of the residents and eight misses more, at the present miss ratio")
    func requests() {
        let horizon = Horizon(reach: 0.25)
        #expect(horizon.requests(residents: 100, missRatio: 0.5) == 66)
        #expect(horizon.requests(residents: 20, missRatio: 1) == 13)
        #expect(horizon.requests(residents: 0, missRatio: 0.5) == 16)
        #expect(Horizon(reach: 0.25, stretch: 4).requests(residents: 100, missRatio: 0.5) == 216)
    }

    @Test("A cache that hardly misses still gets its labels")
    func bounds() {
        #expect(Horizon(reach: 16, stretch: 16).requests(residents: 1e12, missRatio: 0) == 1_000_000_000)
        #expect(Horizon(reach: 0.25).requests(residents: 8, missRatio: 0) == 10_000)
    }

    /// What the stretch becomes when so many objects come back after these gaps in turn.
    private func stretch(
        from horizon: Horizon, gaps: [UInt32], returns: Int, residents: Int = 100
    ) -> Horizon {
        var horizon = horizon
        for number in 0..<returns {
            let requests = horizon.requests(residents: Double(residents), missRatio: 1)
            horizon.note(gap: gaps[number % gaps.count], horizon: requests, residents: residents)
        }
        return horizon
    }

    @Test(
        "Where next to nothing comes back within it, it doubles, after a hundred returns and at least as many as there are residents",
        arguments: [10, 100, 700])
    func doubling(residents: Int) {
        let wanted = max(100, residents)
        let start = Horizon(reach: 0.2)
        #expect(stretch(from: start, gaps: [100_000], returns: wanted - 1, residents: residents).stretch == 1)
        #expect(stretch(from: start, gaps: [100_000], returns: wanted, residents: residents).stretch == 2)
        #expect(stretch(from: start, gaps: [100_000], returns: wanted * 2, residents: residents).stretch == 4)
        #expect(stretch(from: start, gaps: [100_000], returns: wanted * 9, residents: residents).stretch == 16)
    }

    @Test("One return of ten within it is enough to stay, and one of thirty is not")
    func enough() {
        let rare = Array(repeating: UInt32(1_000), count: 9) + [1]
        #expect(stretch(from: Horizon(reach: 0.2), gaps: rare, returns: 2_000).stretch == 1)
        let rarer = Array(repeating: UInt32(1_000_000), count: 29) + [1]
        #expect(stretch(from: Horizon(reach: 0.2), gaps: rarer, returns: 2_000).stretch > 1)
    }

    @Test("It finds the gaps of a trace, stays there, and goes back when they are short again")
    func followsGaps() {
        // From 50 to 149 requests, and the label waits for 28, 48, 88, ... of them: at 88 some 40 % come back, and none within 44.
        let gaps = (0..<100).map { UInt32(50 + $0 * 37 % 100) }
        let far = stretch(from: Horizon(reach: 0.2), gaps: gaps, returns: 1_000)
        #expect(far.stretch == 4)
        #expect(stretch(from: far, gaps: gaps, returns: 20_000).stretch == 4)
        #expect(stretch(from: far, gaps: [2, 3, 5], returns: 1_000).stretch == 1)
    }
}
