import HalcyonEviction
import HalcyonSupport
import Testing

@testable import HalcyonLearning

extension PolicyShadows {
    /// Serves a request in a cache that is small enough for shadows of all objects.
    fileprivate mutating func access(_ access: Access, isMiss: Bool, history: borrowing ObjectHistory) {
        var record = ObjectRecord()
        self.access(access, isMiss: isMiss, record: &record, history: history)
    }

    /// Serves a request of an object that has a record of its own.
    fileprivate mutating func access(
        _ access: Access, isMiss: Bool, records: inout [EntryID: ObjectRecord], history: borrowing ObjectHistory
    ) {
        var record = records[access.entry] ?? ObjectRecord()
        self.access(access, isMiss: isMiss, record: &record, history: history)
        record.accesses = 1
        records[access.entry] = record
    }

    fileprivate func balance(of policy: String) -> Double? {
        judges.first { $0.policy.name == policy }?.total.excess
    }
}

/// A cache whose residents do not change, with its shadows and the records of requested objects.
private struct LargeCache: ~Copyable {
    var shadows: PolicyShadows
    var history: ObjectHistory
    var records: [EntryID: ObjectRecord] = [:]

    init(entries: Int) {
        shadows = PolicyShadows(PolicyContext(capacity: entries), missCost: LearnedParameters().missCost)
        history = ObjectHistory(entries: entries, ghostsPerResident: 1)
        for entry in 0..<entries { history.link(history.open(EntryID(entry))) }
    }

    mutating func serve(_ requests: [Access], isMiss: Bool) {
        for access in requests { shadows.access(access, isMiss: isMiss, records: &records, history: history) }
    }

    mutating func decide(_ count: Int) {
        for _ in 0..<count { shadows.countDecision(history: history) }
    }
}

/// The shadows of other policies: what they simulate, and when they are followed.
@Suite("Shadows of other policies", .timeLimit(.minutes(20)))
struct PolicyShadowsTests {
    private func shadows(
        capacity: Int = 50, usesUniformSizes: Bool = true, usualLifetime: Int64? = nil
    ) -> PolicyShadows {
        var context = PolicyContext(capacity: capacity, usesUniformSizes: usesUniformSizes)
        context.usualLifetime = usualLifetime
        return PolicyShadows(context, missCost: LearnedParameters().missCost)
    }

