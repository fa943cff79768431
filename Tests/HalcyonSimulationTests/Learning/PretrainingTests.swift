import HalcyonEviction
import HalcyonLearning
import HalcyonSupport
import Testing

@testable import HalcyonSimulation
@testable import HalcyonTrace

@Suite("Models trained on other users", .timeLimit(.minutes(20)))
struct PretrainingTests {
    /// Requests of 24 users, each with a favourite category; those of the users that `changes` names are for other objects.
    private func trace(
        changing changes: UserPart? = nil, seed: UInt64 = 5, hasOneCategory: Bool = false, userCount: Int = 24
    ) -> Trace {
        var random = SplitMix64(seed: seed)
        var sets = CategorySets()
        let numbers = (0..<6).map { sets.number(of: [hasOneCategory ? 0 : UInt32($0)]) }
        var (entries, users): ([UInt32], [UInt32]) = ([], [])
        for row in 0..<9_600 {
            let user = UInt32(row % userCount)
            let isLiked = random.next(below: 3) > 0
            let category = isLiked ? Int(user) % 6 : random.next(below: 6)
            let unit = random.nextUnit()
            let object = category + 6 * Int(60 * (isLiked ? unit * unit * unit : unit))
            let isChanged = changes?.contains(user) == true
            entries.append(UInt32(isChanged ? object / 2 : object))
            users.append(user)
        }
        return Trace(
            entries: entries, times: TimeColumn((0..<entries.count).map { Int64($0) * 1_000_000 }), users: users,
            objectSizes: [UInt64](repeating: 1, count: 360), objectCategories: (0..<360).map { numbers[$0 % 6] },
            categorySets: sets, categoryCount: hasOneCategory ? 1 : 6, userCount: userCount)
    }

    private func job(_ policy: String = "learned(hidden=4)") throws -> ReplayJob {
        ReplayJob(
            policy: try PolicyCatalogue.standard.policy(policy), capacity: .number(8), mode: .perUser,
            options: ReplayOptions(seed: 3))
    }

    /// Trains on a part of the users of traces as `replay pretrain` does.
    private func model(of traces: [Trace], users: UserPart? = nil) throws -> PretrainedModel {
        let settings = try PolicySpec(parsing: "learned(hidden=4,workload=on)").settings
        return try DeviceTraining(
            traces: traces, users: users, parameters: LearnedParameters().applying(settings, policy: "learned"),
            capacities: [.number(8)], steps: Pretraining.steps, seed: 3
        ).train()
    }

    private func result(of users: UserPart?, _ model: PretrainedModel, over trace: Trace) throws -> RunResult {
        var job = try job()
        job.policy = try PolicyCatalogue.standard.serving(model, mode: .continuing).policy("learned(hidden=4)")
        job.users = users
        return try job.run(over: ReplayInput(trace))
    }

    @Test("Each half is served by the model of the other half, with the labels of the run", arguments: [false, true])
    func halvesServeEachOther(hasOneCategory: Bool) throws {
        let trace = trace(hasOneCategory: hasOneCategory)
        let halves = [UserPart(number: 1, of: 2), UserPart(number: 2, of: 2)]
        let models = try halves.map { try model(of: [trace], users: $0) }
        let parts = [
            try result(of: halves[1], models[0], over: trace), try result(of: halves[0], models[1], over: trace),
        ]
        var job = try job()
        let plain = try job.run(over: ReplayInput(trace))
        job.pretraining = .otherUsers
        let run = try job.run(over: ReplayInput(trace))
        #expect(run.hits == parts[0].hits + parts[1].hits && run.evictions == parts[0].evictions + parts[1].evictions)
        #expect(run.requests == trace.count && run.hits != plain.hits)
        #expect(run.pretrain == "other-users" && plain.pretrain == nil && run.label == plain.label)
        job.users = halves[1]
        #expect(try job.run(over: ReplayInput(trace)).hits == parts[0].hits)
    }

    @Test("A model does not depend on the users that it serves, and depends on its own and their labels")
    func modelsSeeTheirUsersAlone() throws {
        let (own, other) = (UserPart(number: 1, of: 2), UserPart(number: 2, of: 2))
        let bytes = try model(of: [trace()], users: own).data()
        #expect(try model(of: [trace(changing: other)], users: own).data() == bytes)
        #expect(try model(of: [trace(changing: own)], users: own).data() != bytes)
        #expect(try model(of: [trace(hasOneCategory: true)], users: own).data() != bytes)
        #expect(try model(of: [trace()], users: other).data() != bytes)
    }

    @Test("A model of other traces serves all users, and only a policy that names no model begins with one")
    func modelsOfOtherTraces() throws {
        let (trace, others) = (trace(), [trace(seed: 6), self.trace(seed: 7)])
        var job = try job()
        job.pretraining = .traces(["a", "b"])
        let input = ReplayInput(trace)
        let models = try #require(try DeviceModels(for: job, over: input, others: others))
        let run = try job.resolved(for: input).beginning(with: models).run(over: input).result
        #expect(run.hits == (try result(of: nil, model(of: others), over: trace)).hits && run.pretrain == "a,b")
        for policy in ["lru", "learned(model=none)", "learned(model=shipped)", "learned(decider=heuristic)"] {
            var other = try self.job(policy)
            other.pretraining = .otherUsers
            #expect(try DeviceModels(for: other, over: input, others: []) == nil && other.pretrainingKey == nil)
            #expect(try other.run(over: input).pretrain == nil)
        }
    }

    @Test("Parts divide a part, and texts of what models are trained on are read or refused")
    func partsAndTexts() throws {
        for (number, count) in [(1, 1), (1, 2), (2, 2), (2, 3)] {
            let whole = UserPart(number: number, of: count)
            let parts = (1...4).map { whole.divided($0, of: 4) }
            for user in 0..<500 as Range<UInt32> {
                #expect(parts.count { $0.contains(user) } == (whole.contains(user) ? 1 : 0))
            }
        }
        #expect(try Pretraining(parsing: "other-users") == .otherUsers)
        #expect(try Pretraining(parsing: "a.csv, b").description == "a.csv,b")
        for text in ["", "a,,b", "a,a", "other-users,a"] {
            #expect(throws: ReplayError.self) { try Pretraining(parsing: text) }
        }
    }

    @Test("Caches that do not each serve one user, two tiers, streams and small halves are refused")
    func unsuitableJobsAreRefused() throws {
        let input = ReplayInput(trace())
        var jobs = [try job(), try job(), try job()]
        jobs[0].mode = .shared
        jobs[1].knowledge = .server
        jobs[2].tiers = TierOptions(memory: .number(4), disk: .number(8))
        for index in jobs.indices {
            jobs[index].pretraining = .otherUsers
            #expect(throws: ReplayError.self) { try jobs[index].resolved(for: input) }
        }
        var job = try job()
        job.pretraining = .otherUsers
        #expect(throws: ReplayError.self) { try job.resolvedForStream() }
        let few = trace(userCount: 2)
        let sentence =
            "2 users in halves of 0 and 2 are too few to train models on other users: each half needs at least 2."
        #expect(throws: ReplayError.data(sentence)) { try job.resolved(for: ReplayInput(few)) }
    }
}
