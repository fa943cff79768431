import Foundation
import Testing

@Suite("The pages of promises", .timeLimit(.minutes(20)))
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
        Page(name: "acceptance-cache", rows: Array(1...35) + [53]),
        Page(name: "acceptance-pipeline", rows: Array(36...52)),
    ]

    /// The traps seen elsewhere, as the page names them; what fell into them is known from other libraries.
    private static let traps = [
        "a lock taken again inside an eviction or a callback",
        "cost counted only on store",
        "an error swallowed, and no completion",
        "merging requests that differ in fields or credentials",
        "an expiration changed outside the lock",
        "sweeping once a launch",
        "a retry that skips the prefetcher",
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

    /// The lines of the page's tables in their cells, with the heading that each stands below.
    private func lines(of page: String) throws -> [(heading: String, cells: [String])] {
        let file = Self.root.appendingPathComponent("docs/\(page).md")
        var lines: [(heading: String, cells: [String])] = []
        var heading = ""
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("#") { heading = line.trimmingCharacters(in: CharacterSet(charactersIn: "# ")) }
            guard line.hasPrefix("| ") else { continue }
            lines.append((heading, line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }))
        }
        return lines
    }

    /// What a cell names.
    private func tests(in cell: String?) -> [String] { (cell ?? "").matches(of: /`([^`]+)`/).map { String($0.1) } }

    /// What the last column of the page's tables names, with the row's number where there is one.
    private func named(on page: Page) throws -> [(row: Int?, test: String)] {
        try lines(of: page.name).flatMap { line in
            let row = line.cells.first.flatMap { Int($0) }
            return tests(in: line.cells.last).map { test in (row, row.map { "row \($0): \(test)" } ?? test) }
        }
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

    @Test("each of the seven traps seen elsewhere is on the page of the pipeline, with what is done and its tests")
    func traps() throws {
        let rows = try lines(of: "acceptance-pipeline").filter { $0.heading == "Traps seen elsewhere" }.map(\.cells)
        // The first line says what the columns are.
        #expect(rows.dropFirst().map(\.first) == Self.traps)
        let there = try tests()
        for cells in rows.dropFirst() {
            #expect(cells.count == 3 && !cells[1].isEmpty)
            let named = tests(in: cells.last)
            #expect(!named.isEmpty && there.isSuperset(of: named), "\(cells[0])")
        }
    }
}