    /// A cache under the policy of a shadow.
    private func cache(_ name: String, usesUniformSizes: Bool = true, lifetime: Int64? = nil) -> any AnyCache {
        let context = PolicyContext(capacity: 50, usesUniformSizes: usesUniformSizes, lifetime: lifetime)
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
    private func requests(_ count: Int, largest: Int = 1, range: Int = 400) -> [Access] {
        var generator = SplitMix64(seed: 5)
        var numbers: [Int: EntryID] = [:]
        return (0..<count).map { number in
            let object =
                min(generator.next(below: range / 10), generator.next(below: range)) * (1 + generator.next(below: 3))
            let entry = numbers[object] ?? EntryID(numbers.count)
            numbers[object] = entry
            return Access(entry: entry, requestNumber: number, time: Int64(number), size: 1 + Int(entry) % largest)
        }
    }

    /// A history with so many residents.
    private func history(residents: Int) -> ObjectHistory {
        var history = ObjectHistory(entries: residents, ghostsPerResident: 1)
        for entry in 0..<residents { history.link(history.open(EntryID(entry))) }
        return history
    }

    @Test("Each shadow has the hits of a cache under its policy, where entries expire, too", arguments: [nil, 8])
    func simulation(lifetime: Int64?) {
        for (usesUniformSizes, names) in [(true, ["s3-fifo", "w-tinylfu"]), (false, ["lru"])] {
            let requests = requests(20_000, largest: usesUniformSizes ? 1 : 9)
            var shadows = shadows(usesUniformSizes: usesUniformSizes, usualLifetime: lifetime)
            let history = history(residents: 0)
            // The cache of the learner misses always, so that a difference is a hit of the shadow.
            for access in requests { shadows.access(access, isMiss: true, history: history) }
            for name in names {
                let cache = cache(name, usesUniformSizes: usesUniformSizes, lifetime: lifetime)
                let outcomes = requests.map { cache.access($0) }
                let hits = outcomes.count { $0.isHit }
                let balance = shadows.balance(of: name)
                #expect(balance == Double(hits))
                #expect(hits > 1_000 && outcomes.contains(.stale) == (lifetime != nil))
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
            let (leader, followsLeastRecent) = (shadows.leader?.name, shadows.followsLeastRecent)
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
        let (leader, followsLeastRecent) = (shadows.leader?.name, shadows.followsLeastRecent)
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
            let (leader, follows) = (shadows.leader?.name, shadows.follows)
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
        let leader = caches[shadows.leader?.name == "s3-fifo" ? 0 : 1]
        let held = (0..<EntryID(400)).filter { shadows.leaderHolds($0) }
        #expect(held == (0..<EntryID(400)).filter { leader.contains($0) })
        var surplus: [EntryID] = []
        while let entry = shadows.nextSurplus() { surplus.append(entry) }
        #expect(surplus == Array(1_000..<1_050))
    }

    @Test("A large cache with variable sizes has a shadow of a sample of its objects")
    func sample() {
        let history = history(residents: PolicyShadows.mostResidents + 1)
        var shadows = shadows(capacity: 20_000, usesUniformSizes: false)
        var records: [EntryID: ObjectRecord] = [:]
        for number in 0..<100_000 {
            let access = Access(entry: EntryID(number % 20_000), requestNumber: number)
            shadows.access(access, isMiss: true, records: &records, history: history)
        }
        // Of the 20,000 objects one in 16 is sampled, which fit if the sample is no larger than its expectation.
        let sampled = records.values.count { $0.isSampled }
        #expect((1_100...1_400).contains(sampled))
        let bytes = shadows.metadataBytes.total
        #expect(bytes < 200_000)
    }

    @Test("A sample that gets smaller keeps one in 16 of its objects, and draws new ones at that rate")
    func thinning() {
        let small = history(residents: 20)
        let large = history(residents: PolicyShadows.mostResidents + 1)
        var shadows = shadows(capacity: 20_000, usesUniformSizes: false)
        var records: [EntryID: ObjectRecord] = [:]
        for entry in 0..<EntryID(40_000) {
            let access = Access(entry: entry)
            if entry < 20_000 {
                shadows.access(access, isMiss: true, records: &records, history: small)
            } else {
                shadows.access(access, isMiss: true, records: &records, history: large)
            }
        }
        for entry in 0..<EntryID(20_000) {
            shadows.access(Access(entry: entry), isMiss: true, records: &records, history: large)
        }
        for half in [0..<EntryID(20_000), 20_000..<40_000] {
            #expect((1_100...1_400).contains(half.count { records[$0]?.isSampled == true }))
        }
    }

    @Test("Shadows of a medium cache end once the learner is ahead of all, and go on with a sample of the objects")
    func demotion() {
        var bed = LargeCache(entries: 2_000)
        bed.serve(requests(50_000, range: 8_000), isMiss: false)
        bed.decide(PolicyShadows.turnoversOfTrial * 2_000)
        let (before, bytes) = (bed.shadows.fullCount, bed.shadows.metadataBytes.total)
        bed.decide(1)
        let (after, fewerBytes) = (bed.shadows.fullCount, bed.shadows.metadataBytes.total)
        #expect(before == 2 && after == 0 && fewerBytes * 4 < bytes)
        let sampled = bed.records.values.count { $0.isSampled }
        #expect((sampled * 8 - bed.records.count).magnitude < bed.records.count / 5, "one of eight objects")
        let balances = ["s3-fifo", "w-tinylfu"].map { bed.shadows.balance(of: $0) }
        #expect(balances == [0, 0])
    }

    @Test("A learner that is not ahead of all keeps the shadows of all objects")
    func notDemoted() {
        var bed = LargeCache(entries: 2_000)
        bed.decide(10 * PolicyShadows.turnoversOfTrial * 2_000)
        let fullCount = bed.shadows.fullCount
        #expect(fullCount == 2)
    }

    @Test("A shadow that is ahead on the sample begins again with all objects, and is followed a turnover later")
    func proposal() {
        var bed = LargeCache(entries: 2_000)
        bed.serve(requests(50_000, range: 8_000), isMiss: false)
        bed.decide(PolicyShadows.turnoversOfTrial * 2_000 + 1)
        // The shadows of the sample have the residents at first, so that their differences count after a turnover.
        bed.serve(requests(20_000, range: 8_000), isMiss: true)
        let none = bed.shadows.fullCount
        bed.decide(2_000)
        bed.serve(requests(20_000, range: 8_000), isMiss: true)
        let begun = bed.shadows.fullCount
        #expect(none == 0 && begun >= 1)
        bed.decide(1_999)
        bed.serve(requests(20_000, range: 8_000), isMiss: true)
        let early = bed.shadows.isFollowing
        bed.decide(1)
        bed.serve(requests(1_000, range: 8_000), isMiss: true)
        let late = bed.shadows.isFollowing
        #expect(!early && late)
        let length = end(&bed.shadows, history: bed.history)
        #expect(length == 2_000)
    }

    @Test(
        "A shadow of all objects that is not followed, and no longer ahead on the sample, ends",
        arguments: [true, false])
    func withdrawal(isAhead: Bool) {
        var bed = LargeCache(entries: 2_000)
        bed.serve(requests(50_000, range: 30_000), isMiss: false)
        bed.decide((PolicyShadows.turnoversOfTrial + 1) * 2_000 + 1)
        bed.serve(requests(20_000, range: 30_000), isMiss: true)
        let begun = bed.shadows.fullCount
        bed.serve(requests(80_000, range: 30_000), isMiss: isAhead)
        bed.decide((1 + PolicyShadows.turnoversOfTrial) * 2_000)
        let before = bed.shadows.fullCount
        bed.decide(1)
        let after = bed.shadows.fullCount
        #expect(begun >= 1 && before == begun && after == (isAhead ? begun : 0))
    }

    @Test(
        "A large cache begins with shadows of a sample, and its shadows of all objects count as bytes of its residents")
    func large() {
        let entries = PolicyShadows.mostResidents + 1
        var bed = LargeCache(entries: entries)
        let first = bed.shadows.metadataBytes
        bed.serve(requests(20_000, range: 60_000), isMiss: true)
        let (begun, bytes) = (bed.shadows.fullCount, bed.shadows.metadataBytes)
        #expect(first.perResident == 0 && first.fixed < 20_000)
        #expect(begun >= 1 && bytes.perResident > entries)
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
                var record = ObjectRecord()
                (record.entry, record.isSampled) = (entry, true)
                shadows.forget(Ghost(of: record))
            }
            let (balance, bytes) = (shadows.balance(of: "s3-fifo"), shadows.metadataBytes.total)
            #expect(balance == 5_000, "one hit a round")
            #expect(bytes < 150_000)
        }
    }

    @Test("A removed object leaves the shadows")
    func removal() throws {
        var shadows = shadows()
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

    @Test("A removed object is a miss of the shadow of LRU", arguments: [false, true])
    func removalFromSample(removes: Bool) {
        var shadows = shadows(usesUniformSizes: false)
        let history = history(residents: 50)
        shadows.access(Access(entry: 7), isMiss: true, history: history)
        if removes { shadows.remove(7) }
        shadows.access(Access(entry: 7), isMiss: true, history: history)
        let balance = shadows.balance(of: "lru")
        #expect(balance == (removes ? 0 : 1))
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

    @Test("Numbers are freed once as many wait again as were kept")
    func amortisation() {
        var numbers = ShadowNumbers()
        var looks = 0
        for entry in 0..<EntryID(10_000) {
            _ = numbers.number(of: entry)
            numbers.retire(entry)
            if numbers.needsFreeing {
                numbers.free { _ in
                    looks += 1
                    return true
                }
            }
        }
        #expect(looks < 20_000)
    }

    @Test("A sample numbers its objects in the same way")
    func sample() {
        var all = ShadowNumbers()
        var some = ShadowNumbers(isSample: true)
        var generator = SplitMix64(seed: 2)
        for step in 0..<5_000 {
            let entry = EntryID(generator.next(below: 300))
            if step % 3 == 0 {
                all.retire(entry)
                some.retire(entry)
            } else {
                let (first, second) = (all.number(of: entry), some.number(of: entry))
                #expect(first == second)
            }
            if step % 100 == 0 {
                all.free { $0 % 2 == 0 }
                some.free { $0 % 2 == 0 }
            }
        }
    }
}
