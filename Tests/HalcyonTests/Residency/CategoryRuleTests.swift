import Foundation
import Halcyon
import HalcyonEviction
import Testing

@testable import HalcyonCache

@Suite("Category rules", .timeLimit(.minutes(20)))
struct CategoryRuleTests {
    let clock = ManualClock()
    let left = Removals()

    func storage(_ rules: [String: CategoryRule], cost: Int = 10, policy: String = "lru") throws -> MemoryStorage<Blob>
    {
        MemoryStorage(
            config: .lasting(cost: cost, rules: rules), configured: try PolicyCatalogue.standard.livePolicy(policy),
            clock: clock, onRemoval: left.note)
    }

    func store(_ memory: MemoryStorage<Blob>, _ keys: String..., category: String?, cost: Int = 1) {
        for key in keys {
            memory.store(
                value: Blob(cost: cost), forKey: key,
                context: AccessContext(categories: category.map { [$0] } ?? []))
        }
    }

    @Test("A category has its own expiration, which a store's expiration overrides")
    func categoryExpirationIsOverriddenByStore() throws {
        let memory = try storage(["news": CategoryRule(expiration: .seconds(5))])
        store(memory, "a", category: "news")
        store(memory, "b", category: nil)
        memory.store(
            value: Blob(), forKey: "c", expiration: .seconds(9), context: AccessContext(categories: ["x", "news"]))
        clock.advance(by: 5)
        #expect(["a", "b", "c"].filter { memory.isCached(forKey: $0) } == ["b", "c"])
        clock.advance(by: 4)
        #expect(["a", "b", "c"].filter { memory.isCached(forKey: $0) } == ["b"])
    }

    @Test("Quotas of cost and count evict within the category")
    func quotasEvictWithinCategory() throws {
        let memory = try storage(["thumbs": CategoryRule(costLimit: 4), "faces": CategoryRule(countLimit: 2)])
        store(memory, "t1", "t2", category: "thumbs", cost: 2)
        store(memory, "x", category: nil)
        _ = memory.value(forKey: "t1")
        store(memory, "t3", category: "thumbs", cost: 2)
        #expect(left.keys == ["t2"])
        store(memory, "f1", "f2", "f3", category: "faces")
        #expect(left.keys == ["t2", "f1"])
        #expect(memory.use(category: "thumbs") == CategoryUse(count: 2, cost: 4))
        #expect(memory.use(category: "faces") == CategoryUse(count: 2, cost: 2))
        #expect(!memory.store(value: Blob(cost: 5), forKey: "t4", context: AccessContext(categories: ["thumbs"])))
        #expect(memory.use(category: "thumbs").count == 2)
    }

    @Test("The lowest priority is evicted first, and never a higher one than the new entry's")
    func lowestPriorityIsEvictedFirst() throws {
        let memory = try storage(["high": CategoryRule(priority: 1), "low": CategoryRule(priority: -1)], cost: 4)
        store(memory, "l", category: "low")
        store(memory, "n", category: nil)
        store(memory, "h1", "h2", "h3", category: "high")
        #expect(left.keys == ["l"])
        store(memory, "h4", category: "high")
        #expect(left.keys == ["l", "n"])
        store(memory, "n2", category: nil)
        #expect(!memory.isCached(forKey: "n2"))
        store(memory, "h5", category: "high")
        #expect(left.keys == ["l", "n", "h1"])
        #expect(memory.totalCost == 4)
    }

    @Test("A protected category's entries are evicted only for its own and by trimming")
    func protectedCategoryIsEvictedOnlyFromWithin() throws {
        let memory = try storage(["avatar": CategoryRule(costLimit: 3, isProtected: true)], cost: 4)
        store(memory, "a1", "a2", "a3", category: "avatar")
        store(memory, "x", "y", "z", category: nil)
        #expect(left.keys == ["x", "y"])
        store(memory, "a4", category: "avatar")
        #expect(left.keys == ["x", "y", "a1"])
        #expect(memory.use(category: "avatar").count == 3)
        memory.trim(toCost: 1)
        #expect(left.keys == ["x", "y", "a1", "z", "a2", "a3"])
    }

