import Foundation
import HalcyonTrace
import Testing

@Suite("Committed traces", .timeLimit(.minutes(20)))
struct CommittedTracesTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../Traces").standardizedFileURL

    @Test(
        "Each committed trace equals the output of its command, to the byte",
        arguments: ["shop", "feed", "uniform-categories"])
    func committedTraceEqualsItsCommandsOutput(name: String) throws {
        let model = try #require(BrowsingModel.preset(named: name))
        let path = NSTemporaryDirectory() + "halcyon-\(name)-\(UUID().uuidString).csv"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try TraceWriter.writeCSV(model.generate(seed: 1), to: path)
        let committed = try Data(contentsOf: Self.folder.appendingPathComponent("\(name).csv"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == committed)
        #expect(committed.count <= 4_000_000)
        #expect(committed.count { $0 == 10 } > 100_000)
    }

    @Test("shop and uniform-categories differ in their labels only")
    func shopAndUniformCategoriesDifferInLabelsOnly() throws {
        let shop = try Trace.load(Self.folder.appendingPathComponent("shop.csv").path)
        let uniform = try Trace.load(Self.folder.appendingPathComponent("uniform-categories.csv").path)
        #expect(shop.entries == uniform.entries)
        #expect(shop.users == uniform.users)
        #expect(Array(shop.times) == Array(uniform.times))
        #expect(shop.objectCategories != uniform.objectCategories)
    }
}
