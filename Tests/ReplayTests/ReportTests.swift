import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonTestSupport
import Testing

@Suite("Formats of a report", .timeLimit(.minutes(20)))
struct ReportTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.file("t.csv", SampleTrace().csv)
    }

    /// All parts of a run's report, from three commands.
    private func fullReports() throws -> [[String: Any]] {
        try [
            ["-p", "lru,arc,belady", "-c", "1%,3KB", "--by", "category", "--by", "user", "--warmup", "0.1"],
            ["-p", "lru", "-c", "1KB", "--per", "user", "--timings"],
            ["-p", "lru", "--tiers", "memory=1KB,disk=5KB"],
        ].map { try Replay.run(["t.csv", "--only", "--format", "json"] + $0, in: folder).json() }
    }

    @Test("JSON has every documented key; ratios are between 0 and 1")
    func jsonHasEveryDocumentedKey() throws {
        let trace: Set = [
            "path", "fingerprint", "requests", "objects", "distinct_size", "size_unit", "users", "categories", "notes",
            "smallest_size", "has_times",
        ]
        let always: Set = [
            "policy", "label", "parameters", "traits", "capacity", "capacity_asked", "capacity_unit", "mode", "caches",
            "requests", "hits", "object_hit_ratio", "byte_hit_ratio", "bytes_fetched", "evictions",
            "admissions_refused", "stale", "warmup_requests", "seed", "seconds", "requests_per_second",
            "metadata_bytes", "metadata_fixed_bytes", "metadata_bytes_per_resident", "metrics", "windows",
            "refused_too_large",
        ]
        let besides: [Set<String>] = [
            ["categories", "users", "breakdown"], ["user_distribution", "timings", "device_metadata"], ["tiers"],
        ]
        for (report, more) in zip(try fullReports(), besides) {
            #expect(
                Set(report.keys) == [
                    "schema", "halcyon_version", "result_version", "build_id", "trace", "runs", "means",
                ])
            #expect(report["schema"] as? String == "halcyon.replay/3")
            #expect(report["result_version"] as? Int == Halcyon.resultVersion)
            #expect(Set(try #require(report["trace"] as? [String: Any]).keys) == trace)
            for run in try #require(report["runs"] as? [[String: Any]]) {
                #expect(Set(run.keys) == always.union(more))
                for ratio in ["object_hit_ratio", "byte_hit_ratio"] {
                    #expect((0...1).contains(try #require(run[ratio] as? Double)))
                }
                let requests = try #require(run["requests"] as? Int)
                let windows = try #require(run["windows"] as? [[String: Int]])
                #expect(windows.reduce(0) { $0 + ($1["requests"] ?? 0) } == requests)
                #expect(windows.reduce(0) { $0 + ($1["hits"] ?? 0) } == run["hits"] as? Int)
            }
        }
    }

    @Test("Every key of a report is documented")
    func everyKeyOfAReportIsDocumented() throws {
        let article = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
            .appendingPathComponent("Sources/HalcyonSimulation/HalcyonSimulation.docc/ReportFormat.md")
        let text = try String(contentsOf: article, encoding: .utf8)
        // These keys contain names of the trace or of a policy.
        let named: Set = ["parameters", "metrics", "categories", "users"]
        func check(_ value: Any, isNamed: Bool = false) {
            if let object = value as? [String: Any] {
                for (key, inner) in object {
                    if !isNamed { #expect(text.contains("`\(key)`"), "\(key)") }
                    check(inner, isNamed: !isNamed && named.contains(key) && inner is [String: Any])
                }
            } else if let list = value as? [Any] {
                for inner in list { check(inner) }
            }
        }
        for report in try fullReports() { check(report) }
        let csv = try Replay.run("t.csv", "--only", "-p", "lru", "-c", "1KB", "--format", "csv", in: folder)
        for column in csv.lines[0].split(separator: ",") { #expect(text.contains("`\(column)`"), "\(column)") }
    }

    @Test("CSV has a header and a row per run, JSON lines a flat object per row with the same names and values")
    func csvAndJSONLinesHaveTheSameRows() throws {
        let arguments = ["t.csv", "--only", "-p", "lru,s3-fifo(small=0.2,ghost=0.5)", "-c", "1KB,3KB"]
        let csv = try Replay.run(arguments + ["--format", "csv"], in: folder).lines
        #expect(csv.count == 5)
        #expect(csv[0].hasPrefix("trace,fingerprint,mode,policy,label,capacity,"))
        #expect(csv[3].contains(",s3-fifo,\"s3-fifo(small=0.2,ghost=0.5)\",1000,1KB,bytes,1,1500,"))
        let lines = try Replay.run(arguments + ["--format", "jsonl"], in: folder).lines
        #expect(lines.count == 4)
        let detailed = arguments + ["--by", "category", "--by", "user", "--prefetch", "planner", "--timings"]
        for arguments in [arguments, detailed] {
            let rows = try Replay.run(arguments + ["--format", "csv"], in: folder).lines.map(Self.fields)
            let lines = try Replay.run(arguments + ["--format", "jsonl"], in: folder).lines
            #expect(lines.count == rows.count - 1)
            for (line, row) in zip(lines, rows.dropFirst()) {
                let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
                #expect(Set(object.keys) == Set(rows[0]) && row.count == rows[0].count)
                for (name, field) in zip(rows[0], row) where !Self.isMeasured(name) {
                    switch object[name] {
                    case let text as String: #expect(text == field && Double(field) == nil, "\(name)")
                    // The digits are those of the CSV; Foundation's parser rounds some of them differently.
                    case is NSNumber:
                        #expect(line.contains("\"\(name)\":\(field)\(name == rows[0].last ? "}" : ",")"), "\(name)")
                    default: #expect(object[name] is NSNull && field.isEmpty, "\(name)")
                    }
                }
            }
        }
    }

    /// Whether a column depends on the machine.
    private static func isMeasured(_ name: String) -> Bool {
        ["seconds", "requests_per_second", "planning_us"].contains(name) || name.hasSuffix("_ns")
    }

    /// The fields of a row of CSV whose quotes are those of commas.
    private static func fields(_ row: String) -> [String] {
        var (fields, isQuoted) = ([""], false)
        for character in row {
            switch character {
            case "\"": isQuoted.toggle()
            case "," where !isQuoted: fields.append("")
            default: fields[fields.count - 1].append(character)
            }
        }
        return fields
    }

    @Test(
        "Every report names the kernels of its policies; the table those that depend on the processor")
    func reportsNameTheKernelsOfTheirPolicies() throws {
        let arguments = ["t.csv", "--only", "-c", "1KB", "-p", "lru,learned,learned(kernels=system)"]
        let runs = try Replay.run(arguments + ["--format", "json"], in: folder).runs()
        #expect(runs[0]["kernels"] == nil)
        let found = try runs.dropFirst().map { try #require($0["kernels"] as? [String: String]) }
        let portable = ["name": "portable", "implementation": Kernels.portable.implementation]
        let system = ["name": "system", "implementation": Kernels.system.implementation]
        #expect(found == [portable, system])
        let csv = try Replay.run(arguments + ["--format", "csv"], in: folder).lines
        let rows = csv.map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        let column = try #require(rows[0].firstIndex(of: "kernels"))
        let version = try #require(rows[0].firstIndex(of: "result_version"))
        #expect(rows.dropFirst().map { $0[column] } == ["", "portable", "system"])
        #expect(rows.dropFirst().allSatisfy { $0[version] == "\(Halcyon.resultVersion)" })
        let note = "note: kernels: \(Kernels.system.implementation); results depend on the processor.\n"
        #expect(try Replay.run(arguments, in: folder).text.contains(note))
        let exact = try Replay.run("t.csv", "--only", "-c", "1KB", "-p", "lru,learned", in: folder)
        #expect(exact.code == 0 && !exact.text.contains("kernels"))

        let fetching = [
            "t.csv", "--only", "-c", "1KB", "-p", "lru", "--prefetch", "popular,planner,planner(kernels=system)",
        ]
        let prefetched = try Replay.run(fetching + ["--format", "json"], in: folder).runs()
            .map { try #require($0["prefetch"] as? [String: Any]) }
        #expect(prefetched.map { $0["kernels"] as? [String: String] } == [nil, portable, system])
        #expect(try Replay.run(fetching, in: folder).text.contains(note))
        let fetched = try Replay.run(fetching + ["--format", "csv"], in: folder).lines
        let name = try #require(
            fetched[0].split(separator: ",", omittingEmptySubsequences: false).firstIndex(of: "prefetch_kernels"))
        #expect(
            fetched.dropFirst().map { $0.split(separator: ",", omittingEmptySubsequences: false)[name] }
                == ["", "portable", "system"])
    }

    @Test("The table is aligned with the optimum last, and has no escape codes without a terminal")
    func tableIsAlignedWithoutEscapeCodes() throws {
        let outcome = try Replay.run(
            "t.csv", "--only", "-p", "belady,fifo,lru", "-c", "2KB,4KB", in: folder, environment: ["NO_COLOR": ""])
        #expect(!outcome.text.contains("\u{1B}"))
        let paragraphs = outcome.text.components(separatedBy: "\n\n")
        // The header, two tables, and the notes that both share.
        #expect(paragraphs.count == 4)
        #expect(paragraphs[3].contains("sizes vary, so belady is a mark and not the optimum."))
        #expect(paragraphs[0].hasPrefix("t.csv: 1,500 requests, "))
        for paragraph in paragraphs.dropFirst().prefix(2) {
            let all = paragraph.split(separator: "\n")
            let lines = all.filter { !$0.hasPrefix("  note: ") }
            #expect(lines[0].hasPrefix("capacity "))
            #expect(lines[1].hasPrefix("policy  hit ratio  byte hit ratio  gap closed"))
            #expect(lines.dropFirst(2).map { $0.prefix { $0 != " " } } == ["fifo", "lru", "belady"])
            #expect(lines[3].contains("  0.00 %"))
            #expect(lines[4].contains("100.00 %"))
            #expect(Set(lines.dropFirst().map(\.count)).count == 1)
        }
    }
}
