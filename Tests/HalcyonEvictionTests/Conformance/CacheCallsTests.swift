import HalcyonEviction
import Testing

@Suite("Calls of a cache", .timeLimit(.minutes(20)))
struct CacheCallsTests {
    /// Calls as a storage makes them, with times, sizes and deadlines of any magnitude.
    private func call(_ random: inout SplitMix64) -> CacheCalls.Call {
        let time = Int64(bitPattern: random.next()) >> Int64(random.next(below: 60))
        let access = Access(
            entry: UInt32(random.next(below: 500)), requestNumber: Int(random.next(below: 1 << 40)), time: time,
            size: Int(random.next(below: 1 << 50)), categories: UInt32(random.next(below: 9)),
            user: random.next(below: 3) == 0 ? .max : UInt32(random.next(below: 7)),
            isPrefetch: random.next(below: 5) == 0)
        let deadline = random.next(below: 2) == 0 ? Int64.max : time &+ 600_000_000
        switch random.next(below: 7) {
        case 0: return CacheCalls.Call(.request, access)
        case 1: return CacheCalls.Call(.store, access, deadline: deadline)
        case 2: return CacheCalls.Call(.hit, access, deadline: deadline)
        case 3: return .removal(of: access.entry)
        case 4: return CacheCalls.Call(.limit, access, size: 99, count: .max)
        case 5: return CacheCalls.Call(.trim, access, size: .max, count: 7)
        default: return CacheCalls.Call(.reconsider, access, isLikely: true)
        }
    }

