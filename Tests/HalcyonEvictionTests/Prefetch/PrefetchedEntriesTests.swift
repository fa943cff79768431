import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

/// Prefetched entries in sequences worked by hand. The inner policy is LRU; its list is written latest first.
///
/// Entries are letters. A request increments the request number, a prefetch does not.
@Suite("Prefetched entries by hand", .timeLimit(.minutes(20)))
struct PrefetchedEntriesTests {
    /// A cache, and how many requests it has had.
    private struct Bench {
        let run: PrefetchingRun
        private var requests = 0

        init(_ policy: String = "lru", capacity: Int, lifetime: Int64? = nil) throws {
            run = PrefetchingRun(
                try PolicyCatalogue.classical.policy(policy), PolicyContext(capacity: capacity, lifetime: lifetime))
        }

        /// Requests in order: `+` hit, `-` miss, `!` refused, `~` stale, then the victims.
        mutating func ask(_ letters: String) -> String { serve(letters, isPrefetch: false) }

        /// Prefetches in order, in the same notation.
        mutating func fetch(_ letters: String) -> String { serve(letters, isPrefetch: true) }

        /// Reports whether a prefetched entry is likely to be requested.
        func judge(_ letter: String, isLikely: Bool) {
            let entry = EntryID(letter.utf8.first ?? 0) - EntryID(UInt8(ascii: "a"))
            run.cache.reconsider(Access(entry: entry, requestNumber: requests, isPrefetch: true), isLikely: isLikely)
        }

        private mutating func serve(_ letters: String, isPrefetch: Bool) -> String {
            var words: [String] = []
            for letter in letters.utf8 {
                let before = run.outer.victims.count
                let entry = EntryID(letter - UInt8(ascii: "a"))
                let outcome = run.access(
                    Access(entry: entry, requestNumber: requests, time: Int64(requests), isPrefetch: isPrefetch))
                if !isPrefetch { requests += 1 }
                let signs: [AccessOutcome: String] = [.hit: "+", .miss: "-", .refused: "!", .stale: "~"]
                words.append(name(entry) + (signs[outcome] ?? "?") + names(run.outer.victims[before...]))
            }
            return words.joined(separator: " ")
        }

        private func names(_ entries: ArraySlice<EntryID>) -> String { entries.map(name).joined() }
        private func name(_ entry: EntryID) -> String { String(UnicodeScalar(UInt8(entry) + UInt8(ascii: "a"))) }

        func metric(_ name: String) -> Double? { run.cache.state.metrics.first { $0.name == name }?.value }

        var breaches: [String] { run.outer.breaches + run.inner.breaches }
    }

    /// Capacity 4: LRU receives p at its hit.
    ///
    ///     a b, fetch p    LRU b a, prefetched p
    ///     p               LRU p b a
    ///     c               LRU c p b a
    ///     d e f           a, b and p are evicted in this order
    @Test("A prefetched entry is inserted into the policy at its first request")
    func usedPrefetchIsInsertedIntoThePolicy() throws {
        var bench = try Bench(capacity: 4)
        #expect(bench.ask("ab") == "a- b-")
        #expect(bench.fetch("p") == "p-")
        #expect(bench.run.inner.events == [.insertion(0), .insertion(1)])
        #expect(bench.ask("p") == "p+")
        #expect(bench.run.inner.events == [.insertion(0), .insertion(1), .insertion(15)])
        #expect(bench.ask("cdef") == "c- d-a e-b f-p")
        #expect(bench.ask("c") == "c+")
        #expect(bench.run.inner.hits == [2])
        #expect(bench.metric("prefetched_used") == 1 && bench.metric("prefetched_dropped") == 0)
        #expect(bench.breaches.isEmpty, "\(bench.breaches)")
    }

    /// Capacity 4, so protection is for 15 requests. p is fetched when one request was served (the time 1); d comes at
    /// the time 16 or 17.
    @Test("In a small cache a prefetched entry is protected for 15 requests, then evicted first")
    func protectionEndsAfter15RequestsInASmallCache() throws {
        for (hits, expected) in [(13, "d-a"), (14, "d-p")] {
            var bench = try Bench(capacity: 4)
            _ = bench.ask("a")
            _ = bench.fetch("p")
            _ = bench.ask("bc")
            let passing = String(repeating: "bc", count: 7).prefix(hits)
            _ = bench.ask(String(passing))
            #expect(bench.ask("d") == expected, "after \(hits) hits")
            #expect(bench.breaches.isEmpty, "\(bench.breaches)")
        }
    }

