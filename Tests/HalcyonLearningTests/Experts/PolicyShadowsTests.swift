import HalcyonEviction
import HalcyonSupport
import Testing

@testable import HalcyonLearning

/// The shadows of other policies: what they simulate, and when they are followed.
@Suite("Shadows of other policies", .timeLimit(.minutes(20)))
struct PolicyShadowsTests {
    private func shadows(capacity: Int = 50, usesUniformSizes: Bool = true) -> PolicyShadows {
        PolicyShadows(
            PolicyContext(capacity: capacity, usesUniformSizes: usesUniformSizes),
            missCost: LearnedParameters().missCost)
    }

    /// A cache under the policy of a shadow.
    private func cache(_ name: String, usesUniformSizes: Bool = true) -> any AnyCache {
        let context = PolicyContext(capacity: 50, usesUniformSizes: usesUniformSizes)
        return switch name {
        case "s3-fifo": ConfiguredPolicy(S3FIFO.self).makeCache(context)
        case "w-tinylfu": ConfiguredPolicy(WTinyLFU.self).makeCache(context)
        default: ConfiguredPolicy(LRU.self).makeCache(context)
        }
    }

    /// Counts decisions until no shadow is followed, and returns their number.
    private func end(_ shadows: inout PolicyShadows, history: borrowing ObjectHistory) -> Int {
        var length = 0
        while shadows.isFollowing {
            shadows.countDecision(history: history)
            length += 1
        }
        return length
    }

    /// Requests of a few popular and many rare objects, numbered in the order of their first request, with sizes.
    private func requests(_ count: Int, largest: Int = 1) -> [Access] {
        var generator = SplitMix64(seed: 5)
        var numbers: [Int: EntryID] = [:]
        return (0..<count).map { number in
            let object = min(generator.next(below: 40), generator.next(below: 400)) * (1 + generator.next(below: 3))
            let entry = numbers[object] ?? EntryID(numbers.count)
            numbers[object] = entry
            return Access(entry: entry, requestNumber: number, size: 1 + Int(entry) % largest)
        }
    }

    /// A history with so many residents.
    private func history(residents: Int) -> ObjectHistory {
        var history = ObjectHistory(entries: residents, ghostsPerResident: 1)
        for entry in 0..<residents { history.link(history.open(EntryID(entry))) }
        return history
    }

    @Test("Each shadow has the hits of a cache under its policy")
    func simulation() {
        for (usesUniformSizes, names) in [(true, ["s3-fifo", "w-tinylfu"]), (false, ["lru"])] {
            let requests = requests(20_000, largest: usesUniformSizes ? 1 : 9)
            var shadows = shadows(usesUniformSizes: usesUniformSizes)
            let history = history(residents: 0)
            // The cache of the learner misses always, so that a difference is a hit of the shadow.
            for access in requests { shadows.access(access, isMiss: true, history: history) }
            for name in names {
                let cache = cache(name, usesUniformSizes: usesUniformSizes)
                let hits = requests.count { cache.access($0).isHit }
                let balance = shadows.balance(of: name)
                #expect(balance == Double(hits))
                #expect(hits > 1_000)
            }
        }
    }

    @Test("A shadow that is ahead beyond chance is followed, for twice as long after a failed trial")
    func following() {
        var shadows = shadows()
        let history = history(residents: 50)
        let requests = requests(4_000)
        var lengths: [Int] = []
        for access in requests {
            shadows.access(access, isMiss: true, history: history)
            guard shadows.isFollowing, lengths.count < 3 else { continue }
            let (leader, followsLeastRecent) = (shadows.leaderName, shadows.followsLeastRecent)
            #expect(["s3-fifo", "w-tinylfu"].contains(leader) && !followsLeastRecent)
            lengths.append(end(&shadows, history: history))
        }
        #expect(lengths == [50, 100, 200], "A turnover of 50 residents, then twice as many.")
        let decisions = shadows.decisions
        #expect(decisions == 350)
    }

