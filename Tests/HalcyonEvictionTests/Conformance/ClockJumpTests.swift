import HalcyonEvictionTestSupport
import Testing

@testable import HalcyonEviction

/// Decisions do not depend on the number of earlier requests.
@Suite("Clocks beyond 31 and 32 bits", .timeLimit(.minutes(20)))
struct ClockJumpTests {
    static let names = PolicyCatalogue.classical.entries.map(\.info).filter { !$0.traits.contains(.needsFuture) }
        .map(\.name)
    /// 31 and 32 bits are passed in the middle of the trace, and numbers far beyond.
    static let starts = [1 << 31 - 700, 1 << 32 - 700, 1 << 40]

    private func jumped(_ accesses: [Access], by start: Int) -> [Access] {
        accesses.map { access in
            var access = access
            access.requestNumber += start
            return access
        }
    }

    @Test("Request numbers near 2³¹ and 2³² change no decision of any online policy", arguments: names)
    func requestNumbersBeyond32BitsChangeNoDecision(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        for trace in MicroTrace.all {
            let context = trace.context(for: policy, capacity: 40)
            let expected = CheckedRun(policy, context)
            let outcomes = expected.serve(trace.accesses)
            for start in Self.starts {
                let run = CheckedRun(policy, context)
                let jumped = run.serve(jumped(trace.accesses, by: start))
                #expect(jumped == outcomes && run.record.events == expected.record.events, "\(trace) from \(start)")
            }
        }
    }

    @Test("Request numbers near 2³¹ and 2³² change no decision on prefetched entries", arguments: ["lru", "gdsf"])
    func requestNumbersBeyond32BitsKeepPrefetchDecisions(name: String) throws {
        let policy = try PolicyCatalogue.classical.policy(name)
        func outcomes(from start: Int) -> ([AccessOutcome], [EntryID]) {
            var context = PolicyContext(capacity: 12)
            context.prefetches = true
            let cache = policy.makeCache(context)
            var random = SplitMix64(seed: 4)
            var outcomes: [AccessOutcome] = []
            var victims: [EntryID] = []
            for index in 0..<1_500 {
                let number = start + index
                outcomes.append(
                    cache.access(Access(entry: EntryID(random.next(below: 40)), requestNumber: number)))
                let fetched = EntryID(random.next(below: 40))
                if random.next(below: 3) == 0 {
                    _ = cache.access(Access(entry: fetched, requestNumber: number, isPrefetch: true))
                }
                if random.next(below: 4) == 0 {
                    cache.reconsider(
                        Access(entry: EntryID(random.next(below: 40)), requestNumber: number, isPrefetch: true),
                        isLikely: random.next(below: 2) == 0)
                }
                cache.takeVictims(into: &victims)
            }
            return (outcomes, victims)
        }
        let (expected, victims) = outcomes(from: 0)
        #expect(victims.count > 500)
        for start in Self.starts {
            let (found, left) = outcomes(from: start)
            #expect(found == expected && left == victims, "from \(start)")
        }
    }

    @Test("A protected entry stays protected while the request number passes 2³¹ and 2³²", arguments: [31, 32])
    func protectionSpansRequestNumbersBeyond32Bits(bits: Int) throws {
        var context = PolicyContext(capacity: 2)
        context.prefetches = true
        let cache = try PolicyCatalogue.classical.policy("lru").makeCache(context)
        let start = 1 << bits - 2
        _ = cache.access(Access(entry: 0, requestNumber: start))
        _ = cache.access(Access(entry: 9, requestNumber: start + 1, isPrefetch: true))
        // Two requests later it is protected, so that 0 is evicted.
        _ = cache.access(Access(entry: 0, requestNumber: start + 1))
        _ = cache.access(Access(entry: 1, requestNumber: start + 2))
        #expect(cache.contains(9) && !cache.contains(0) && cache.contains(1))
        // 16 requests after the fetch it no longer is.
        for index in 3..<18 { _ = cache.access(Access(entry: 1, requestNumber: start + index)) }
        _ = cache.access(Access(entry: 2, requestNumber: start + 18))
        #expect(!cache.contains(9) && cache.contains(1))
    }

    /// Serves a trace by a policy whose own clock stands at `clock`.
    private func events<Policy: EvictionPolicy & ~Copyable>(
        _ trace: MicroTrace, _ policy: consuming Policy, _ context: PolicyContext
    ) -> [PolicyRecord.Event] {
        let record = PolicyRecord()
        let cache = PolicyChecker(record).makeCache(around: policy, context: context)
        for access in trace.accesses { _ = cache.access(access) }
        #expect(record.breaches.isEmpty)
        return record.events
    }

