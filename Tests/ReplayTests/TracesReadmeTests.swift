import Foundation
import HalcyonTestSupport
import HalcyonTrace
import Testing

@Suite("Traces/README.md", .timeLimit(.minutes(20)))
struct TracesReadmeTests {
    private let lines: [Substring]

    init() throws {
        let text = try String(contentsOf: packageFolder.appending(path: "Traces/README.md"), encoding: .utf8)
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    }

    private func cells(_ line: Substring) -> [String] {
        line.replacing("\\|", with: " ").split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test("Each table has a header and a rule, and all its rows have the same number of cells")
    func tablesHaveAHeaderARuleAndEqualRows() {
        var tables = 0
        for (number, line) in lines.enumerated() where line.hasPrefix("|") {
            let isFirst = number == 0 || !lines[number - 1].hasPrefix("|")
            if isFirst {
                tables += 1
                #expect(lines[number + 1].hasPrefix("|--") || lines[number + 1].hasPrefix("|-"), "line \(number + 1)")
            } else {
                #expect(cells(line).count == cells(lines[number - 1]).count, "line \(number + 1)")
            }
        }
        #expect(tables == 14)
    }

    @Test("The table of formats has every format with its extensions")
    func formatTableHasEveryFormat() {
        for format in TraceFormat.allCases {
            let row = lines.map(cells).first { $0.first == "`\(format.rawValue)`" }
            let extensions = row?[1].split(separator: ", ").map { $0.trimmingCharacters(in: ["`"]) } ?? []
            #expect(!extensions.isEmpty, "\(format)")
            for name in extensions { #expect(TraceFormat(path: "x\(name)") == format, "\(name)") }
        }
    }

    @Test("Both tables of presets have every preset, one with the command that converts it")
    func presetTablesHaveEveryPreset() {
        for preset in TracePreset.allCases {
            let rows = lines.map(cells).filter { $0.first == "`--preset \(preset.rawValue)`" }
            #expect(rows.count == 2, "\(preset)")
            #expect(rows.first?[2].hasPrefix("`replay convert --preset \(preset.rawValue) ") == true, "\(preset)")
        }
    }

    @Test("The table of columns has the names that are recognized")
    func columnTableHasTheRecognizedNames() throws {
        let folder = try TemporaryFolder()
        for role in ColumnUse.Role.allCases {
            let row = lines.map(cells).first { $0.first == "`\(role.rawValue)`" }
            let names = row?[1].split(separator: ", ").map { $0.trimmingCharacters(in: ["`"]) } ?? []
            #expect(!names.isEmpty)
            for name in names {
                let (header, line) =
                    switch role {
                    case .key: (name, "a")
                    case .event: ("key,\(name)", "a,opened")
                    case .position, .list: ("key,event,\(name)", "a,opened,1")
                    case .time, .size, .category, .user: ("key,\(name)", "a,1")
                    }
                let trace = try Trace.load(folder.file("t.csv", "\(header)\n\(line)\n"))
                #expect(trace.report.columns.used.contains { $0.role == role && $0.name == name }, "\(name)")
            }
        }
    }
}
