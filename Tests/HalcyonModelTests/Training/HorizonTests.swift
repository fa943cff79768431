import Testing

@testable import HalcyonModel

@Suite("How far ahead a label looks")
struct HorizonTests {
    @Test("A share of the residents and eight misses more, at the present miss ratio")
    func requests() {
        let horizon = Horizon(reach: 0.25)
        #expect(horizon.requests(residents: 100, missRatio: 0.5) == 66)
        #expect(horizon.requests(residents: 20, missRatio: 1) == 13)
        #expect(horizon.requests(residents: 0, missRatio: 0.5) == 16)
    }

    @Test("A cache that hardly misses still gets its labels")
    func bounds() {
        #expect(Horizon(reach: 16).requests(residents: 1e12, missRatio: 0) == 1_000_000_000)
        #expect(Horizon(reach: 0.25).requests(residents: 8, missRatio: 0) == 10_000)
    }
}