    /// 100 residents: a third of them, 33 requests.
    @Test("In a larger cache protection lasts a third as many requests as there are residents", arguments: [33, 34])
    func protectionLastsAThirdOfTheResidentsInRequests(age: Int) throws {
        let policy = try PolicyCatalogue.classical.policy("lru")
        let run = PrefetchingRun(policy, PolicyContext(capacity: 100))
        for entry in 0..<99 { _ = run.access(Access(entry: EntryID(entry), requestNumber: entry)) }
        _ = run.access(Access(entry: 200, requestNumber: 99, isPrefetch: true))
        for index in 99..<99 + age { _ = run.access(Access(entry: 98, requestNumber: index)) }
        _ = run.access(Access(entry: 300, requestNumber: 99 + age))
        #expect(run.outer.victims == [age > 33 ? 200 : 0])
    }

    /// Capacity 4. p and q are prefetched in this order; then q is unlikely.
    @Test("A prefetched entry reported as unlikely is evicted first, although it is protected")
    func unlikelyPrefetchIsEvictedFirst() throws {
        var bench = try Bench(capacity: 4)
        _ = bench.ask("ab")
        _ = bench.fetch("pq")
        bench.judge("q", isLikely: false)
        #expect(bench.ask("c") == "c-q")
        #expect(bench.ask("d") == "d-a", "p is protected")
        bench.judge("p", isLikely: false)
        #expect(bench.ask("e") == "e-p")
        #expect(bench.breaches.isEmpty, "\(bench.breaches)")
    }

    /// Capacity 4, so protection is for 15 requests. After 14 of them p is reported as likely; there is no report
    /// about q.
    @Test("A prefetched entry reported as likely stays protected; without a report protection ends")
    func likelyPrefetchStaysProtected() throws {
        var bench = try Bench(capacity: 4)
        _ = bench.ask("a")
        _ = bench.fetch("pq")
        let passing = String(repeating: "a", count: 14)
        _ = bench.ask(passing)
        bench.judge("p", isLikely: true)
        _ = bench.ask("aab")
        #expect(bench.ask("c") == "c-q", "no report about q for 17 requests, although p came before it")
        #expect(bench.ask("d") == "d-a")
        _ = bench.ask(String(repeating: "c", count: 11))
        #expect(bench.ask("e") == "e-p", "16 requests since p was likely")
        #expect(bench.breaches.isEmpty, "\(bench.breaches)")
    }

    @Test("A report about a used, evicted or unknown entry is ignored")
    func likelihoodOfOtherEntriesIsIgnored() throws {
        var bench = try Bench(capacity: 2)
        _ = bench.ask("a")
        _ = bench.fetch("p")
        _ = bench.ask("p")
        for letter in ["a", "p", "z"] { bench.judge(letter, isLikely: false) }
        #expect(bench.ask("ap") == "a+ p+")
        #expect(bench.ask("b") == "b-a")
        #expect(bench.breaches.isEmpty, "\(bench.breaches)")
    }

    /// Capacity 3: a prefetch evicts an entry of LRU, then the oldest unused prefetch when LRU has no entry left.
    @Test("A prefetch evicts the policy's victim, or the oldest unused prefetch if the policy has none")
    func prefetchEvictsThePolicysVictimFirst() throws {
        var bench = try Bench(capacity: 3)
        #expect(bench.ask("abc") == "a- b- c-")
        #expect(bench.fetch("pqrs") == "p-a q-b r-c s-p")
        #expect(bench.ask("a") == "a-q", "only unused prefetches are left")
        #expect(bench.ask("b") == "b-a", "unused prefetches are protected")
        #expect(bench.metric("prefetched_dropped") == 2 && bench.metric("prefetched_waiting") == 2)
        #expect(bench.breaches.isEmpty, "\(bench.breaches)")
    }

    @Test("After an unused prefetched entry is removed it can be prefetched again")
    func prefetchCanBeRepeatedAfterRemoval() throws {
        var bench = try Bench(capacity: 3)
        _ = bench.ask("a")
        _ = bench.fetch("p")
        bench.run.remove(15)
        #expect(bench.fetch("p") == "p-")
        #expect(bench.metric("prefetched_waiting") == 1)
        bench.run.remove(15)
        bench.run.remove(0)
        #expect(bench.run.inner.events == [.insertion(0), .removal(0)])
        #expect(bench.run.cache.state.count == 0 && bench.metric("prefetched_waiting") == 0)
        #expect(bench.ask("p") == "p-")
        #expect(bench.breaches.isEmpty, "\(bench.breaches)")
    }

