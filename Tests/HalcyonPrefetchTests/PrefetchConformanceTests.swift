import HalcyonEviction
import HalcyonPrefetch
import Testing

/// The rules that hold for every prefetch policy, run on every policy of the catalogue.
@Suite("Conformance of every prefetch policy in the catalogue", .timeLimit(.minutes(20)))
struct PrefetchConformanceTests {
    static let names = PrefetchCatalogue.entries.map(\.name)

    @Test("Names are in kebab case, unique, and found", arguments: names)
    func namesAreUniqueFoundAndInKebabCase(name: String) throws {
        let entry = try #require(PrefetchCatalogue.entry(named: name))
        let isKebab = name.allSatisfy { $0.isLowercase || $0.isNumber || $0 == "-" }
        #expect(isKebab && name != "none" && !entry.summary.isEmpty)
        #expect(Self.names.filter { $0 == name } == [name])
    }

    @Test("A plan has at most `limit` objects, none held, none twice", arguments: names)
    func planStaysWithinItsLimit(name: String) throws {
        let entry = try #require(PrefetchCatalogue.entry(named: name))
        for limit in [0, 1, 2, 50] {
            let run = PrefetchTestRun(entry, limit: limit)
            run.serve(PrefetchTestRun.requests(1_500, seed: 1))
            #expect(run.breaches.isEmpty, "\(name) at most \(limit): \(run.breaches.prefix(3))")
            let planned = run.plans.reduce(0) { $0 + $1.count }
            #expect((planned > 0) == (limit > 0), "\(name) plans \(planned) in all, at most \(limit) a request")
        }
    }

    @Test("Proposed objects were requested, announced or shown before", arguments: names)
    func proposedObjectsWereRequestedOrAnnounced(name: String) throws {
        let entry = try #require(PrefetchCatalogue.entry(named: name))
        let run = PrefetchTestRun(entry, limit: 4, keysAreNumbers: false)
        let requests = PrefetchTestRun.requests(1_500, seed: 2)
        run.serve(requests)
        var known: Set<UInt32> = []
        var unknown = 0
        for (request, plan) in zip(requests, run.plans) {
            known.insert(request.access.object)
            if let announced = request.announced { known.insert(announced.object) }
            if entry.traits.contains(.usesLists) { known.formUnion(request.shown) }
            unknown += plan.count { !known.contains($0) }
        }
        #expect(unknown == 0)
    }

    @Test("Plans on a prefix do not depend on later requests or announcements", arguments: names)
    func plansDoNotDependOnLaterRequests(name: String) throws {
        let entry = try #require(PrefetchCatalogue.entry(named: name))
        let prefix = Array(PrefetchTestRun.requests(900, seed: 3))
        let alone = PrefetchTestRun(entry, limit: 3)
        alone.serve(prefix)
        for seed in UInt64(4)...5 {
            let whole = PrefetchTestRun(entry, limit: 3)
            whole.serve(prefix + PrefetchTestRun.requests(600, seed: seed, from: 900))
            let stands = Array(whole.plans.prefix(prefix.count)) == alone.plans
            #expect(stands, "\(name)")
        }
    }

    @Test("The same seed gives the same plans, with room reserved or growing", arguments: names)
    func sameSeedGivesTheSamePlans(name: String) throws {
        let entry = try #require(PrefetchCatalogue.entry(named: name))
        let requests = PrefetchTestRun.requests(1_500, seed: 6)
        let first = PrefetchTestRun(entry, limit: 3)
        first.serve(requests)
        for objects in [0, 1, 400] {
            let again = PrefetchTestRun(entry, limit: 3, objects: objects)
            again.serve(requests)
            let areSame = again.plans == first.plans
            #expect(areSame, "\(name) with room for \(objects)")
        }
    }

