import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("What a miss costs")
struct MissCostTests {
    /// Three requests of four go to 300 objects of size 10, the fourth to 30 of size 100. For its room a small one is
    /// asked for three times as often as a large one, and for its bytes a third as often.
    private func accesses(_ count: Int) -> [Access] {
        var random = SplitMix64(seed: 7)
        return (0..<count).map { index in
            let isSmall = random.next(below: 4) > 0
            return Access(
                entry: EntryID(isSmall ? random.next(below: 300) : 300 + random.next(below: 30)), requestNumber: index,
                time: Int64(index) * 1_000_000, size: isSmall ? 10 : 100)
        }
    }

    /// What was missed of the later half, when there is room for half of all bytes.
    private struct Missed: Equatable {
        var small = 0
        var large = 0

        /// The total cost at these prices.
        func cost(perMiss: Int, perByte: Int) -> Int {
            (small + large) * perMiss + (small * 10 + large * 100) * perByte
        }
    }

    private func missed(_ settings: String) throws -> Missed {
        let policy = try PolicyCatalogue.standard.policy("learned(\(settings))")
        let cache = policy.makeCache(PolicyContext(capacity: 3_000, usesUniformSizes: false, seed: 1))
        var missed = Missed()
        for access in accesses(12_000) where cache.access(access) != .hit && access.requestNumber >= 6_000 {
            if access.size == 10 { missed.small += 1 } else { missed.large += 1 }
        }
        return missed
    }

    @Test("A miss that costs much in itself keeps small objects, one that costs by its bytes large ones")
    func direction() throws {
        for decider in ["contest", "heuristic"] {
            let dearMisses = try missed("objective=cost,per-miss=1000,per-byte=1,decider=\(decider)")
            let dearBytes = try missed("objective=cost,per-miss=1,per-byte=1,decider=\(decider)")
            #expect(dearMisses.small < dearBytes.small && dearMisses.large > dearBytes.large, "\(decider)")
            let objects = try missed("objective=objects,decider=\(decider)")
            let bytes = try missed("objective=bytes,decider=\(decider)")
            #expect(dearMisses.cost(perMiss: 1_000, perByte: 1) < bytes.cost(perMiss: 1_000, perByte: 1), "\(decider)")
            #expect(dearBytes.cost(perMiss: 1, perByte: 1) < objects.cost(perMiss: 1, perByte: 1), "\(decider)")
        }
    }

    @Test("Requests and bytes are the cases in which only the one or the other costs, whatever the currency")
    func specialCases() throws {
        let objects = try missed("objective=objects")
        #expect(try missed("objective=cost") == objects)
        #expect(try missed("objective=cost,per-miss=30") == objects)
        let bytes = try missed("objective=bytes")
        #expect(try missed("objective=cost,per-miss=0,per-byte=0.25") == bytes)
        #expect(
            try missed("objective=cost,per-miss=8,per-byte=2") == missed("objective=cost,per-miss=4,per-byte=1"))
    }

    @Test("For each byte of room a miss costs its share of what a miss costs, and each byte")
    func density() {
        for size: Float in [1, 10, 1_000] {
            let logSize = FastMath.log2(size)
            for (perMiss, perByte) in [(1.0, 0.5), (1_000, 1), (3, 7)] {
                let expected = FastMath.log2(Float(perMiss / perByte) / size + 1)
                let density = MissCost(perMiss: perMiss, perByte: perByte).density(logSize: logSize)
                #expect(abs(density - expected) < 0.05, "\(size) at \(perMiss) and \(perByte)")
            }
            #expect(MissCost(perMiss: 1, perByte: 0).density(logSize: logSize) == -logSize)
            #expect(MissCost(perMiss: 0, perByte: 1).density(logSize: logSize) == 0)
        }
    }

    @Test("Prices without the objective that asks for them, and misses that cost nothing, are refused")
    func conflicts() throws {
        for settings in ["per-miss=2", "objective=bytes,per-byte=1", "objective=cost,per-miss=0", "per-miss=-1"] {
            #expect(throws: PolicyError.self, "\(settings)") {
                try PolicyCatalogue.standard.policy("learned(\(settings))")
            }
        }
    }
}