    /// A lifetime of 3 requests, each of which takes a microsecond.
    @Test("A request for an expired prefetched entry is stale and inserts it into the policy")
    func expiredPrefetchIsStaleAndEntersThePolicy() throws {
        var bench = try Bench(capacity: 4, lifetime: 3)
        _ = bench.fetch("p")
        #expect(bench.ask("abcp") == "a- b- c- p~")
        #expect(bench.run.inner.events.last == .insertion(15))
        #expect(bench.metric("prefetched_waiting") == 0 && bench.metric("prefetched_used") == 0)
        #expect(bench.breaches.isEmpty, "\(bench.breaches)")
    }

    @Test("When the capacity is lowered unused prefetched entries are evicted first")
    func loweredCapacityEvictsUnusedPrefetchesFirst() throws {
        var context = PolicyContext(capacity: 10)
        context.prefetches = true
        let index = try PolicyCatalogue.classical.policy("lru").makeCache(context)
        var victims: [EntryID] = []
        for entry in EntryID(0)..<3 {
            _ = index.store(Access(entry: entry, requestNumber: Int(entry)), deadline: .max, victims: &victims)
        }
        for entry: EntryID in [8, 9] {
            _ = index.store(Access(entry: entry, requestNumber: 3, isPrefetch: true), deadline: .max, victims: &victims)
        }
        index.limit(capacity: 2, count: .max, at: Access(entry: .none, requestNumber: 3), victims: &victims)
        #expect(victims == [8, 9, 0])
    }

    /// The context of a cache of `capacity` that prefetches.
    private static func prefetching(_ capacity: Int) -> PolicyContext {
        var context = PolicyContext(capacity: capacity)
        context.prefetches = true
        return context
    }

    /// FIFO that refuses odd entries.
    private struct EvenOnly: EvictionPolicy {
        var entries: [EntryID] = []

        mutating func hit(_ access: Access) {}
        mutating func admit(_ access: Access) -> Bool { access.entry.isMultiple(of: 2) }
        mutating func victim(for access: Access) -> EntryID { entries.removeFirst() }
        mutating func insert(_ access: Access) { entries.append(access.entry) }
        mutating func remove(_ entry: EntryID) { entries.removeAll { $0 == entry } }
    }

    /// Capacity 3. 3 and 1 are prefetched. 1 is requested and refused, so it is evicted although 3 came before it.
    @Test("A requested prefetch that the policy refuses is a hit and the next victim")
    func requestedPrefetchThatThePolicyRefusesIsEvictedFirst() {
        var index = CacheCore(EvenOnly(), Self.prefetching(3))
        for entry: EntryID in [3, 1] { _ = index.access(Access(entry: entry, requestNumber: 0, isPrefetch: true)) }
        let outcomes = [1, 1, 2, 4].enumerated().map { number, entry in
            index.access(Access(entry: EntryID(entry), requestNumber: number))
        }
        #expect(outcomes == [.hit, .hit, .miss, .miss])
        var victims: [EntryID] = []
        index.takeVictims(into: &victims)
        #expect(victims == [1])
        let areResident = index.contains(2) && index.contains(3) && index.contains(4)
        #expect(areResident)
    }

    /// Names the requested entry as the victim, so that no resident is evicted.
    private struct Keeper: EvictionPolicy {
        mutating func hit(_ access: Access) {}
        mutating func victim(for access: Access) -> EntryID { access.entry }
        mutating func insert(_ access: Access) {}
        mutating func remove(_ entry: EntryID) {}
    }

    @Test("When the policy names no resident as victim the prefetch is refused")
    func prefetchIsRefusedWithoutAVictim() {
        var index = CacheCore(Keeper(), Self.prefetching(2))
        for entry: EntryID in [0, 1] { _ = index.access(Access(entry: entry, requestNumber: Int(entry))) }
        let fetched = index.access(Access(entry: 5, requestNumber: 2, isPrefetch: true))
        let count = index.count
        #expect(fetched == .refused && count == 2)
    }
}