    @Test("Rules can change at run time, and entries move to their new rule")
    func rulesCanChangeAtRunTime() throws {
        let memory = try storage([:], cost: 10)
        store(memory, "a", "b", "c", category: "k")
        store(memory, "x", category: nil)
        memory.config.categoryRules = ["k": CategoryRule(countLimit: 2)]
        #expect(left.keys == ["a"])
        memory.config.categoryRules = [:]
        store(memory, "d", "e", category: "k")
        #expect(memory.use(category: "k").count == 4)
        #expect(memory.count == 5 && memory.totalCost == 5)
    }

    @Test("Categories can be counted, measured and removed in both tiers")
    func categoriesCanBeCountedAndRemoved() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        await cache.store(Blob(cost: 5), forKey: "a", options: CacheOptions(categories: ["x", "y"]))
        await cache.store(Blob(cost: 6), forKey: "b", options: CacheOptions(categories: ["x"]))
        await cache.store(Blob(cost: 7), forKey: "c", options: CacheOptions(categories: ["y", "y"]))
        var use = await cache.use(category: "y")
        #expect(use == (CategoryUse(count: 2, cost: 12), CategoryUse(count: 2, cost: 8_192)))
        await cache.remove(category: "x")
        #expect(!cache.isCached(forKey: "a") && !cache.isCached(forKey: "b") && cache.isCached(forKey: "c"))
        use = await cache.use(category: "y")
        #expect(use == (CategoryUse(count: 1, cost: 7), CategoryUse(count: 1, cost: 4_096)))
        #expect(await cache.use(category: "none") == (CategoryUse(), CategoryUse()))
    }

    @Test("Categories and their rules apply on disk after a restart")
    func categoriesAndRulesSurviveRestart() throws {
        let fixture = try DiskFixture()
        var disk: DiskStorage? = try fixture.open()
        for key in ["a", "b", "c"] {
            try disk?.store(value: bytes(4_096), forKey: key, context: AccessContext(categories: ["k"]))
            fixture.clock.advance(by: 1)
        }
        try fixture.close(&disk)
        let reopened = try fixture.open { $0.categoryRules = ["k": CategoryRule(costLimit: 8_192)] }
        #expect(reopened.use(category: "k") == CategoryUse(count: 2, cost: 8_192))
        #expect(!reopened.isCached(forKey: "a"))
        try fixture.expectAgreement(reopened)
        reopened.remove(category: "k")
        #expect(try fixture.files() == [:])
    }

    @Test("Under every policy rules keep quotas, limits and sums", arguments: PolicyCatalogue.liveNames)
    func everyPolicyKeepsQuotas(name: String) throws {
        let rules = [
            "c0": CategoryRule(costLimit: 60), "c1": CategoryRule(countLimit: 5, priority: 1),
            "c2": CategoryRule(priority: -1), "c3": CategoryRule(costLimit: 50, isProtected: true),
        ]
        let memory = try storage(rules, cost: 300, policy: name)
        var random = SplitMix64(seed: 2)
        for step in 0..<2_000 {
            let number = random.next(below: 150)
            let context = AccessContext(categories: ["c\(number % 6)"])
            if memory.value(forKey: "k\(number)", context: context) == nil {
                memory.store(value: Blob(cost: 1 + random.next(below: 20)), forKey: "k\(number)", context: context)
            }
            #expect(memory.totalCost <= 300)
            #expect(memory.use(category: "c0").cost <= 60 && memory.use(category: "c3").cost <= 50)
            #expect(memory.use(category: "c1").count <= 5)
            if step % 100 == 0 {
                let uses = (0..<6).map { memory.use(category: "c\($0)") }
                #expect(uses.reduce(0) { $0 + $1.cost } == memory.totalCost)
                #expect(uses.reduce(0) { $0 + $1.count } == memory.count)
            }
        }
    }
}
