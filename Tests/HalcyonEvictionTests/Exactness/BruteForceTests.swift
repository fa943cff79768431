import HalcyonEviction
import Testing

/// The simplest policies compared with the simplest correct code, on thousands of small random traces.
@Suite("Simple policies beside brute force", .timeLimit(.minutes(20)))
struct BruteForceTests {
    static let references: [String: @Sendable ([Access], Int) -> [Bool]] = [
        "fifo": { BruteForce.fifo($0, capacity: $1) }, "lru": { BruteForce.lru($0, capacity: $1) },
        "lfu": { BruteForce.lfu($0, capacity: $1) }, "belady": { BruteForce.belady($0, capacity: $1) },
    ]

    @Test("With uniform sizes every hit equals brute force", arguments: references.keys.sorted())
    func uniformSizesMatchBruteForceHitForHit(name: String) throws {
        try compare(name, traces: 2000, largestCost: 1)
    }

    // With sizes, the order in which Belady evicts entries without a next use matters and is undefined.
    @Test("With variable sizes every hit equals brute force", arguments: ["fifo", "lfu", "lru"])
    func variableSizesMatchBruteForceHitForHit(name: String) throws {
        try compare(name, traces: 2000, largestCost: 5)
    }

    /// The most hits of any cache of equal sizes, by trying every choice: which entry to evict, and with `bypasses` whether
    /// to admit at all.
    private func mostHits(_ requests: [EntryID], capacity: Int, bypasses: Bool) -> Int {
        // The most hits so far, by the set of residents.
        var best: [Set<EntryID>: Int] = [[]: 0]
        for entry in requests {
            var next: [Set<EntryID>: Int] = [:]
            func reach(_ residents: Set<EntryID>, _ hits: Int) { next[residents] = max(next[residents] ?? 0, hits) }
            for (residents, hits) in best {
                if residents.contains(entry) {
                    reach(residents, hits + 1)
                    continue
                }
                if bypasses || capacity == 0 { reach(residents, hits) }
                if residents.count < capacity { reach(residents.union([entry]), hits) }
                if residents.count == capacity {
                    for victim in residents { reach(residents.subtracting([victim]).union([entry]), hits) }
                }
            }
            best = next
        }
        return best.values.max() ?? 0
    }

    @Test(
        "Belady has the most hits of all admitting caches; with bypass, of all caches",
        arguments: [false, true])
    func beladyHasTheMostHitsPossible(bypasses: Bool) throws {
        let policy = try PolicyCatalogue.classical.policy(bypasses ? "belady(bypass=on)" : "belady")
        var random = SplitMix64(seed: 17)
        var differences = 0
        for number in 0..<600 {
            let (objects, capacity) = (2 + random.next(below: 6), random.next(below: 4))
            let requests = (0..<24).map { _ in EntryID(random.next(below: objects)) }
            let cache = policy.makeCache(
                PolicyContext(
                    capacity: capacity, entries: objects,
                    future: FutureKnowledge(entries: requests, entryCount: objects)))
            let hits = requests.enumerated().count { index, entry in
                cache.access(Access(entry: entry, requestNumber: index)) == .hit
            }
            let most = mostHits(requests, capacity: capacity, bypasses: bypasses)
            #expect(hits == most, "trace \(number), capacity \(capacity): \(requests)")
            if bypasses, most > mostHits(requests, capacity: capacity, bypasses: false) { differences += 1 }
        }
        // Otherwise the test does not distinguish the two.
        #expect(!bypasses || differences > 100)
    }

    private func compare(_ name: String, traces: Int, largestCost: Int) throws {
        let reference = try #require(Self.references[name])
        let policy = try PolicyCatalogue.classical.policy(name)
        var random = SplitMix64(seed: 11)
        for number in 0..<traces {
            let objects = 2 + random.next(below: 12)
            let capacity = random.next(below: 12 * largestCost)
            let sizes = (0..<objects).map { _ in 1 + random.next(below: largestCost) }
            let accesses = (0..<60).map { index in
                let entry = random.next(below: objects)
                return Access(entry: EntryID(entry), requestNumber: index, size: sizes[entry])
            }
            let cache = policy.makeCache(
                PolicyContext(
                    capacity: capacity, entries: objects, usesUniformSizes: largestCost == 1,
                    future: FutureKnowledge(entries: accesses.map(\.entry), entryCount: objects)))
            let hits = accesses.map { cache.access($0) == .hit }
            guard hits != reference(accesses, capacity) else { continue }
            Issue.record("\(name), trace \(number), capacity \(capacity): \(accesses.map { ($0.entry, $0.size) })")
            return
        }
    }
}

/// Caches as lists of residents that are searched from end to end.
enum BruteForce {
    /// In order of insertion; the first is evicted.
    static func fifo(_ accesses: [Access], capacity: Int) -> [Bool] {
        serve(accesses, capacity: capacity) { residents, _ in residents.min { $0.arrival < $1.arrival } }
    }

    /// The least recently requested is evicted.
    static func lru(_ accesses: [Access], capacity: Int) -> [Bool] {
        serve(accesses, capacity: capacity) { residents, _ in residents.min { $0.last < $1.last } }
    }

    /// The least often requested since insertion is evicted; among equals, the least recently requested.
    static func lfu(_ accesses: [Access], capacity: Int) -> [Bool] {
        serve(accesses, capacity: capacity) { residents, _ in
            residents.min { ($0.uses, $0.last) < ($1.uses, $1.last) }
        }
    }

    /// The entry with the latest next request is evicted.
    static func belady(_ accesses: [Access], capacity: Int) -> [Bool] {
        serve(accesses, capacity: capacity) { residents, now in
            func nextUse(_ entry: EntryID) -> Int {
                accesses[(now + 1)...].first { $0.entry == entry }?.requestNumber ?? .max
            }
            return residents.max { nextUse($0.entry) < nextUse($1.entry) }
        }
    }

    private struct Resident {
        let entry: EntryID
        let size: Int
        let arrival: Int
        var last: Int
        var uses = 1
    }

    private static func serve(
        _ accesses: [Access], capacity: Int, victim: ([Resident], Int) -> Resident?
    ) -> [Bool] {
        var residents: [Resident] = []
        return accesses.map { access in
            if let place = residents.firstIndex(where: { $0.entry == access.entry }) {
                residents[place].last = access.requestNumber
                residents[place].uses += 1
                return true
            }
            guard access.size <= capacity else { return false }
            while residents.reduce(0, { $0 + $1.size }) + access.size > capacity {
                guard let leaving = victim(residents, access.requestNumber) else { break }
                residents.removeAll { $0.entry == leaving.entry }
            }
            residents.append(
                Resident(
                    entry: access.entry, size: access.size, arrival: access.requestNumber, last: access.requestNumber))
            return false
        }
    }
}
