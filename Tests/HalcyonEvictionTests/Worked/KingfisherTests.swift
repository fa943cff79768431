import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

/// Expiration and trimming as in Kingfisher's storages.
@Suite("Kingfisher by hand", .timeLimit(.minutes(20)))
struct KingfisherTests {
    private static let second: Int64 = 1_000_000

    private func run(_ policy: String, capacity: Int) throws -> CheckedRun {
        CheckedRun(try PolicyCatalogue.classical.policy(policy), PolicyContext(capacity: capacity))
    }

    @Test(
        "Entries expire 300 seconds (memory) or a week (disk) after the last access",
        arguments: [("kingfisher-memory", 300), ("kingfisher-disk", 604_800)])
    func entriesExpireAfter300SecondsOrAWeek(policy: String, seconds: Int64) throws {
        let run = try run(policy, capacity: 4)
        let lifetime = seconds * Self.second
        let times = [0, lifetime - 1, 2 * lifetime - 2, 3 * lifetime - 2, 4 * lifetime - 3]
        let outcomes = times.enumerated().map { index, time in
            run.cache.access(Access(entry: 0, requestNumber: index, time: time))
        }
        // Each hit restarts the lifetime; at its end the entry has expired.
        #expect(outcomes == [.miss, .hit, .hit, .stale, .hit])
        #expect(run.record.breaches == [])
    }

    @Test("kingfisher-memory evicts the least recently used entry, one at a time")
    func memoryEvictsTheLeastRecentlyUsed() throws {
        let worked = WorkedSequence("a- b- a+ c-b d-a c+")
        #expect(try worked.played(by: "kingfisher-memory", capacity: 2) == worked.expected)
    }

    /// Ten fit. The eleventh evicts six, the least recently used first, so that with it half of the limit is used.
    /// Then h i j a k are left; a and h are hit; l to p fill it up, and q evicts six again.
    @Test("kingfisher-disk evicts least recently used entries down to half of the limit")
    func diskTrimsToHalfOfTheLimit() throws {
        let worked = WorkedSequence("a- b- c- d- e- f- g- h- i- j- a+ k-bcdefg a+ h+ l- m- n- o- p- q-ijkahl")
        #expect(try worked.played(by: "kingfisher-disk", capacity: 10) == worked.expected)
    }
}
