import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

@Suite(.timeLimit(.minutes(20))) struct SampleTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func keys(_ trace: Trace) -> [String] { (0..<trace.objectCount).map { trace.names.keys[UInt32($0)] } }

    /// The kept keys were computed with Python's hashlib by the documented rule.
    @Test func keysAreThoseOfTheDocumentedHash() throws {
        let rows = (0..<120).map { "\($0),k\($0 * 7 % 60),\($0 * 7 % 60 + 1),c\($0 % 3),u\($0 % 5)\n" }.joined()
        let trace = try Trace.load(
            folder.file("t.csv", "time,key,size,category,user\n" + rows), .with { $0.names = .all })
        for (share, seed, expected) in [
            (0.1, 1, ["k16", "k2", "k30", "k38", "k47", "k54"]),
            (
                0.25, 1,
                [
                    "k11", "k13", "k15", "k16", "k17", "k2", "k20", "k21", "k27", "k30", "k34", "k38", "k44", "k47",
                    "k53", "k54",
                ]
            ),
            (0.25, 7, ["k0", "k10", "k19", "k3", "k30", "k31", "k32", "k37", "k4", "k43", "k46", "k51", "k58"]),
        ] as [(Double, UInt64, Set<String>)] {
            let sample = trace.sample(ofObjects: share, seed: seed)
            #expect(Set(keys(sample)) == expected)
            #expect(sample.count == 2 * expected.count)
            #expect(sample.objectSizes == keys(sample).map { (UInt64($0.dropFirst()) ?? 0) + 1 })
            // All requests of a kept object, in order, with their times and users.
            let kept = (0..<120).filter { expected.contains("k\($0 * 7 % 60)") }
            #expect(Array(sample.times) == kept.map { Int64($0) * 1_000_000 })
            #expect(sample.users.map { sample.names.users[$0] } == kept.map { "u\($0 % 5)" })
        }
        #expect(trace.sample(ofObjects: 1).fingerprint == trace.fingerprint)
    }

    /// A key that is a number has the hash of its text, whatever stands beside it in the trace.
    @Test func theSampleDependsOnTheKeyAlone() throws {
        let one = try Trace.load(
            folder.file("a.csv", "key\n" + (0..<1_000).map { "\($0)\n" }.joined()), .with { $0.names = .keys })
        let other = try Trace.load(
            folder.file("b.csv", "key\n" + (500..<2_000).reversed().map { "\"\($0)\"\n" }.joined()),
            .with { $0.names = .keys })
        let (first, second) = (Set(keys(one.sample(ofObjects: 0.3))), Set(keys(other.sample(ofObjects: 0.3))))
        let common = Set((500..<1_000).map { "\($0)" })
        #expect(first.intersection(common) == second.intersection(common))
        #expect(first.isSubset(of: Set(keys(one.sample(ofObjects: 0.5)))))
        #expect(first != Set(keys(one.sample(ofObjects: 0.3, seed: 2))))
    }
}
