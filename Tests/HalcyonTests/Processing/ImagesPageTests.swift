import Foundation
import Testing

@Suite("The page about pictures")
struct ImagesPageTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    /// Every test of this folder as `Suite.function`, with the row that its name begins with.
    private func tests() throws -> [String: Int?] {
        var tests: [String: Int?] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        where name.hasSuffix("Tests.swift") {
            let source = try String(contentsOf: Self.folder.appendingPathComponent(name), encoding: .utf8)
            for match in source.matches(of: /@Test\(\s*"(?:row (\d+): )?[\s\S]*?func (\w+)\(/) {
                tests["\(name.dropLast(6)).\(match.2)"] = .some(match.1.flatMap { Int($0) })
            }
        }
        return tests
    }

    /// What the page's last table names: `Suite.function`, or `.function` of the suite named before, and its row.
    private func named() throws -> [String: Int] {
        let page = Self.folder.appendingPathComponent("../../../Sources/Halcyon/Halcyon.docc/Images.md")
        var named: [String: Int] = [:]
        for line in try String(contentsOf: page, encoding: .utf8).split(separator: "\n") where line.hasPrefix("| 4") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let row = try #require(Int(cells[0]))
            var suite = ""
            for match in cells[2].matches(of: /`(\w*)\.(\w+)`/) {
                if !match.1.isEmpty { suite = String(match.1) }
                named["\(suite).\(match.2)"] = row
            }
        }
        return named
    }

    @Test("it names tests that there are, and every test that carries a row's number")
    func complete() throws {
        let (tests, named) = try (tests(), named())
        #expect(named.keys.filter { tests[$0] == nil }.sorted() == [])
        #expect(tests.filter { $0.value != nil && named[$0.key] == nil }.keys.sorted() == [])
        #expect(tests.filter { test in test.value.map { named[test.key] != $0 } ?? false }.keys.sorted() == [])
        #expect(Set(named.values) == [47, 48, 49])
    }
}