    @Test("Exactly the policies named visit-… plan between requests", arguments: names)
    func onlyVisitPoliciesPlanBetweenRequests(name: String) throws {
        let entry = try #require(PrefetchCatalogue.entry(named: name))
        let policy = entry.make(PrefetchContext(cachesPerUser: true))
        #expect(policy.plansBetweenRequests == name.hasPrefix("visit-"))
    }

    @Test("Exactly the policies named list… plan on lists", arguments: names)
    func onlyListPoliciesPlanOnLists(name: String) throws {
        let entry = try #require(PrefetchCatalogue.entry(named: name))
        let policy = entry.make(PrefetchContext())
        #expect(
            policy.plansOnLists == name.hasPrefix("list") && entry.traits.contains(.usesLists) == policy.plansOnLists)
        var plan = PrefetchPlan()
        policy.plan(
            on: ShownList(user: 0, time: 0, items: []),
            outlook: PrefetchOutlook(limit: 5, room: .max, holds: { _ in false }), into: &plan)
        #expect(plan == PrefetchPlan())
    }

    @Test("Without requests nothing is proposed", arguments: names)
    func nothingIsProposedWithoutRequests(name: String) throws {
        let entry = try #require(PrefetchCatalogue.entry(named: name))
        let policy = entry.make(PrefetchContext())
        var plan = PrefetchPlan()
        let outlook = PrefetchOutlook(limit: 5, room: .max, holds: { _ in false })
        policy.plan(after: Access(entry: 0), outlook: outlook, into: &plan)
        #expect(plan == PrefetchPlan())
        policy.evicted(3, from: 4)
        policy.note(Access(entry: 0, categories: 77), isHit: false)
        policy.plan(after: Access(entry: 0, categories: 77), outlook: outlook, into: &plan)
        #expect(plan == PrefetchPlan(), "there is only one object")
        let fresh = entry.make(PrefetchContext(cachesPerUser: true))
        fresh.plan(at: PlanningMoment(.visitEnd, user: 3, time: 1), outlook: outlook, into: &plan)
        #expect(plan == PrefetchPlan())
    }

    @Test("Huge numbers of objects, users and categories need less than 256 MB", arguments: names)
    func hugeNumbersNeedLittleMemory(name: String) throws {
        let entry = try #require(PrefetchCatalogue.entry(named: name))
        let policy = entry.make(PrefetchContext(nextByKey: { $0 &+ 1 }))
        let base = UInt32.max - 40
        for set in base..<UInt32.max { policy.define(categorySet: set, members: [set, .max, 1]) }
        policy.define(categorySet: 1, members: [base, .max])
        var random = SplitMix64(seed: 8)
        var breaches = 0
        for index in 0..<600 {
            let object = base + UInt32(random.next(below: 39))
            let set = index % 3 == 0 ? 1 : base + UInt32(random.next(below: 39))
            let user = UInt32.max - UInt32(random.next(below: 3))
            if index % 50 == 0 {
                policy.announce(AnnouncedObject(object: .max - 1, categories: set, size: .max, time: .max))
            }
            var onList = PrefetchPlan()
            policy.plan(
                on: ShownList(
                    user: user, time: .max, items: [ShownList.Item(object: object, categories: set, size: .max)]),
                outlook: PrefetchOutlook(limit: 2, room: 0, capacity: 8, holds: { $0 == object }), into: &onList)
            if !onList.proposals.isEmpty { breaches += 1 }
            let access = Access(
                entry: 0, requestNumber: index, size: index % 2, categories: set, user: user, object: object)
            policy.note(access, isHit: random.next(below: 2) == 0)
            policy.evicted(object, from: user)
            var plan = PrefetchPlan()
            let outlook = PrefetchOutlook(limit: 2, room: 0, holds: { $0 == object || $0 == .max })
            policy.plan(after: access, outlook: outlook, into: &plan)
            if plan.proposals.count > 2 || plan.proposals.contains(where: { $0.object == object }) { breaches += 1 }
        }
        #expect(breaches == 0)
        #expect(policy.metadataBytes < 1 << 28, "\(name): \(policy.metadataBytes) bytes")
    }
}
