import Foundation
import HalcyonLearning
import HalcyonTestSupport
import Testing

@Suite("Kernels on the command line", .timeLimit(.minutes(20)))
struct KernelsCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.file("t.csv", ModelCommandTests.popularAndNew(requests: 3_000))
    }

    private func run(_ arguments: String..., level: String? = nil) throws -> Outcome {
        try Replay.run(
            ["t.csv", "--only", "-c", "60", "--format", "json"] + arguments, in: folder,
            environment: level.map { [PortableKernels.environmentVariable: $0] } ?? [:])
    }

    @Test(
        "HALCYON_KERNELS selects an instruction set; all give the same report except times")
    func everyInstructionSetGivesTheSameReport() throws {
        var found: Set<String> = []
        // Times, and bytes, which depend on how the allocator rounds.
        let measured = [
            "seconds", "requests_per_second", "kernels", "planning_microseconds", "metadata_bytes",
            "metadata_fixed_bytes",
            "metadata_bytes_per_resident",
        ]
        for level in PortableKernels.availableLevels {
            var run = try #require(try run("-p", "learned", "--prefetch", "planner", level: level).runs().first)
            for name in measured { run[name] = nil }
            if var prefetch = run["prefetch"] as? [String: Any] {
                for name in measured { prefetch[name] = nil }
                run["prefetch"] = prefetch
            }
            let data = try JSONSerialization.data(withJSONObject: run, options: [.sortedKeys])
            found.insert(String(decoding: data, as: UTF8.self))
        }
        #expect(found.count == 1, "\(found)")
    }

    @Test("An unknown instruction set is a usage error in one sentence", arguments: ["mmx", " ", "AVX2"])
    func unknownInstructionSetIsAUsageError(level: String) throws {
        for arguments in [["t.csv"], ["inspect", "t.csv"], []] {
            let outcome = try Replay.run(
                arguments, in: folder, environment: [PortableKernels.environmentVariable: level])
            let names = PortableKernels.availableLevels.joined(separator: ", ")
            #expect(
                (outcome.code, outcome.errors) == (
                    64,
                    "replay: HALCYON_KERNELS: '\(level)' is not an instruction set of the portable kernels: give one of \(names).\n"
                ))
        }
    }

    @Test("kernels=system is accepted in learned, the planner and explain")
    func systemKernelsCanBeSelected() throws {
        let run = try #require(
            try run("-p", "learned(kernels=system)", "--prefetch", "planner(kernels=system)").runs().first)
        #expect(run["label"] as? String == "learned(kernels=system)")
        #expect((run["parameters"] as? [String: String])?["kernels"] == "system")
        let explained = try Replay.run(
            "explain", "t.csv", "-c", "60", "-p", "learned(kernels=system)", "--format", "json", in: folder)
        #expect(explained.code == 0, "\(explained.errors)")
        let wrong = try self.run("-p", "learned(kernels=cuda)")
        #expect(wrong.code == 64)
        #expect(wrong.errors.contains("portable, system"), "\(wrong.errors)")
    }
}
