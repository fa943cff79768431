import HalcyonEviction
import HalcyonSupport
import Testing

@testable import HalcyonLearning

extension Referee {
    /// Serves a request in a cache that is small enough for shadows of all objects.
    fileprivate mutating func access(_ access: Access, isMiss: Bool, history: borrowing ObjectHistory) {
        var record = ObjectRecord()
        request(access, isMiss: isMiss, record: &record, history: history)
    }

    /// Serves a request and keeps the record of its object.
    fileprivate mutating func access(
        _ access: Access, isMiss: Bool, records: inout [EntryID: ObjectRecord], history: borrowing ObjectHistory
    ) {
        var record = records[access.entry] ?? ObjectRecord()
        request(access, isMiss: isMiss, record: &record, history: history)
        record.accesses = 1
        records[access.entry] = record
    }

    /// Serves a request as the policy does.
    private mutating func request(
        _ access: Access, isMiss: Bool, record: inout ObjectRecord, history: borrowing ObjectHistory
    ) {
        let isServed = count(isMiss: isMiss, now: access.requestNumber, record: &record, residents: history.count)
        if isServed { serve(access, isMiss: isMiss, record: &record, history: history) }
    }

    /// Counts a decision as the policy does.
    fileprivate mutating func countDecision(history: borrowing ObjectHistory) {
        if countDecision(residents: history.count) { reviewLearner(history: history) }
    }

    fileprivate func balance(of policy: String) -> Double? {
        activeShadows.first { $0.policy.name == policy }?.total.excess
    }
}

/// A cache whose residents do not change, with its shadows and the records of requested objects.
private struct LargeCache: ~Copyable {
    var shadows: Referee
    var history: ObjectHistory
    var records: [EntryID: ObjectRecord] = [:]

