import HalcyonTrace
import Testing

@testable import HalcyonExperiments

@Suite struct LabelPermutationTests {
    private func sets(_ members: [[UInt32]]) -> CategorySets {
        var sets = CategorySets()
        for set in members { _ = sets.number(of: set) }
        return sets
    }

    private func labelled(_ entries: [UInt32], objects: [UInt32] = [], requests: [UInt32] = []) -> Trace {
        Trace(
            entries: entries, times: TimeColumn(count: entries.count),
            objectSizes: Array(repeating: 1, count: Int(entries.max() ?? 0) + 1), objectCategories: objects,
            requestCategories: requests, categorySets: sets([[0], [1], [0, 2]]), categoryCount: 3)
    }

    @Test func everyObjectGivesItsLabelsOnce() {
        let donors = LabelPermutation(objects: 1_000, seed: 1, number: 0).donors
        #expect(donors.sorted() == (0..<1_000).map { UInt32($0) })
        // A permutation keeps one object in its place on average; more than seven once in ten thousand.
        #expect(zip(donors, 0...).count { Int($0) == $1 } <= 7)
    }

    @Test func numbersAndSeedsDiffer() {
        let donors = [(1, 0), (1, 1), (2, 0)].map {
            LabelPermutation(objects: 50, seed: UInt64($0.0), number: $0.1).donors
        }
        #expect(donors[0] != donors[1])
        #expect(donors[0] != donors[2])
        #expect(donors[0] == LabelPermutation(objects: 50, seed: 1, number: 0).donors)
    }

    @Test func setsOfObjectsChangeHands() {
        let trace = labelled([0, 1, 0, 2, 1], objects: [1, 2, 3])
        let permuted = LabelPermutation(donors: [2, 0, 1]).applied(to: trace)
        #expect(permuted.objectCategories == [3, 1, 2])
        #expect(permuted.entries == trace.entries)
        #expect((0..<5).map { permuted.categorySet(ofRequest: $0) } == [3, 1, 3, 2, 1])
    }

    @Test func anObjectFollowsItsDonorThroughTime() {
        // Object 0 has set 1, then 3 from request 2 on; object 1 has set 2 throughout.
        let trace = labelled([0, 1, 0, 1, 0, 1], requests: [1, 2, 3, 2, 3, 2])
        let permuted = LabelPermutation(donors: [1, 0]).applied(to: trace)
        // Request 0 comes before the donor's first, whose set it takes.
        #expect(permuted.requestCategories == [2, 1, 2, 3, 2, 3])
    }

    @Test func theDistributionStaysAndTheStructureGoes() throws {
        var model = BrowsingModel.informative
        model.requests = 5_000
        model.users = 20
        let trace = try model.generate(seed: 1, names: false)
        let permuted = LabelPermutation(objects: trace.objectCount, seed: 1, number: 0).applied(to: trace)
        #expect(permuted.objectCategories.sorted() == trace.objectCategories.sorted())
        let before = Self.shareStaying(trace)
        let after = Self.shareStaying(permuted)
        // Sessions stay in a group three times of four; labels dealt out anew meet by chance, beside repeats.
        #expect(before > 0.6)
        #expect(after < 0.25)
    }

    /// How often a user's request has the categories of the user's last one, for another object.
    private static func shareStaying(_ trace: Trace) -> Double {
        var last: [UInt32: Int] = [:]
        var (same, all) = (0, 0)
        for position in 0..<trace.count {
            if let before = last[trace.users[position]], trace.entries[before] != trace.entries[position] {
                all += 1
                same += trace.categorySet(ofRequest: before) == trace.categorySet(ofRequest: position) ? 1 : 0
            }
            last[trace.users[position]] = position
        }
        return Double(same) / Double(max(1, all))
    }
}
