import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

/// What was fetched ahead, against sequences worked by hand; the policy within is LRU, and its list is written latest first.
///
/// Entries are letters. A request counts, a fetch does not.
@Suite("What was fetched ahead, by hand", .timeLimit(.minutes(20)))
struct PrefetchedEntriesTests {
    /// A cache, and how many requests it has had.
    private struct Bench {
        let run: PrefetchingRun
        private var requests = 0

        init(_ policy: String = "lru", capacity: Int, lifetime: Int64? = nil) throws {
            run = PrefetchingRun(
                try PolicyCatalogue.classical.policy(policy), PolicyContext(capacity: capacity, lifetime: lifetime))
        }

        /// Requests in order; `+` hit, `-` miss, `!` refused, `~` stale, and who had to leave.
        mutating func ask(_ letters: String) -> String { serve(letters, isPrefetch: false) }

        /// Fetches in order, in the same notation.
        mutating func fetch(_ letters: String) -> String { serve(letters, isPrefetch: true) }

        /// Says of what waits whether it is likely.
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

    /// Capacity 4: the hit on p is the first that LRU hears of it.
    ///
    ///     a b, fetch p    LRU b a, waiting p
    ///     p               LRU p b a
    ///     c               LRU c p b a
    ///     d e f           a, b and p go in this order
    @Test("An entry that is asked for comes in with the policy, as any other")
    func used() throws {
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
    @Test("An entry is protected for 15 requests in a small cache, from then on it is the first to go")
    func overdue() throws {
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
    func protection(age: Int) throws {
        let policy = try PolicyCatalogue.classical.policy("lru")
        let run = PrefetchingRun(policy, PolicyContext(capacity: 100))
        for entry in 0..<99 { _ = run.access(Access(entry: EntryID(entry), requestNumber: entry)) }
        _ = run.access(Access(entry: 200, requestNumber: 99, isPrefetch: true))
        for index in 99..<99 + age { _ = run.access(Access(entry: 98, requestNumber: index)) }
        _ = run.access(Access(entry: 300, requestNumber: 99 + age))
        #expect(run.outer.victims == [age > 33 ? 200 : 0])
    }

    /// Capacity 4. p and q wait, q came later and is likely no longer.
    @Test("What is likely no longer is the first to go, though it is protected and others came before it")
    func unlikely() throws {
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

    /// Capacity 4, so protection is for 15 requests; p is held to be likely after 14 of them, q is not looked at.
    @Test("What is still likely stays protected; of what nothing is said protection ends")
    func stillLikely() throws {
        var bench = try Bench(capacity: 4)
        _ = bench.ask("a")
        _ = bench.fetch("pq")
        let passing = String(repeating: "a", count: 14)
        _ = bench.ask(passing)
        bench.judge("p", isLikely: true)
        _ = bench.ask("aab")
        #expect(bench.ask("c") == "c-q", "nobody has said anything of q for 17 requests, p came before it")
        #expect(bench.ask("d") == "d-a")
        _ = bench.ask(String(repeating: "c", count: 11))
        #expect(bench.ask("e") == "e-p", "16 requests since p was likely")
        #expect(bench.breaches.isEmpty, "\(bench.breaches)")
    }

    @Test("Of what does not wait nothing is said: an entry that was asked for, one that is gone")
    func nothingSaid() throws {
        var bench = try Bench(capacity: 2)
        _ = bench.ask("a")
        _ = bench.fetch("p")
        _ = bench.ask("p")
        for letter in ["a", "p", "z"] { bench.judge(letter, isLikely: false) }
        #expect(bench.ask("ap") == "a+ p+")
        #expect(bench.ask("b") == "b-a")
        #expect(bench.breaches.isEmpty, "\(bench.breaches)")
    }

    /// Capacity 3: a fetch takes the place of LRU's own, then of the one that waited longest when LRU has none left.
    @Test("A prefetch evicts what the policy wants least, or another prefetched entry if the policy has none")
    func fetches() throws {
        var bench = try Bench(capacity: 3)
        #expect(bench.ask("abc") == "a- b- c-")
        #expect(bench.fetch("pqrs") == "p-a q-b r-c s-p")
        #expect(bench.ask("a") == "a-q", "only what waits is left")
        #expect(bench.ask("b") == "b-a", "what waits is protected")
        #expect(bench.metric("prefetched_dropped") == 2 && bench.metric("prefetched_waiting") == 2)
        #expect(bench.breaches.isEmpty, "\(bench.breaches)")
    }

    @Test("What is fetched again while it waits waits as before")
    func again() throws {
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
    @Test("What expires while it waits is fetched anew and comes in with the policy")
    func expiry() throws {
        var bench = try Bench(capacity: 4, lifetime: 3)
        _ = bench.fetch("p")
        #expect(bench.ask("abcp") == "a- b- c- p~")
        #expect(bench.run.inner.events.last == .insertion(15))
        #expect(bench.metric("prefetched_waiting") == 0 && bench.metric("prefetched_used") == 0)
        #expect(bench.breaches.isEmpty, "\(bench.breaches)")
    }

    @Test("Where nobody wants the place, what waits goes before all others")
    func leastWanted() throws {
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

    /// What a cache of `capacity` that prefetches is made with.
    private static func prefetching(_ capacity: Int) -> PolicyContext {
        var context = PolicyContext(capacity: capacity)
        context.prefetches = true
        return context
    }

    /// Refuses odd entries for itself; first in, first out.
    private struct EvenOnly: EvictionPolicy {
        var entries: [EntryID] = []

        mutating func hit(_ access: Access) {}
        mutating func admit(_ access: Access) -> Bool { access.entry.isMultiple(of: 2) }
        mutating func victim(for access: Access) -> EntryID { entries.removeFirst() }
        mutating func insert(_ access: Access) { entries.append(access.entry) }
        mutating func remove(_ entry: EntryID) { entries.removeAll { $0 == entry } }
    }

    /// Capacity 3. 1 and 3 wait; 1 is asked for and not wanted, so it goes although it is protected and 3 came before it.
    @Test("What the policy refuses when it is asked for is a hit, and the first to go")
    func refusal() {
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

    /// Wants nobody to go unless for a newcomer of its own.
    private struct Keeper: EvictionPolicy {
        mutating func hit(_ access: Access) {}
        mutating func victim(for access: Access) -> EntryID { access.entry }
        mutating func insert(_ access: Access) {}
        mutating func remove(_ entry: EntryID) {}
    }

    @Test("A policy that names nobody keeps its entries, and the fetch is refused")
    func keeper() {
        var index = CacheCore(Keeper(), Self.prefetching(2))
        for entry: EntryID in [0, 1] { _ = index.access(Access(entry: entry, requestNumber: Int(entry))) }
        let fetched = index.access(Access(entry: 5, requestNumber: 2, isPrefetch: true))
        let count = index.count
        #expect(fetched == .refused && count == 2)
    }
}
