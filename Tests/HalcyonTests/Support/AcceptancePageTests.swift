import Foundation
import Testing

@Suite("The pages of promises")
struct AcceptancePageTests {
    private static let root: URL = {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        return root
    }()

    /// A page, and the rows that it answers for.
    struct Page: Sendable, CustomTestStringConvertible {
        let name: String
        let rows: [Int]
        var testDescription: String { name }
    }

    private static let pages = [
        Page(name: "ImageCacheAcceptance", rows: Array(1...35) + [53]),
        Page(name: "PipelineAcceptance", rows: Array(36...52)),
    ]

    /// The names of all tests of the cache and its log.
    private func tests() throws -> Set<String> {
        var names: Set<String> = []
        for folder in ["HalcyonTests", "HalcyonAccessLogTests"] {
            let base = Self.root.appendingPathComponent("Tests/\(folder)")
            for path in try FileManager.default.subpathsOfDirectory(atPath: base.path) where path.hasSuffix(".swift") {
                let source = try String(contentsOf: base.appendingPathComponent(path), encoding: .utf8)
                for match in source.matches(of: /@Test\(\s*"([^"]+)"/) { names.insert(String(match.1)) }
            }
        }
        return names
    }

    /// What the last column of the page's tables names, with the row's number where there is one.
    private func named(on page: Page) throws -> [(row: Int?, test: String)] {
        let file = Self.root.appendingPathComponent("Sources/Halcyon/Halcyon.docc/\(page.name).md")
        var named: [(row: Int?, test: String)] = []
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where line.hasPrefix("| ") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let row = cells.first.flatMap { Int($0) }
            for match in (cells.last ?? "").matches(of: /`([^`]+)`/) {
                named.append((row, row.map { "row \($0): \(match.1)" } ?? String(match.1)))
            }
        }
        return named
    }

    @Test("they name tests that there are", arguments: pages)
    func exist(page: Page) throws {
        let (tests, named) = try (tests(), named(on: page))
        #expect(named.count > 80)
        #expect(named.map(\.test).filter { !tests.contains($0) } == [])
    }

    @Test("every row has a test, and every test of a row is named", arguments: pages)
    func complete(page: Page) throws {
        let named = try named(on: page)
        #expect(page.rows.filter { row in !named.contains { $0.row == row } } == [])
        let numbered = try tests().filter { name in
            guard let row = name.prefixMatch(of: #/row (\d+): /#).flatMap({ Int($0.1) }) else { return false }
            return page.rows.contains(row)
        }
        #expect(numbered.subtracting(named.map(\.test)) == [])
    }
}
