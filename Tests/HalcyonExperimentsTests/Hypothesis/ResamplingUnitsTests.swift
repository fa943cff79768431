import HalcyonTraceTestSupport
import HalcyonTrace
import Testing

@testable import HalcyonExperiments
@testable import HalcyonSimulation

@Suite(.timeLimit(.minutes(20))) struct ResamplingUnitsTests {
    private func trace(_ users: [UInt32]) -> Trace {
        TinyTraces.unit((0..<users.count).map { UInt32($0 % 50) }, users: users)
    }

    @Test func manyUsersAreTheUnits() {
        let units = ResamplingUnits(trace((0..<UInt32(4_000)).map { $0 % 40 }), warmup: 0.25, seed: 1)
        #expect(units.kind == .users)
        #expect(units.weights == Array(repeating: 75, count: 40))
        #expect(units.replayOptions.byUser)
    }

    @Test func fewUsersGiveTimeBlocks() {
        let units = ResamplingUnits(trace((0..<UInt32(4_000)).map { $0 % 29 }), warmup: 0.25, seed: 1)
        #expect(units.kind == .timeBlocks)
        #expect(units.weights.reduce(0, +) == 3_000)
        #expect(units.weights.count == 125)
        #expect(units.weights.allSatisfy { $0 == 24 })
    }

    @Test func oneDominantUserGivesTimeBlocks() {
        let users = (0..<UInt32(4_000)).map { (position: UInt32) -> UInt32 in
            position % 10 == 0 ? position / 10 % 60 + 1 : 0
        }
        #expect(ResamplingUnits(trace(users), warmup: .none, seed: 1).kind == .timeBlocks)
    }

    @Test func manyRequestsWithoutUserGiveTimeBlocks() {
        func users(every: Int) -> [UInt32] {
            (0..<4_000).map { (position: Int) -> UInt32 in
                position % every == 0 ? Trace.noUser : UInt32(position % 41)
            }
        }
        #expect(ResamplingUnits(trace(users(every: 20)), warmup: .none, seed: 1).kind == .users)
        #expect(ResamplingUnits(trace(users(every: 5)), warmup: .none, seed: 1).kind == .timeBlocks)
    }

    @Test func veryManyUsersFormGroups() {
        let units = ResamplingUnits(trace((0..<UInt32(10_000)).map { $0 % 5_000 }), warmup: .none, seed: 1)
        #expect(units.weights.count == 2_000)
        #expect(units.weights.reduce(0, +) == 10_000)
        // 5,000 users in 2,000 groups: two or three each, of two requests.
        #expect(Set(units.weights) == [4, 6])
    }

    @Test func hitsByUnitAddUp() throws {
        for userCount: UInt32 in [10, 40] {
            let trace = TinyTraces.scrambled(count: 6_000, objects: 300, users: userCount)
            let units = ResamplingUnits(trace, warmup: 0.25, seed: 1)
            let lru = try HypothesisLearner().baselines[0]
            let job = ReplayJob(policy: lru, capacity: .number(50), options: units.replayOptions)
            let input = ReplayInput(trace)
            let counts = try job.resolved(for: input).run(over: input).recorder
            #expect(units.kind == (userCount == 10 ? .timeBlocks : .users))
            #expect(units.hits(counts).reduce(0, +) == Double(counts.total.hits))
            #expect(units.weights.reduce(0, +) == Double(counts.total.requests))
        }
    }
}
