import Foundation
import HalcyonEviction
import HalcyonTestSupport
import Testing

@testable import HalcyonLearning

/// Every decision of the learner and of the planner: hits, refusals, victims, fetches, and the weights every 1,000
/// requests, to the bit.
@Suite("Decisions are the same on every processor", .timeLimit(.minutes(20)))
struct DecisionDigestTests {
    static let table = packageFolder.appending(path: "Tests/HalcyonSimulationTests/Exactness/decisions.txt")

    @Test(
        "Each instruction set of the kernels decides as in the committed table", arguments: DecisionCase.allCases,
        PortableKernels.availableLevels)
    func everyInstructionSetDecidesAsTheTable(_ decisions: DecisionCase, level: String) throws {
        let (found, expected) = (try decisions.line(level: level), try expected(decisions))
        #expect(
            found == expected,
            "A change that moves decisions needs a new result version and 'make accept'."
        )
    }

    @Test(
        "A rounding mode and flush-to-zero of the host change no decision and are restored",
        arguments: DecisionCase.allCases)
    func hostFloatingPointModeChangesNoDecision(_ decisions: DecisionCase) throws {
        let expected = try expected(decisions)
        for control in Self.hostEnvironments {
            let found = try decisions.line(level: nil, hostControl: control)
            #expect(found == expected, "\(control)")
        }
    }

    @Test("The table has a line for each case and the present result version")
    func tableHasEveryCaseAndTheResultVersion() throws {
        let lines = try String(contentsOf: Self.table, encoding: .utf8).split(separator: "\n").map(String.init)
        #expect(lines.first == "result version \(Halcyon.resultVersion)")
        #expect(lines.dropFirst().map { String($0.prefix { $0 != " " }) } == DecisionCase.allCases.map(\.rawValue))
    }

    /// `make accept` runs it.
    @Test(
        "HALCYON_RECORD=1 records the table, and refuses decisions that moved without a new result version",
        .enabled(if: ProcessInfo.processInfo.environment["HALCYON_RECORD"] == "1"))
    func record() throws {
        var lines = ["result version \(Halcyon.resultVersion)"]
        for decisions in DecisionCase.allCases {
            let found = Set(try PortableKernels.availableLevels.map { try decisions.line(level: $0) })
            try #require(found.count == 1, "The decisions depend on the instruction set: \(found.sorted())")
            lines += found
        }
        let stored = try String(contentsOf: Self.table, encoding: .utf8)
        let text = lines.joined(separator: "\n") + "\n"
        guard text != stored else { return }
        try #require(
            !stored.hasPrefix(lines[0] + "\n"),
            "Decisions moved and the result version did not: raise Halcyon.resultVersion first.")
        try text.write(to: Self.table, atomically: true, encoding: .utf8)
    }

    private func expected(_ decisions: DecisionCase) throws -> String? {
        try String(contentsOf: Self.table, encoding: .utf8).split(separator: "\n")
            .first { $0.hasPrefix(decisions.rawValue + " ") }.map(String.init)
    }

    #if arch(x86_64)
        /// MXCSR: rounding up; rounding towards zero with flush-to-zero and denormals-are-zero.
        private static let hostEnvironments: [UInt64] = [0x5F80, 0xFFC0]
    #elseif arch(arm64)
        /// FPCR: rounding up; rounding towards zero with flush-to-zero.
        private static let hostEnvironments: [UInt64] = [1 << 22, 3 << 22 | 1 << 24]
    #else
        private static let hostEnvironments: [UInt64] = []
    #endif
}
