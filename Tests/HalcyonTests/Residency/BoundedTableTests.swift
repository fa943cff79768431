import HalcyonEviction
import Testing

@testable import HalcyonCache

@Suite("Tables that callers can grow are bounded", .timeLimit(.minutes(20)))
struct BoundedTableTests {
    @Test("A user beyond the bound has no number; earlier users keep theirs")
    func userBeyondBoundHasNoNumber() {
        let users = UserNumbers()
        #expect((0..<UserNumbers.most).allSatisfy { users.number(of: "u\($0)") == UInt32($0) })
        #expect(UserNumbers.most == 65_536)
        #expect(users.number(of: "one more") == .max)
        #expect(users.number(of: nil) == .max)
        #expect(users.number(of: "u65535") == 65_535 && users.number(of: "u0") == 0)
    }

    @Test("Users beyond the bound are served without a user number")
    func usersBeyondBoundAreServedWithoutNumber() {
        let memory = MemoryStorage<Blob>(config: .lasting(cost: 10), policy: RecordingPolicy.self, seed: 4_001)
        memory.store(value: Blob(), forKey: "a")
        for number in 0..<UserNumbers.most {
            _ = memory.value(forKey: "a", context: AccessContext(user: "u\(number)"))
        }
        let asked = ["u7", "new", "u7", "newer", "u65535"]
        for user in asked { #expect(memory.value(forKey: "a", context: AccessContext(user: user)) != nil) }
        _ = memory.count
        let last = RecordingPolicy.calls(seed: 4_001).suffix(asked.count).map { call -> UInt32? in
            if case .hit(let access) = call { access.user } else { nil }
        }
        #expect(last == [7, .max, 7, .max, 65_535])
    }

    @Test("Lists of categories are dropped at the bound and get the same set again")
    func categoryListsAreBounded() {
        var table = CategoryInterner()
        let names = (0..<100).map { "c\($0)" }
        for (step, name) in names.enumerated() { #expect(table.set(of: [name]) == (UInt32(step + 1), true)) }
        // 10,000 lists, of which each names one of the sets that exist.
        var (mostLists, wrong) = (0, 0)
        for repeats in 2..<102 {
            for (step, name) in names.enumerated() {
                let found = table.set(of: Array(repeating: name, count: repeats))
                if found != (UInt32(step + 1), false) { wrong += 1 }
                mostLists = max(mostLists, table.lists.count)
            }
        }
        #expect(wrong == 0 && mostLists == CategoryInterner.mostLists)
        #expect(CategoryInterner.mostLists == 4_096 && table.members.count == 101 && table.names == names)
        #expect(table.knownSet(of: ["c0"]) == nil && table.set(of: ["c0"]) == (1, false))
        #expect(table.knownSet(of: ["c0"]) == 1 && table.knownSet(of: []) == 0)
    }

    @Test("Look-ups add no categories beyond the bound; stores do, so that they can be removed by them")
    func lookUpsAddNoCategoriesBeyondBound() throws {
        let memory = MemoryStorage<Blob>(config: .lasting(cost: 100))
        memory.store(value: Blob(), forKey: "a", context: AccessContext(categories: ["kept"]))
        let most = CategoryInterner.mostOfLookUps
        #expect(most == 16_384)
        for number in 0..<most + 1_000 {
            _ = memory.value(forKey: "none", context: AccessContext(categories: ["miss\(number)"]))
            _ = memory.value(forKey: "a", context: AccessContext(categories: ["kept", "hit\(number)"]))
        }
        _ = memory.value(forKey: "none", context: AccessContext(categories: ["late"]))
        let (names, sets) = memory.core.withLock {
            ($0.entries.categories.names.count, $0.entries.categories.members.count)
        }
        // A hit with one set more than there are brings at most one name.
        #expect(names <= most + 1 && sets <= most + 1)
        #expect(memory.statistics.lookUpsByCategory["late"] == nil)
        #expect(memory.statistics.lookUps == HitCounts(hits: most + 1_000, misses: most + 1_001))
        memory.store(value: Blob(), forKey: "b", context: AccessContext(categories: ["late"]))
        memory.remove(category: "late")
        #expect(!memory.isCached(forKey: "b") && memory.isCached(forKey: "a"))
    }

    @Test("More than 65,535 categories may have rules")
    func manyCategoriesMayHaveRules() {
        let count = 66_000
        var rules: [String: CategoryRule] = [:]
        for number in 0..<count { rules["c\(number)"] = CategoryRule(countLimit: 1) }
        let memory = MemoryStorage<Blob>(config: .lasting(cost: 100, rules: rules))
        // The partitions are created in the order of the names.
        let last = ["c65999", "c9", "c9999"]
        for category in last {
            let context = AccessContext(categories: [category])
            #expect(memory.store(value: Blob("old"), forKey: category + "/1", context: context))
            #expect(memory.store(value: Blob("new"), forKey: category + "/2", context: context))
        }
        for category in last {
            #expect(memory.value(forKey: category + "/1") == nil)
            #expect(memory.value(forKey: category + "/2")?.name == "new")
            #expect(memory.use(category: category) == CategoryUse(count: 1, cost: 1))
        }
        #expect(memory.count == 3)
    }

    @Test("Negative limits of a rule admit nothing and do not trap")
    func negativeRuleLimitsAdmitNothing() {
        let rules = [
            "none": CategoryRule(countLimit: .min), "free": CategoryRule(costLimit: .min),
            "some": CategoryRule(priority: 1),
        ]
        let memory = MemoryStorage<Blob>(config: .lasting(cost: 2, rules: rules))
        for category in ["none", "free"] {
            #expect(!memory.store(value: Blob(), forKey: category, context: AccessContext(categories: [category])))
        }
        for key in ["a", "b", "c"] {
            #expect(memory.store(value: Blob(), forKey: key, context: AccessContext(categories: ["some"])))
        }
        #expect(memory.count == 2)
    }
}
