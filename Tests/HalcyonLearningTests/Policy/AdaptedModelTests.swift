import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

@testable import HalcyonLearning

@Suite("A shared model adapted to each user", .timeLimit(.minutes(20)))
struct AdaptedModelTests {
    /// Returns alternate requests of two users with opposite behaviour. The first requests every object exactly twice. Half of
    /// the requests of the second go to 60 objects, the others to objects that are never requested again.
    private func oppositeUsers(_ count: Int, seed: UInt64) -> [Access] {
        var random = SplitMix64(seed: seed)
        var waiting: [EntryID] = []
        return (0..<count).map { index in
            let user = UInt32(index % 2)
            var entry = EntryID(100 + index)
            if user == 0, waiting.count >= 30 {
                entry = waiting.remove(at: random.next(below: waiting.count))
            } else if user == 0 {
                waiting.append(entry)
            } else if random.next(below: 2) == 0 {
                entry = EntryID(random.next(below: 60))
            }
            return Access(entry: entry, requestNumber: index, time: Int64(index) * 1_000_000, user: user)
        }
    }

    /// Returns the outcomes in two per-user caches that share a model. Only the counts are switched on as features, so that they
    /// do not identify the user.
    private func outcomes(_ accesses: [Access], adapts: Bool, seed: UInt64 = 1) throws -> [AccessOutcome] {
        let policy = try PolicyCatalogue.standard.policy(
            "learned(horizon=0.5,recency=off,time=off,user=off,session=off,popularity=off,activity=off)")
        let model = try #require(policy.makeModel(PolicyContext(capacity: 36, seed: seed)))
        let caches = (0..<2).map { user in
            var context = PolicyContext(capacity: 36, seed: seed &+ UInt64(user))
            context.adaptsModel = adapts
            return policy.makeCache(context, model: model)
        }
        return accesses.map { caches[Int($0.user)].access($0) }
    }

    @Test(
        "With opposite users, adapting the shared model gives more hits",
        arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func oppositeUsers(seed: UInt64) throws {
        let accesses = oppositeUsers(12_000, seed: seed)
        let shared = try outcomes(accesses, adapts: false, seed: seed).count { $0 == .hit }
        let adapted = try outcomes(accesses, adapts: true, seed: seed).count { $0 == .hit }
        #expect(Double(adapted) > Double(shared) * 1.02, "\(adapted) hits beside \(shared)")
    }

    @Test("Equal accesses give equal decisions, and later accesses change none of them")
    func causality() throws {
        let accesses = oppositeUsers(6_000, seed: 4)
        let all = try outcomes(accesses, adapts: true)
        #expect(try outcomes(accesses, adapts: true) == all)
        let prefix = try outcomes(Array(accesses.prefix(3_000)), adapts: true)
        #expect(prefix == Array(all.prefix(3_000)))
        let otherwise = accesses.prefix(3_000) + oppositeUsers(6_000, seed: 5).suffix(3_000)
        #expect(try outcomes(Array(otherwise), adapts: true).prefix(3_000) == all.prefix(3_000))
    }

    @Test("An adapted cache keeps the order of verbs and its bounds")
    func conformance() throws {
        let policy = try PolicyCatalogue.standard.policy("learned")
        for trace in MicroTrace.all {
            var context = trace.context(for: policy, capacity: 40)
            context.adaptsModel = true
            let run = CheckedRun(policy, context)
            let outcomes = run.serve(trace.accesses)
            #expect(run.record.breaches.isEmpty, "\(trace): \(run.record.breaches.prefix(3))")
            #expect(run.cache.state.used <= 40)
            let areSame = CheckedRun(policy, context).serve(trace.accesses, batchesOf: 7) == outcomes
            #expect(areSame, "\(trace)")
        }
    }

    @Test("Caches that share a model count its bytes once, and each its correction of less than 320 bytes")
    func memory() throws {
        let policy = try PolicyCatalogue.standard.policy("learned")
        var context = PolicyContext(capacity: 20)
        let model = try #require(policy.makeModel(context))
        func make(_ context: PolicyContext) -> any AnyCache { policy.makeCache(context, model: model) }
        let first = make(context).state.metadataBytes
        let shared = make(context).state.metadataBytes
        #expect(first.fixed > 100_000 && shared.fixed == 0)
        #expect(first.perNumber == shared.perNumber && first.perResident == shared.perResident)
        context.adaptsModel = true
        for _ in 0..<3 { #expect(make(context).state.metadataBytes.fixed == UserCorrections.bytesEach) }
        #expect(UserCorrections.bytesEach < 320)
    }
}