    init(entries: Int) {
        shadows = Referee(PolicyContext(capacity: entries), missCost: LearnedParameters().missCost)
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

/// The shadows of other policies: their simulation, and when the cache follows one.
@Suite("Shadows of other policies", .timeLimit(.minutes(20)))
struct RefereeTests {
    private func shadows(
        capacity: Int = 50, usesUniformSizes: Bool = true, usualLifetime: Int64? = nil
    ) -> Referee {
        var context = PolicyContext(capacity: capacity, usesUniformSizes: usesUniformSizes)
        context.usualLifetime = usualLifetime
        return Referee(context, missCost: LearnedParameters().missCost)
    }

    /// A cache under the policy of a shadow.
    private func cache(_ name: String, usesUniformSizes: Bool = true, lifetime: Int64? = nil) -> AnyCache {
        let context = PolicyContext(capacity: 50, usesUniformSizes: usesUniformSizes, lifetime: lifetime)
        return switch name {
        case "s3-fifo": ConfiguredPolicy(S3FIFO.self).makeCache(context)
        case "w-tinylfu": ConfiguredPolicy(WTinyLFU.self).makeCache(context)
        case "lirs": ConfiguredPolicy(LIRS.self).makeCache(context)
        default: ConfiguredPolicy(LRU.self).makeCache(context)
        }
    }

    /// Counts decisions until no shadow is followed, and returns their number.
    private func end(_ shadows: inout Referee, history: borrowing ObjectHistory) -> Int {
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

    @Test("Each shadow has the hits of a cache under its policy, also with expiration", arguments: [nil, 8])
    func shadowHasTheHitsOfItsPolicy(lifetime: Int64?) {
        for (usesUniformSizes, names) in [(true, ["s3-fifo", "w-tinylfu", "lirs"]), (false, ["lru"])] {
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

    @Test("A shadow that is significantly ahead is followed, twice as long after each failed override")
    func significantlyBetterShadowIsFollowedTwiceAsLong() {
        var shadows = shadows()
        let history = history(residents: 50)
        let requests = requests(4_000)
        var lengths: [Int] = []
        for access in requests {
            shadows.access(access, isMiss: true, history: history)
            guard shadows.isFollowing, lengths.count < 3 else { continue }
            let (leader, decider) = (shadows.leader?.name, shadows.nextDecider())
            #expect(["s3-fifo", "w-tinylfu", "lirs"].contains(leader) && decider == .leader)
            lengths.append(end(&shadows, history: history))
        }
        #expect(lengths == [50, 100, 200], "A turnover of 50 residents, then twice as many.")
        let decisions = shadows.decisions
        #expect(decisions == 350)
    }

    @Test("Only a learner that was significantly ahead resets the override to one turnover", arguments: [true, false])
    func onlyASignificantlyBetterLearnerResetsTheLength(isAhead: Bool) {
        var shadows = shadows()
        let history = history(residents: 50)
        var lengths: [Int] = []
        var trial = 0
        for access in requests(12_000) where lengths.count < 2 {
            // In 400 requests of the comparison, this cache alone hits where a shadow misses, or it misses, too.
            let isTrial = lengths.count == 1 && trial < 400
            if isTrial { trial += 1 }
            if !isTrial || isAhead { shadows.access(access, isMiss: !isTrial, history: history) }
            if isTrial && !shadows.isFollowing { shadows.countDecision(history: history) }
            if !isTrial && shadows.isFollowing { lengths.append(end(&shadows, history: history)) }
        }
        #expect(lengths == [50, isAhead ? 50 : 100])
    }

    @Test("With variable sizes LRU is the only shadow and is followed for a tenth of a turnover")
    func lruIsTheOnlyShadowWithVariableSizes() {
        var shadows = shadows(usesUniformSizes: false)
        let history = history(residents: 50)
        for access in requests(1_000) where !shadows.isFollowing {
            shadows.access(access, isMiss: true, history: history)
        }
        let (leader, decider) = (shadows.leader?.name, shadows.nextDecider())
        #expect(leader == "lru" && decider == .leastRecent)
        let length = end(&shadows, history: history)
        #expect(length == 5)
    }

    @Test("A shadow that is ahead half of the time is not followed")
    func shadowAheadHalfOfTheTimeIsNotFollowed() {
        for usesUniformSizes in [true, false] {
            var shadows = shadows(usesUniformSizes: usesUniformSizes)
            let history = history(residents: 50)
            var generator = SplitMix64(seed: 8)
            let twin = cache(usesUniformSizes ? "s3-fifo" : "lru", usesUniformSizes: usesUniformSizes)
            var isNextLost = true
            for access in requests(100_000) {
                // The cache has the outcome of one shadow; every fifth outcome of a randomly chosen kind is inverted.
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

    @Test("The leader holds the objects of its policy's cache; all other residents are the surplus")
    func leaderHoldsItsPolicysObjectsAndTheRestIsSurplus() {
        var shadows = shadows()
        var history = ObjectHistory(entries: 2_000, ghostsPerResident: 1)
        let names = ["s3-fifo", "w-tinylfu", "lirs"]
        let caches = names.map { cache($0) }
        // Residents that are no longer requested.
        for entry in 1_000..<1_050 { history.link(history.open(EntryID(entry))) }
        for access in requests(3_000) where !shadows.isFollowing {
            shadows.access(access, isMiss: true, history: history)
            for cache in caches { _ = cache.access(access) }
        }
        let leader = caches[names.firstIndex { $0 == shadows.leader?.name } ?? 0]
        let held = (0..<EntryID(400)).filter { shadows.leaderHolds($0) }
        #expect(held == (0..<EntryID(400)).filter { leader.contains($0) })
        var surplus: [EntryID] = []
        while let entry = shadows.nextSurplus() { surplus.append(entry) }
        #expect(surplus == Array(1_000..<1_050))
    }

    @Test("A large cache with variable sizes has a shadow of one in 16 objects")
    func largeCacheWithVariableSizesUsesASampledShadow() {
        let history = history(residents: Referee.mostResidents + 1)
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

    @Test("A smaller sample keeps one in 16 of its objects and samples new ones at that rate")
    func smallerSampleKeepsOneIn16Objects() {
        let small = history(residents: 20)
        let large = history(residents: Referee.mostResidents + 1)
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

    @Test("Full shadows of a medium cache become sampled shadows once the learner leads")
    func fullShadowsBecomeSampledOnceTheLearnerLeads() {
        var bed = LargeCache(entries: 2_000)
        bed.serve(requests(50_000, range: 8_000), isMiss: false)
        bed.decide(Referee.turnoversUntilReview * 2_000)
        let (before, bytes) = (bed.shadows.full.shadows.count, bed.shadows.metadataBytes.total)
        bed.decide(1)
        let (after, fewerBytes) = (bed.shadows.full.shadows.count, bed.shadows.metadataBytes.total)
        #expect(before == 3 && after == 0 && fewerBytes * 4 < bytes)
        let sampled = bed.records.values.count { $0.isSampled }
        #expect((sampled * 8 - bed.records.count).magnitude < bed.records.count / 5, "one of eight objects")
        let balances = ["s3-fifo", "w-tinylfu", "lirs"].map { bed.shadows.balance(of: $0) }
        #expect(balances == [0, 0, 0])
    }

    @Test("The full shadows are kept while the learner does not lead")
    func fullShadowsStayWhileTheLearnerDoesNotLead() {
        var bed = LargeCache(entries: 2_000)
        bed.decide(10 * Referee.turnoversUntilReview * 2_000)
        let fullCount = bed.shadows.full.shadows.count
        #expect(fullCount == 3)
    }

    @Test("A sampled shadow that leads restarts with all objects and is followed a turnover later")
    func leadingSampledShadowRestartsInFullAndIsFollowed() {
        var bed = LargeCache(entries: 2_000)
        bed.serve(requests(50_000, range: 8_000), isMiss: false)
        bed.decide(Referee.turnoversUntilReview * 2_000 + 1)
        // The shadows of the sample have the residents at first, so that their differences count after a turnover.
        bed.serve(requests(20_000, range: 8_000), isMiss: true)
        let none = bed.shadows.full.shadows.count
        bed.decide(2_000)
        bed.serve(requests(20_000, range: 8_000), isMiss: true)
        let begun = bed.shadows.full.shadows.count
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
        "A full shadow that is not followed ends when it no longer leads on the sample",
        arguments: [true, false])
    func fullShadowEndsWhenItNoLongerLeads(isAhead: Bool) {
        var bed = LargeCache(entries: 2_000)
        bed.serve(requests(50_000, range: 30_000), isMiss: false)
        bed.decide((Referee.turnoversUntilReview + 1) * 2_000 + 1)
        bed.serve(requests(20_000, range: 30_000), isMiss: true)
        let begun = bed.shadows.full.shadows.count
        bed.serve(requests(80_000, range: 30_000), isMiss: isAhead)
        bed.decide((1 + Referee.turnoversUntilReview) * 2_000)
        let before = bed.shadows.full.shadows.count
        bed.decide(1)
        let after = bed.shadows.full.shadows.count
        #expect(begun >= 1 && before == begun && after == (isAhead ? begun : 0))
    }

    @Test(
        "A large cache starts with sampled shadows; full shadows count as bytes per resident")
    func largeCacheStartsWithSampledShadows() {
        let entries = Referee.mostResidents + 1
        var bed = LargeCache(entries: entries)
        let first = bed.shadows.metadataBytes
        bed.serve(requests(20_000, range: 60_000), isMiss: true)
        let (begun, bytes) = (bed.shadows.full.shadows.count, bed.shadows.metadataBytes)
        // One word of bits for LRU.
        #expect(first.perResident == 8 && first.fixed < 20_000)
        #expect(begun >= 1 && bytes.perResident > entries)
    }

    @Test("A forgotten object is new to the shadows, whether its number is reused or not")
    func forgottenObjectIsNewToTheShadows() {
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

    @Test("A removed object is removed from the shadows")
    func removedObjectLeavesTheShadows() throws {
        var shadows = shadows()
        let history = history(residents: 50)
        for access in requests(1_000) where !shadows.isFollowing {
            shadows.access(access, isMiss: true, history: history)
        }
        let first = (0..<EntryID(400)).first { shadows.leaderHolds($0) }
        let held = try #require(first)
        shadows.remove(held, last: -1)
        let isHeld = shadows.leaderHolds(held)
        #expect(!isHeld)
    }

    @Test("A removed object is a miss of the LRU shadow", arguments: [false, true])
    func removedObjectIsAMissOfTheLRUShadow(removes: Bool) {
        var shadows = shadows(usesUniformSizes: false)
        let history = history(residents: 50)
        shadows.access(Access(entry: 7), isMiss: true, history: history)
        if removes { shadows.remove(7, last: -1) }
        shadows.access(Access(entry: 7), isMiss: true, history: history)
        let balance = shadows.balance(of: "lru")
        #expect(balance == (removes ? 0 : 1))
    }

    @Test("A new capacity resizes the shadows and restarts their balances")
    func newCapacityResizesShadowsAndRestartsBalances() {
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
    func numbersAreDenseInRequestOrder() {
        var numbers = ShadowNumbers()
        let given = [7, 3, 7, 9].map { numbers.number(of: $0) }
        #expect(given == [0, 1, 0, 2])
        let (nine, four, first) = (numbers.known(9), numbers.known(4), numbers.entry(of: 1))
        #expect(nine == 2 && four == nil && first == 3)
    }

    @Test("The number of a forgotten object is reused once no shadow remembers it")
    func numberIsReusedOnceNoShadowRemembersIt() {
        var numbers = ShadowNumbers()
        for entry in [7, 3, 9] as [EntryID] { _ = numbers.number(of: entry) }
        numbers.retire(7)
        numbers.retire(3)
        let (seven, before) = (numbers.known(7), numbers.number(of: 5))
        #expect(seven == nil && before == 3, "No number is free.")
        numbers.free { $0 == 1 }
        let (after, waiting, next) = (numbers.number(of: 6), numbers.retired.count, numbers.number(of: 7))
        #expect(after == 0 && waiting == 1 && next == 4)
    }

    @Test("Freeing numbers takes fewer than two checks per object")
    func freeingNumbersTakesAmortizedConstantTime() {
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

    @Test("Numbers of a sample equal numbers of all objects")
    func sampleNumbersObjectsInTheSameWay() {
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