    @Test("Only a learner that was ahead beyond chance starts again with one turnover", arguments: [true, false])
    func trial(isAhead: Bool) {
        var shadows = shadows()
        let history = history(residents: 50)
        var lengths: [Int] = []
        var trial = 0
        for access in requests(12_000) where lengths.count < 2 {
            // In 400 requests of the trial, this cache hits alone wherever a shadow misses, or misses with it.
            let isTrial = lengths.count == 1 && trial < 400
            if isTrial { trial += 1 }
            if !isTrial || isAhead { shadows.access(access, isMiss: !isTrial, history: history) }
            if isTrial && !shadows.isFollowing { shadows.countDecision(history: history) }
            if !isTrial && shadows.isFollowing { lengths.append(end(&shadows, history: history)) }
        }
        #expect(lengths == [50, isAhead ? 50 : 100])
    }

    @Test("With variable sizes LRU is the only shadow, and needs a tenth of a turnover")
    func leastRecent() {
        var shadows = shadows(usesUniformSizes: false)
        let history = history(residents: 50)
        for access in requests(1_000) where !shadows.isFollowing {
            shadows.access(access, isMiss: true, history: history)
        }
        let (leader, followsLeastRecent) = (shadows.leaderName, shadows.followsLeastRecent)
        #expect(leader == "lru" && followsLeastRecent)
        let length = end(&shadows, history: history)
        #expect(length == 5)
    }

    @Test("A shadow that is ahead half of the time is not followed")
    func chance() {
        for usesUniformSizes in [true, false] {
            var shadows = shadows(usesUniformSizes: usesUniformSizes)
            let history = history(residents: 50)
            var generator = SplitMix64(seed: 8)
            let twin = cache(usesUniformSizes ? "s3-fifo" : "lru", usesUniformSizes: usesUniformSizes)
            var isNextLost = true
            for access in requests(100_000) {
                // The cache has the outcome of one shadow, but every fifth outcome of the kind that a coin chose.
                let isHit = twin.access(access).isHit
                let differs = isHit == isNextLost && generator.next(below: 5) == 0
                shadows.access(access, isMiss: isHit == differs, history: history)
                if differs { isNextLost = generator.next(below: 2) == 0 }
            }
            let (leader, follows) = (shadows.leaderName, shadows.follows)
            #expect(leader != (usesUniformSizes ? "s3-fifo" : "lru"))
            #expect(usesUniformSizes || follows == 0)
        }
    }

    @Test("The leader's objects are those of a cache under its policy; the surplus is the rest of the residents")
    func surplus() {
        var shadows = shadows()
        var history = ObjectHistory(entries: 2_000, ghostsPerResident: 1)
        let caches = [cache("s3-fifo"), cache("w-tinylfu")]
        // Residents that no request names any more.
        for entry in 1_000..<1_050 { history.link(history.open(EntryID(entry))) }
        for access in requests(3_000) where !shadows.isFollowing {
            shadows.access(access, isMiss: true, history: history)
            for cache in caches { _ = cache.access(access) }
        }
        let leader = caches[shadows.leaderName == "s3-fifo" ? 0 : 1]
        let held = (0..<EntryID(400)).filter { shadows.leaderHolds($0) }
        #expect(held == (0..<EntryID(400)).filter { leader.contains($0) })
        var surplus: [EntryID] = []
        while let entry = shadows.nextSurplus() { surplus.append(entry) }
        #expect(surplus == Array(1_000..<1_050))
    }

    @Test("A large cache with variable sizes has a shadow of a sample of its objects, with uniform sizes none")
    func sample() {
        let history = history(residents: PolicyShadows.mostResidents + 1)
        var uniform = shadows(capacity: 20_000)
        var variable = shadows(capacity: 20_000, usesUniformSizes: false)
        for number in 0..<100_000 {
            let access = Access(entry: EntryID(number % 20_000), requestNumber: number)
            uniform.access(access, isMiss: true, history: history)
            variable.access(access, isMiss: true, history: history)
        }
        let (bytes, balance) = (uniform.byteCount, uniform.balance(of: "s3-fifo"))
        #expect(bytes < 100 && balance == nil)
        // Of the 20,000 objects one in 16 is sampled, which fit if the sample is no larger than its expectation.
        let sampled = (0..<EntryID(20_000)).count { variable.knows($0) }
        #expect((1_100...1_400).contains(sampled))
        let sampleBytes = variable.byteCount
        #expect(sampleBytes < 200_000)
    }