    @Test("Calls are read as they were added, from their bytes, too; beyond a number the oldest are dropped")
    func callsAreReadAsAdded() throws {
        var random = SplitMix64(seed: 5)
        var (calls, expected) = (CacheCalls(most: 320), [CacheCalls.Call]())
        for number in 1...2_000 {
            let one = call(&random)
            calls.append(one)
            expected.append(one)
            if number == 320 { #expect(calls.isWhole && calls.count == 320) }
        }
        #expect(!calls.isWhole && (301...320).contains(calls.count))
        var found: [CacheCalls.Call] = []
        calls.forEach { found.append($0) }
        #expect(found == Array(expected.suffix(calls.count)))
        let read = try #require(CacheCalls(calls.bytes, most: 320))
        var again: [CacheCalls.Call] = []
        read.forEach { again.append($0) }
        #expect(again == found && !read.isWhole)
        calls.remove(user: 3)
        calls.forEach { #expect($0.access.user != 3) }
        #expect(calls.count == found.count { $0.access.user != 3 })
    }

    @Test("Bytes that were cut off or changed give no calls or others in the same ranges, and never a crash")
    func damagedBytesAreNoCalls() {
        var random = SplitMix64(seed: 6)
        var calls = CacheCalls(most: 64)
        for _ in 0..<60 { calls.append(call(&random)) }
        let bytes = calls.bytes
        #expect(CacheCalls([]) == nil && CacheCalls([2]) == nil)
        for length in 2..<bytes.count { _ = CacheCalls(Array(bytes.prefix(length)), most: 64) }
        #expect(CacheCalls(Array(bytes.dropLast()), most: 64) == nil)
        #expect(
            CacheCalls(bytes, entries: 3) == nil && CacheCalls(bytes, sets: 2) == nil
                && CacheCalls(bytes, users: 1) == nil)
        for place in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[place] ^= 1 << bit
                CacheCalls(damaged, most: 64, entries: 500, sets: 9, users: 7)?.forEach {
                    #expect($0.access.entry < 500 || $0.access.entry == .none)
                    #expect($0.access.size >= 0 && $0.count >= 0 && $0.access.categories < 9)
                }
            }
        }
    }

    static let policies = PolicyCatalogue.classical.entries.map(\.info).filter { !$0.traits.contains(.needsFuture) }
        .map(\.name)

    /// A cache and the calls that it has received.
    private struct Recorded {
        var cache: AnyCache
        var calls = CacheCalls()
        var victims: [EntryID] = []

        mutating func perform(_ call: CacheCalls.Call) {
            var (call, access) = (call, call.access)
            switch call.kind {
            case .store: _ = cache.store(access, deadline: call.deadline, victims: &victims)
            case .hit:
                access.size = 0
                guard cache.hit(access, deadline: call.deadline, victims: &victims) else { return }
                call.access.size = cache.lastSize(of: access.entry)
            case .remove: cache.remove(access.entry)
            case .trim:
                let now = Access(entry: .none, requestNumber: access.requestNumber, time: access.time, size: 0)
                cache.trim(to: access.size, count: call.count, at: now, victims: &victims)
            default: return
            }
            calls.append(call)
        }
    }

    @Test(
        "Under every policy, an empty cache that receives the calls of another decides as that one", arguments: policies
    )
    func replayedCacheDecidesAsTheOther(name: String) throws {
        for isUniform in [true, false] {
            var context = PolicyContext(capacity: isUniform ? 40 : 4_000, usesUniformSizes: isUniform, seed: 9)
            context.keepsVictims = true
            context.entriesExpire = true
            let policy = try PolicyCatalogue.classical.policy(name)
            var random = SplitMix64(seed: 21)
            var one = Recorded(cache: policy.makeCache(context))
            var other = one.cache
            for step in 0..<6_000 {
                let entry = UInt32(min(random.next(below: 160), random.next(below: 160)))
                var access = Access(
                    entry: entry, requestNumber: step, time: Int64(step) * 1_000,
                    size: isUniform ? 1 : Int(entry * 7 % 190 + 1), user: 0)
                let call: CacheCalls.Call
                switch random.next(below: 200) {
                case 0..<3: call = .removal(of: entry)
                case 3:
                    access.entry = .none
                    call = CacheCalls.Call(.trim, access, size: isUniform ? 20 : 2_000, count: .max)
                default:
                    let deadline = random.next(below: 4) == 0 ? access.time + 90_000 : .max
                    call = CacheCalls.Call(
                        one.cache.contains(entry, freshAt: access.time) ? .hit : .store, access, deadline: deadline)
                }
                one.perform(call)
                if step % 500 == 250 {
                    // From here on, the calls go to a cache that has received the earlier ones from bytes.
                    other = policy.makeCache(context)
                    var read = try #require(CacheCalls(one.calls.bytes))
                    let residents = (0..<160).filter { one.cache.contains($0) }.map {
                        CacheCalls.Resident(
                            Access(entry: $0, size: one.cache.lastSize(of: $0)), deadline: one.cache.deadline(of: $0))
                    }
                    read.replay(on: other, residents: residents, end: 160)
                    let isSame = read == one.calls
                    #expect(isSame, "step \(step)")
                    for entry in 0..<EntryID(160) {
                        #expect(other.contains(entry) == one.cache.contains(entry))
                        #expect(other.deadline(of: entry) == one.cache.deadline(of: entry))
                        #expect(other.remembers(entry) == one.cache.remembers(entry))
                    }
                    #expect(other.used == one.cache.used && other.metrics == one.cache.metrics)
                    one.cache = other
                }
            }
            let evicted = one.victims
            // The same without any restart.
            var plain = Recorded(cache: policy.makeCache(context))
            var all: [CacheCalls.Call] = []
            one.calls.forEach { all.append($0) }
            for call in all { plain.perform(call) }
            #expect(plain.victims == evicted && evicted.count > 300)
        }
    }

    @Test(
        "Residents that the calls do not explain are stored, those that are gone are removed, dropped ones come first")
    func replayEndsWithTheResidents() throws {
        var context = PolicyContext(capacity: 4, usesUniformSizes: true, seed: 1)
        context.keepsVictims = true
        let lru = try PolicyCatalogue.classical.policy("lru")
        func access(_ entry: EntryID, _ time: Int64) -> Access { Access(entry: entry, time: time, size: 1) }
        var calls = CacheCalls(most: 16)
        // The stores of 0 and 1 are dropped. Their hits are not.
        for step in 0..<18 {
            calls.append(
                CacheCalls.Call(
                    step < 2 ? .store : .hit, access(step < 2 ? UInt32(step) : 1, Int64(step)), deadline: .max))
        }
        #expect(!calls.isWhole)
        let cache = lru.makeCache(context)
        let residents = [access(0, 0), access(7, 1), access(1, 17), access(9, 99)].map {
            CacheCalls.Resident($0, deadline: .max)
        }
        calls.replay(on: cache, residents: residents, end: 10)
        #expect((0..<10).filter { cache.contains($0) } == [0, 1, 7, 9])
        var victims: [EntryID] = []
        for entry in 20..<24 { _ = cache.store(access(UInt32(entry), 200), deadline: .max, victims: &victims) }
        #expect(victims == [0, 7, 1, 9])
        calls.replay(on: lru.makeCache(context), residents: [], end: 10)
        #expect(!calls.isWhole)
    }
}
