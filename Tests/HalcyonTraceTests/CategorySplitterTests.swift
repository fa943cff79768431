import Testing

@testable import HalcyonTrace

@Suite("Category fields", .timeLimit(.minutes(20)))
struct CategorySplitterTests {
    @Test("A category repeated in a field counts once, at its first place; fields are independent")
    func repeatedCategoryOfAFieldCountsOnce() {
        var random = SeededGenerator(seed: 5)
        var splitter = CategorySplitter()
        var names: [String] = []
        for length in [1, 2, 3, 3, 9, 40, 40, 200] {
            let parts = (0..<length).map { _ in random.next() % 9 == 0 ? "" : "c\(random.next() % 60)" }
            var expected: [String] = []
            for part in parts where !part.isEmpty && !expected.contains(part) { expected.append(part) }
            for name in expected where !names.contains(name) { names.append(name) }
            for _ in 0..<2 {
                let set = splitter.set(of: Array(parts.joined(separator: "|").utf8)[...])
                #expect(splitter.sets[set].map { names[Int($0)] } == expected)
            }
        }
        #expect((0..<names.count).map { String(decoding: splitter.names.utf8(UInt32($0)), as: UTF8.self) } == names)
    }
}
