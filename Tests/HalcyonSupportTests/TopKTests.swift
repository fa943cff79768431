import Testing

@testable import HalcyonSupport

@Suite("The elements with the highest scores", .timeLimit(.minutes(20)))
struct TopKTests {
    @Test("Insertion equals a stable sort, cut off at the limit", arguments: [0, 1, 3, 8, 100])
    func insertionEqualsAStableSort(limit: Int) {
        var top = TopK<Int, Int>(limit: limit)
        let scores = (0..<60).map { $0 * 37 % 11 }
        for (element, score) in scores.enumerated() {
            let isAccepted = top.accepts(score)
            top.insert(element, score: score)
            #expect(top.entries.contains { $0.element == element } == isAccepted)
        }
        let expected = scores.indices.sorted { (scores[$1], $0) < (scores[$0], $1) }.prefix(limit)
        #expect(top.entries.map(\.element) == Array(expected))
        top.reset(limit: 2)
        #expect(top.entries.isEmpty && top.limit == 2)
    }

    @Test("A raised element is present once, with its highest score")
    func raisedElementIsPresentOnce() {
        var top = TopK<String, Float>(limit: 2)
        top.raise("a", to: 2)
        top.raise("b", to: 1)
        top.raise("a", to: 1)
        #expect(top.entries.map(\.element) == ["a", "b"])
        top.raise("b", to: 2)
        #expect(top.entries.map(\.element) == ["a", "b"], "after the element of the same score")
        top.raise("b", to: 3)
        top.raise("c", to: 2.5)
        #expect(top.entries.map(\.element) == ["b", "c"] && top.entries.map(\.score) == [3, 2.5])
    }
}
