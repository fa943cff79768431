import Foundation
import HalcyonTestSupport
import HalcyonTrace
import Testing

@Suite("Browsing models written during generation", .timeLimit(.minutes(20)))
struct BrowsingCSVTests {
    @Test(
        "The written file equals that of the generated trace, to the byte",
        arguments: ["shop", "feed", "uninformative", "million-users"])
    func writtenFileEqualsTheGeneratedTrace(preset: String) throws {
        var model = try #require(BrowsingModel.preset(named: preset))
        model.requests = 20_000
        model.users = min(model.users, 3_000)
        model.concurrentSessions = min(model.concurrentSessions, 40)
        model.categoryNames[1] = "shoes, \"large\""
        let folder = try TemporaryFolder()
        let path = folder.path + "/streamed.csv.gz"
        let facts = try model.writeCSV(seed: 11, to: path)
        let trace = try model.generate(seed: 11)
        let other = folder.path + "/whole.csv.gz"
        try TraceWriter.writeCSV(trace, to: other)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(contentsOf: URL(fileURLWithPath: other)))
        #expect(facts.requests == trace.count && facts.objects == trace.objectCount)
        #expect(facts.users == trace.userCount && facts.categories == trace.categoryCount)
        #expect(facts.distinctSize == trace.distinctSize && facts.hasSizes == (trace.sizeUnit == .bytes))
    }

    @Test("A name that a CSV cannot hold and an invalid parameter are refused and leave no file")
    func invalidNamesAndParametersLeaveNoFile() throws {
        var model = BrowsingModel.informative
        model.categoryNames = ["a\nb"]
        let folder = try TemporaryFolder()
        let path = folder.path + "/t.csv"
        #expect(throws: TraceError.self) { try model.writeCSV(seed: 1, to: path) }
        model.users = 0
        #expect(throws: GenerationError.self) { try model.writeCSV(seed: 1, to: path) }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("Users of the model million-users have interleaved sessions over the whole period")
    func millionUsersBrowseInInterleavedSessions() throws {
        var model = BrowsingModel.millionUsers
        model.users = 2_000
        model.requests = 200_000
        model.concurrentSessions = 10
        let trace = try model.generate(seed: 2)
        #expect(trace.userCount == 2_000 && trace.categoryCount == 24)
        var (first, last) = ([Int](repeating: .max, count: 2_000), [Int](repeating: 0, count: 2_000))
        for (position, user) in trace.users.enumerated() {
            first[Int(user)] = min(first[Int(user)], position)
            last[Int(user)] = position
        }
        // Each user returns: the first and the last request are most of the period apart.
        let spans = zip(first, last).map { Double($1 - $0) / 200_000 }.sorted()
        #expect(spans[1_000] > 0.6)
        #expect(zip(trace.times, trace.times.dropFirst()).allSatisfy { $0 <= $1 })
    }
}
