import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

@testable import HalcyonBoosting

/// The rules that hold for every policy, for the two that need LightGBM, with trees that need no library.
@Suite("Conformance of LRB and 3L-Cache", .timeLimit(.minutes(20)))
struct BoostingConformanceTests {
    static let capacities = [0, 1, 2, 7, 40, 400, 1 << 40]

    /// Policies that train often, and a window that ends often.
    static let policies = [0, 1, 2, 3, 4]
    private func policy(_ number: Int) -> ConfiguredPolicy {
        switch number {
        case 0: .lrb(AgeTrainer()) { $0.boosting.batch = 50 }
        case 1:
            .lrb(AgeTrainer()) {
                ($0.boosting.batch, $0.window, $0.boosting.sample) = (50, 90, 5)
                $0.boosting.objective = .objectMissRatio
            }
        case 2: .threeLCache(AgeTrainer()) { $0.boosting.batch = 50 }
        case 3:
            .threeLCache(AgeTrainer()) {
                $0.boosting.batch = 20
                $0.boosting.objective = .objectMissRatio
            }
        default: .lrb(AgeTrainer()) { ($0.boosting.batch, $0.window) = (20, 1) }
        }
    }

    @Test("Calls come in order, a victim is resident, and used bytes never exceed the capacity", arguments: policies)
    func callsAreOrderedVictimsResidentAndCapacityKept(number: Int) {
        for trace in MicroTrace.all {
            for capacity in Self.capacities {
                let policy = policy(number)
                let run = CheckedRun(policy, trace.context(for: policy, capacity: capacity))
                var overfull = 0
                for access in trace.accesses {
                    let outcome = run.cache.access(access)
                    if run.cache.contains(access.entry) != (outcome != .refused) { overfull += 1 }
                    let used = run.cache.state.used
                    if used > capacity || used < 0 { overfull += 1 }
                }
                #expect(overfull == 0 && run.record.breaches.isEmpty, "\(number) on \(trace) at \(capacity)")
                if capacity == 1 << 40 { #expect(run.record.victims.isEmpty, "everything fits") }
            }
        }
    }

    @Test("Decisions on a prefix do not depend on later requests, and are equal in every run", arguments: policies)
    func decisionsAreCausalAndRepeatable(number: Int) {
        for trace in MicroTrace.all {
            let context = trace.context(for: policy(number), capacity: 40)
            let whole = CheckedRun(policy(number), context).serve(trace.accesses)
            let again = CheckedRun(policy(number), context).serve(trace.accesses, batchesOf: 64)
            let prefix = CheckedRun(policy(number), context).serve(trace.accesses.prefix(700))
            #expect(whole == again && Array(whole.prefix(700)) == prefix, "\(number) on \(trace)")
        }
    }

    @Test("Entries can be removed at any time", arguments: policies)
    func entriesCanBeRemovedAtAnyTime(number: Int) {
        for trace in MicroTrace.all {
            let cache = policy(number).makeCache(trace.context(for: policy(number), capacity: 40))
            for access in trace.accesses {
                _ = cache.access(access)
                if access.requestNumber % 7 == 0 { cache.remove(access.entry) }
                if access.requestNumber % 7 == 3, access.entry > 2 { cache.remove(access.entry - 2) }
            }
            #expect(cache.state.used <= 40 && cache.state.used >= 0)
        }
    }

    @Test("A recycled number leads to the same decisions as a new one", arguments: policies)
    func recycledNumberIsDecidedLikeANewOne(number: Int) {
        for trace in MicroTrace.all {
            for capacity in [1, 7, 40] {
                let context = trace.context(for: policy(number), capacity: capacity, roomForEntries: false)
                let expected = CheckedRun(policy(number), context).serve(trace.accesses)
                let run = CheckedRun(policy(number), context)
                let outcomes = run.serve(trace.accesses, recyclingEvery: 5).outcomes
                #expect(outcomes == expected && run.record.breaches.isEmpty, "\(number) on \(trace) at \(capacity)")
            }
        }
    }

    @Test("Models are trained at least three times", arguments: policies)
    func modelsAreTrainedRepeatedly(number: Int) {
        let trace = MicroTrace(.mixed, sizes: .varied)
        let cache = policy(number).makeCache(trace.context(for: policy(number), capacity: 400))
        for access in trace.accesses { _ = cache.access(access) }
        let trainings = cache.metrics.first { $0.name == "trainings" }?.value ?? 0
        #expect(trainings >= 3)
    }

    @Test("Before the first model, both policies decide as LRU", arguments: MicroTrace.all.indices, [1, 7, 40, 400])
    func untrainedPoliciesDecideAsLRU(index: Int, capacity: Int) {
        let trace = MicroTrace.all[index]
        let lru = CheckedRun(
            ConfiguredPolicy(LRU.self), trace.context(for: ConfiguredPolicy(LRU.self), capacity: capacity))
        let expected = lru.serve(trace.accesses)
        for policy in [ConfiguredPolicy.lrb(AgeTrainer()), .threeLCache(AgeTrainer())] {
            let run = CheckedRun(policy, trace.context(for: policy, capacity: capacity))
            #expect(run.serve(trace.accesses) == expected && run.record.victims == lru.record.victims)
            #expect(run.cache.metrics.first { $0.name == "trainings" }?.value == 0)
        }
    }

    @Test("Without LightGBM a policy can be named but not configured; with it both are configured")
    func policyWithoutLightGBMIsNamedButNotConfigured() throws {
        for name in ["lrb", "3l-cache(batch=10)"] {
            #expect(try PolicyCatalogue.named.policy(name).label == name)
            switch LightGBM.shared {
            case .success: #expect(try PolicyCatalogue.laboratory.policy(name).label == name)
            case .failure(let missing):
                let error = #expect(throws: PolicyError.self) { try PolicyCatalogue.laboratory.policy(name) }
                let plain = name.prefix { $0 != "(" }
                #expect(error == .conflict("\(plain) needs LightGBM: \(missing)"))
            }
            #expect(throws: PolicyError.self) { try PolicyCatalogue.standard.policy(name) }
        }
        #expect(PolicyCatalogue.named.entries.map(\.info.name).suffix(2) == ["lrb", "3l-cache"])
    }
}
