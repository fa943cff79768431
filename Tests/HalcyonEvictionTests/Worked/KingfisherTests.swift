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
        "300 seconds or a week after the last access",
        arguments: [("kingfisher-memory", 300), ("kingfisher-disk", 604_800)])
    func expiration(policy: String, seconds: Int64) throws {
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

    @Test("In memory the least recently used goes, one by one")
    func memory() throws {
        let worked = WorkedSequence("a- b- a+ c-b d-a c+")
        #expect(try worked.played(by: "kingfisher-memory", capacity: 2) == worked.expected)
    }

    /// Ten fit. The eleventh makes six go, the least recently used first, so that with it half of the limit is used.
    /// Then h i j a k are left; a and h are hit; l to p fill it up, and q makes six go again.
    @Test("On disk down to half of the limit")
    func trimming() throws {
        let worked = WorkedSequence("a- b- c- d- e- f- g- h- i- j- a+ k-bcdefg a+ h+ l- m- n- o- p- q-ijkahl")
        #expect(try worked.played(by: "kingfisher-disk", capacity: 10) == worked.expected)
    }
}