    @Test("A forgotten object is a new one for the shadows, whether its number is reused or not")
    func forgotten() {
        for reuses in [true, false] {
            var shadows = shadows()
            let history = history(residents: 0)
            for round in 0..<5_000 {
                // Each object is requested twice in a row, and forgotten before it returns.
                let entry = EntryID(reuses ? 1 : round % 30)
                for _ in 0..<2 { shadows.access(Access(entry: entry), isMiss: true, history: history) }
                shadows.forget(entry)
            }
            let (balance, bytes) = (shadows.balance(of: "s3-fifo"), shadows.byteCount)
            #expect(balance == 5_000, "one hit a round")
            #expect(bytes < 150_000)
        }
    }

    @Test("A removed object leaves the shadows")
    func removal() throws {
        var shadows = shadows(usesUniformSizes: false)
        let history = history(residents: 50)
        for access in requests(1_000) where !shadows.isFollowing {
            shadows.access(access, isMiss: true, history: history)
        }
        let first = (0..<EntryID(400)).first { shadows.leaderHolds($0) }
        let held = try #require(first)
        shadows.remove(held)
        let isHeld = shadows.leaderHolds(held)
        #expect(!isHeld)
    }

    @Test("With another capacity, shadows have it too and the balances start again")
    func resizing() {
        var shadows = shadows(usesUniformSizes: false)
        let history = history(residents: 50)
        let smaller = ConfiguredPolicy(LRU.self).makeCache(PolicyContext(capacity: 7, usesUniformSizes: false))
        let requests = requests(3_000)
        for access in requests[..<1_000] {
            shadows.access(access, isMiss: true, history: history)
            _ = smaller.access(access)
        }
        shadows.resize(to: 7, history: history)
        let isFollowing = shadows.isFollowing
        #expect(!isFollowing)
        for access in requests[1_000...] { shadows.access(access, isMiss: true, history: history) }
        let balance = shadows.balance(of: "lru")
        #expect(balance == Double(requests[1_000...].count { smaller.access($0).isHit }))
    }
}

/// The numbers of objects in shadows.
@Suite("Numbers of objects in shadows", .timeLimit(.minutes(20)))
struct ShadowNumbersTests {
    @Test("Numbers are dense, in the order of the first request")
    func order() {
        var numbers = ShadowNumbers()
        let given = [7, 3, 7, 9].map { numbers.number(of: $0) }
        #expect(given == [0, 1, 0, 2])
        let (nine, four, first) = (numbers.known(9), numbers.known(4), numbers.entry(of: 1))
        #expect(nine == 2 && four == nil && first == 3)
    }

    @Test("The number of a forgotten object is reused once no shadow remembers it")
    func reuse() {
        var numbers = ShadowNumbers()
        for entry in [7, 3, 9] as [EntryID] { _ = numbers.number(of: entry) }
        numbers.retire(7)
        numbers.retire(3)
        let (seven, before) = (numbers.known(7), numbers.number(of: 5))
        #expect(seven == nil && before == 3, "No number is free.")
        numbers.free { $0 == 1 }
        let (after, waiting, next) = (numbers.number(of: 6), numbers.retiredCount, numbers.number(of: 7))
        #expect(after == 0 && waiting == 1 && next == 4)
    }

    @Test("A sample keeps its objects and leaves the others out")
    func sample() {
        var numbers = ShadowNumbers(shift: 2)
        let first = (0..<EntryID(10_000)).map { numbers.number(of: $0) != nil }
        let second = (0..<EntryID(10_000)).map { numbers.number(of: $0) != nil }
        #expect(first == second)
        #expect((2_350...2_650).contains(first.count { $0 }))
    }
}
