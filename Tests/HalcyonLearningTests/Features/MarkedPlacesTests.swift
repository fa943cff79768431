import Testing

@testable import HalcyonLearning

@Suite("Marked places", .timeLimit(.minutes(20)))
struct MarkedPlacesTests {
    @Test("A marked number has its place until the next list begins, also after 2²⁴ lists")
    func marksLastUntilTheNextList() {
        var places = MarkedPlaces()
        places.begin()
        places.mark(7, at: 3)
        places.mark(900, at: MarkedPlaces.nowhere)
        #expect(places.place(of: 7) == 3 && places.place(of: 900) == MarkedPlaces.nowhere)
        #expect(places.place(of: 8) == nil && places.place(of: .max) == nil)
        places.begin()
        #expect(places.place(of: 7) == nil)
        // The stamp of a list has 24 bits and wraps around.
        places.mark(7, at: 1)
        for _ in 0..<1 << 24 { places.begin() }
        #expect(places.place(of: 7) == nil)
    }
}