    @Test("The clocks of Hyperbolic, LHD and LeCaR pass 2³⁰ and 2³² and change no decision")
    func policyClocksBeyond32BitsChangeNoDecision() throws {
        for trace in MicroTrace.all {
            func events(_ clock: UInt32) throws -> [[PolicyRecord.Event]] {
                let hyperbolicContext = trace.context(
                    for: try PolicyCatalogue.classical.policy("hyperbolic"), capacity: 40)
                var hyperbolic = Hyperbolic(Hyperbolic.Parameters(), context: hyperbolicContext)
                hyperbolic.clock = clock
                var parameters = LHD.Parameters()
                parameters.interval = 200
                var lhd = LHD(parameters, context: hyperbolicContext)
                lhd.clock = clock
                var lecar = LeCaR(LeCaR.Parameters(), context: hyperbolicContext)
                lecar.clock = clock
                return [
                    self.events(trace, hyperbolic, hyperbolicContext), self.events(trace, lhd, hyperbolicContext),
                    self.events(trace, lecar, hyperbolicContext),
                ]
            }
            let expected = try events(0)
            for clock: UInt32 in [1 << 30 - 500, 1 << 31 - 500, .max - 500] {
                #expect(try events(clock) == expected, "\(trace) from \(clock)")
            }
        }
    }

    @Test("An entry that is 2³² accesses old does not look new to Hyperbolic")
    func veryOldEntryDoesNotLookNewToHyperbolic() {
        var policy = Hyperbolic(Hyperbolic.Parameters(), context: PolicyContext(capacity: 2))
        func request(_ entry: EntryID, isNew: Bool) {
            let access = Access(entry: entry)
            if isNew {
                _ = policy.admit(access)
                policy.insert(access)
            } else {
                policy.hit(access)
            }
        }
        request(0, isNew: true)
        for _ in 0..<3 { request(0, isNew: false) }
        // 2³² accesses pass, in steps to the sweeps between them; entry 1 comes at the end.
        for quarter: UInt32 in 1...3 {
            policy.clock = quarter << 30 - 1
            request(0, isNew: false)
        }
        policy.clock = .max
        request(1, isNew: true)
        request(1, isNew: false)
        // Entry 0 has 7 requests in 2³² accesses, entry 1 has 2 in 2.
        let victim = policy.victim(for: Access(entry: 2))
        #expect(victim == 0)
    }

    @Test("Ages are limited once in 2³⁰ steps, and never look shorter than they are")
    func agesAreLimitedOnceIn2To30Steps() {
        let events: [UInt32] = [0, 1, 77, 1 << 30, 1 << 31, .max]
        for event in events {
            var moment = event
            var now = Int(event)
            var age = 0
            for _ in 0..<64 {
                // To the next sweep.
                let next = (now >> 30 + 1) << 30
                age += next - now
                now = next
                #expect(WrappingClock.isSweepDue(now) && WrappingClock.isSweepDue(UInt32(truncatingIfNeeded: now)))
                let seen = Int(UInt32(truncatingIfNeeded: now) &- moment)
                #expect(seen == age || (age > seen && seen >= Int(WrappingClock.longestAge)))
                moment = WrappingClock.limited(moment, now: UInt32(truncatingIfNeeded: now))
            }
        }
        #expect(!WrappingClock.isSweepDue(1) && !WrappingClock.isSweepDue(1 << 29))
    }

    @Test("Of equal ranks the older is first when the request number passes 2³²")
    func olderOfEqualRanksIsFirstBeyond32Bits() {
        let (older, newer) = (Rank(1, index: 1 << 32 - 1), Rank(1, index: 1 << 32))
        #expect(older < newer && !(newer < older))
        #expect(Rank(0, index: 1 << 32) < older && Rank(1, index: 5) < Rank(1, index: 6))
    }

    @Test("Slot numbers beyond 32 bits do not wrap around to other slots")
    func slotsBeyond32BitsDoNotWrapAround() {
        var slots = SlotArray<Int>(repeating: -1, capacity: 8)
        slots[wide: 3] = 5
        let (same, wrapped, beyond) = (slots[3], slots[wide: 1 << 32 + 3], slots[wide: 9])
        #expect(same == 5 && wrapped == -1 && beyond == -1)
        slots[wide: 100] = 7
        let grown = slots[100]
        #expect(grown == 7)
    }
}
