import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("The cost of a miss", .timeLimit(.minutes(20)))
struct MissCostTests {
    /// Three requests in four go to 300 objects of size 10, the fourth to 30 of size 100. Per byte of its size a small object
    /// is requested three times as often as a large one, and the bytes of its requests are a third.
    private func accesses(_ count: Int) -> [Access] {
        var random = SplitMix64(seed: 7)
        return (0..<count).map { index in
            let isSmall = random.next(below: 4) > 0
            return Access(
                entry: EntryID(isSmall ? random.next(below: 300) : 300 + random.next(below: 30)), requestNumber: index,
                time: Int64(index) * 1_000_000, size: isSmall ? 10 : 100)
        }
    }

    /// The misses of the later half, with a capacity of half of all bytes.
    private struct Missed: Equatable {
        var small = 0
        var large = 0

        /// Returns the total cost at these prices.
        func cost(perMiss: Int, perByte: Int) -> Int {
            (small + large) * perMiss + (small * 10 + large * 100) * perByte
        }
    }

    private func missed(_ parameters: String) throws -> Missed {
        let policy = try PolicyCatalogue.standard.policy("learned(\(parameters))")
        let cache = policy.makeCache(PolicyContext(capacity: 3_000, usesUniformSizes: false, seed: 1))
        var missed = Missed()
        for access in accesses(12_000) where cache.access(access) != .hit && access.requestNumber >= 6_000 {
            if access.size == 10 { missed.small += 1 } else { missed.large += 1 }
        }
        return missed
    }

    @Test("A high price per miss keeps small objects, a high price per byte large ones")
    func pricesDecideBetweenSmallAndLargeObjects() throws {
        for decider in ["contest", "heuristic"] {
            let expensiveMisses = try missed("objective=cost,per-miss=1000,per-byte=1,decider=\(decider)")
            let expensiveBytes = try missed("objective=cost,per-miss=1,per-byte=1,decider=\(decider)")
            #expect(
                expensiveMisses.small < expensiveBytes.small && expensiveMisses.large > expensiveBytes.large,
                "\(decider)")
            let objects = try missed("objective=objects,decider=\(decider)")
            let bytes = try missed("objective=bytes,decider=\(decider)")
            #expect(
                expensiveMisses.cost(perMiss: 1_000, perByte: 1) < bytes.cost(perMiss: 1_000, perByte: 1), "\(decider)")
            #expect(expensiveBytes.cost(perMiss: 1, perByte: 1) < objects.cost(perMiss: 1, perByte: 1), "\(decider)")
        }
    }

    @Test("The objectives objects and bytes equal a cost with one price alone, at any scale")
    func requestsAndBytesAreSpecialCasesOfACost() throws {
        let objects = try missed("objective=objects")
        #expect(try missed("objective=cost") == objects)
        #expect(try missed("objective=cost,per-miss=30") == objects)
        let bytes = try missed("objective=bytes")
        #expect(try missed("objective=cost,per-miss=0,per-byte=0.25") == bytes)
        #expect(
            try missed("objective=cost,per-miss=8,per-byte=2") == missed("objective=cost,per-miss=4,per-byte=1"))
    }

    @Test("The cost per byte is the price per byte plus a share of the price per miss")
    func costPerByteAddsBothPrices() {
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

    @Test("Prices without objective=cost, and misses that cost nothing, are refused")
    func uselessPricesAreRefused() throws {
        for parameters in ["per-miss=2", "objective=bytes,per-byte=1", "objective=cost,per-miss=0", "per-miss=-1"] {
            #expect(throws: PolicyError.self, "\(parameters)") {
                try PolicyCatalogue.standard.policy("learned(\(parameters))")
            }
        }
    }
}
