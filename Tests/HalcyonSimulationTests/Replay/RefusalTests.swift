import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonSimulation

@Suite("Reports of refused objects", .timeLimit(.minutes(20)))
struct RefusalTests {
    static let policies =
        PolicyCatalogue.standard.entries.map(\.info.name)
        + ["learned(admit=bloom)", "learned(admit=adaptsize,admit-interval=500)", "s3-fifo(admit=size,admit-below=30)"]

    /// 3,000 requests of 300 objects of 1 to 64 bytes.
    private var sized: Trace {
        let trace = TinyTraces.scrambled(count: 3_000, objects: 300)
        return TinyTraces.sized(trace.entries, sizes: (0..<trace.objectCount).map { UInt64($0 * 37 % 64 + 1) })
    }

    @Test("A policy that refuses an object that would fit has the trait and states its rule", arguments: policies)
    func refusingPolicyHasTheTraitAndStatesItsRule(name: String) throws {
        let policy = try PolicyCatalogue.standard.policy(name)
        let input = ReplayInput(sized)
        var refused = 0
        for capacity in [64, 100, 640, 3_000] {
            let result = try ReplayJob(policy: policy, capacity: .number(capacity)).run(over: input)
            #expect(result.refusedTooLarge == 0)
            refused += result.admissionsRefused
        }
        let mayRefuse = policy.info.traits.contains(.hasAdmission)
        if refused > 0 { #expect(mayRefuse, "\(name) refused \(refused) objects") }
        #expect((policy.info.admissionRule != nil) == mayRefuse)
    }

    @Test("Objects larger than the cache are counted separately")
    func objectsLargerThanTheCacheAreCountedSeparately() throws {
        let lru = try PolicyCatalogue.standard.policy("lru")
        let mixed = TinyTraces.sized([0, 1, 0, 1, 1], sizes: [10, 101])
        let result = try ReplayJob(policy: lru, capacity: .number(100)).run(over: ReplayInput(mixed))
        #expect(result.admissionsRefused == 3 && result.refusedTooLarge == 3)
        let uniform = TinyTraces.sized([0, 1, 0], sizes: [500, 500])
        let small = try ReplayJob(policy: lru, capacity: .number(499)).run(over: ReplayInput(uniform))
        #expect(small.admissionsRefused == 3 && small.refusedTooLarge == 3)
        let users = Trace(
            entries: [0, 1, 0], times: TimeColumn(count: 3), users: [0, 1, 0], objectSizes: [7, 200], userCount: 2,
            sizeUnit: .bytes)
        for knowledge in Knowledge.allCases {
            let perUser = try ReplayJob(policy: lru, capacity: .number(100), mode: .perUser, knowledge: knowledge)
                .run(over: ReplayInput(users))
            #expect(perUser.admissionsRefused == 1 && perUser.refusedTooLarge == 1)
        }
    }

    @Test("The report names an s3-fifo that keeps no object, with its rule")
    func reportNamesAPolicyThatKeptNothing() throws {
        // The small queue has 6 of 60 bytes; every object has 7 or 8.
        let trace = TinyTraces.sized([0, 1, 2, 0, 1, 2], sizes: [7, 8, 7])
        let s3 = try PolicyCatalogue.standard.policy("s3-fifo")
        let run = try ReplayJob(policy: s3, capacity: .number(60)).run(over: ReplayInput(trace))
        #expect(run.hits == 0 && run.admissionsRefused == 6 && run.refusedTooLarge == 0)
        let text = ReplayReport(trace: TraceSummary(trace, path: "t"), runs: [run]).table()
        #expect(text.contains("100.00 %"))
        #expect(
            text.contains(
                "s3-fifo: no object was kept; refuses a new object larger than its small queue (small × capacity)."))
    }

    @Test("A capacity below the smallest object gives one note, not one for each policy")
    func capacityBelowTheSmallestObjectIsOneNote() async throws {
        let trace = TinyTraces.sized([0, 1, 0], sizes: [30, 40])
        let runs = try await Sweep(trace: trace, policies: ["lru", "s3-fifo"], capacities: ["20"]).run()
        let text = ReplayReport(trace: TraceSummary(trace, path: "t"), runs: runs).table()
        #expect(text.contains("note: no object fits: the smallest is 30 B, the capacity 20 B.\n"))
        #expect(text.components(separatedBy: "note: ").count == 2)
    }
}
