import HalcyonSimulation
import HalcyonTrace
import Testing

@testable import HalcyonExperiments

@Suite(.timeLimit(.minutes(20))) struct LabelPermutationTests {
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

    @Test func numbersAndSeedsGiveDifferentPermutations() {
        let donors = [(1, 0), (1, 1), (2, 0)].map {
            LabelPermutation(objects: 50, seed: UInt64($0.0), number: $0.1).donors
        }
        #expect(donors[0] != donors[1])
        #expect(donors[0] != donors[2])
        #expect(donors[0] == LabelPermutation(objects: 50, seed: 1, number: 0).donors)
    }

    @Test func permutationExchangesTheSetsOfObjects() {
        let trace = labelled([0, 1, 0, 2, 1], objects: [1, 2, 3])
        let permuted = LabelPermutation(donors: [2, 0, 1]).applied(to: trace)
        #expect(permuted.objectCategories == [3, 1, 2])
        #expect(permuted.entries == trace.entries)
        #expect((0..<5).map { permuted.categorySet(ofRequest: $0) } == [3, 1, 3, 2, 1])
    }

    @Test func objectFollowsItsDonorThroughTime() {
        // Object 0 has set 1, then 3 from request 2 on; object 1 has set 2 throughout.
        let trace = labelled([0, 1, 0, 1, 0, 1], requests: [1, 2, 3, 2, 3, 2])
        let permuted = LabelPermutation(donors: [1, 0]).applied(to: trace)
        // Request 0 is before the donor's first request, and gets the set of that request.
        #expect(permuted.requestCategories == [2, 1, 2, 3, 2, 3])
    }

    /// Objects 0 and 1 are requested, 2 is only shown. The first list comes before both requests, the second after them.
    private func withLists(labels: [UInt32], items: [[UInt32]]) -> Trace {
        var lists = ShownLists(shownOnlySizes: [7])
        lists.append(position: 0, time: 0, user: Trace.noUser, objects: [2, 0], categories: items[0])
        lists.append(position: 2, time: 1_000_000, user: Trace.noUser, objects: [1, 2], categories: items[1])
        return Trace(
            entries: [0, 1, 0], times: TimeColumn(count: 3), objectSizes: [1, 1], objectCategories: labels,
            categorySets: sets([[0], [1], [0, 2]]), categoryCount: 3, lists: lists)
    }

    @Test func anObjectHasOneLabelInListsAndRequests() {
        let trace = withLists(labels: [1, 2], items: [[3, 1], [2, 3]])
        let permuted = LabelPermutation(donors: [2, 0, 1]).applied(to: trace)
        #expect(permuted.objectCategories == [3, 1] && permuted.requestCategories.isEmpty)
        #expect(permuted.lists?.categories == [2, 3, 1, 2])
        #expect(permuted.lists?.objects == trace.lists?.objects && permuted.entries == trace.entries)
        let without = trace.withOneCategory()
        #expect(without.objectCategories == [1, 1] && without.lists?.categories == [1, 1, 1, 1])
    }

    @Test func labelsThatChangeInListsFollowTheirDonor() {
        // Object 2 has set 3 in the first list and 1 in the second. Object 0 has its sets, so its last request gets 1.
        let trace = withLists(labels: [1, 2], items: [[3, 1], [2, 1]])
        let permuted = LabelPermutation(donors: [2, 0, 1]).applied(to: trace)
        #expect((0..<3).map { permuted.categorySet(ofRequest: $0) } == [3, 1, 1])
        // Object 2 has those of object 1: 2 throughout. Object 1 has those of object 0.
        #expect(permuted.lists?.categories == [2, 3, 1, 2])
    }

    @Test func objectsThatAreOnlyShownAreInTheStrataOfRareOnes() throws {
        // Objects 0 to 39 are requested twice, 40 to 79 once; 80 to 119 are only shown, the first half of them twice.
        var lists = ShownLists(shownOnlySizes: Array(repeating: 1, count: 40))
        lists.append(
            position: 0, time: 0, user: Trace.noUser,
            objects: (80..<120).map { UInt32($0) } + (80..<100).map { UInt32($0) },
            categories: [])
        let entries = (0..<40).map { UInt32($0) } + (0..<80).map { UInt32($0) }
        let trace = Trace(
            entries: entries, times: TimeColumn(count: 120), objectSizes: Array(repeating: 1, count: 80),
            objectCategories: Array(repeating: 0, count: 80), lists: lists)
        let strata = try LabelStrata(.within([.popularity]), of: trace)
        #expect(
            strata.members.map { $0.sorted() }
                == [100..<120, 80..<100, 40..<60, 60..<80, 0..<20, 20..<40].map { range in
                    range.map { UInt32($0) }
                })
    }

    @Test func permutationKeepsTheDistributionNotTheStructure() throws {
        var model = BrowsingModel.informative
        model.requests = 5_000
        model.users = 20
        let trace = try model.generate(seed: 1, names: false)
        let permuted = LabelPermutation(objects: trace.objectCount, seed: 1, number: 0).applied(to: trace)
        #expect(permuted.objectCategories.sorted() == trace.objectCategories.sorted())
        let before = Self.shareStaying(trace)
        let after = Self.shareStaying(permuted)
        // Sessions stay in a group three times of four; permuted labels agree by chance or by repeats.
        #expect(before > 0.6)
        #expect(after < 0.25)
    }

    @Test func labelsStayWithinTheirStrata() throws {
        var model = BrowsingModel.informative
        model.requests = 5_000
        model.users = 20
        let trace = try model.generate(seed: 1, names: false)
        let strata = try LabelStrata(.within([.popularity, .age]), of: trace)
        var stratum = [Int](repeating: -1, count: trace.objectCount)
        for (number, members) in strata.members.enumerated() {
            for object in members {
                #expect(stratum[Int(object)] == -1)
                stratum[Int(object)] = number
            }
        }
        #expect(!stratum.contains(-1) && strata.fewest >= LabelStrata.fewestObjects)
        let permutation = LabelPermutation(within: strata, objects: trace.objectCount, seed: 1, number: 0)
        #expect(permutation.donors.sorted() == (0..<trace.objectCount).map { UInt32($0) })
        #expect(permutation.donors.enumerated().allSatisfy { stratum[$0] == stratum[Int($1)] })
        #expect(permutation.shareChanged(in: trace) > 0.5)
        // In one stratum, it is the plain permutation.
        let one = try LabelStrata(.uniform, of: trace)
        #expect(
            LabelPermutation(within: one, objects: trace.objectCount, seed: 3, number: 5).donors
                == LabelPermutation(objects: trace.objectCount, seed: 3, number: 5).donors)
    }

    @Test func nestedStrataMatchQuantilesByHand() throws {
        // 400 objects, of which object i is requested 1 + i mod 4 times: 20 strata. Popularity has 20^(2/3) = 7 bins
        // of 57 or 58 objects, age 20^(1/3) = 2 bins in each.
        var entries = (0..<400).map { UInt32($0) }
        for object in 0..<400 { entries += Array(repeating: UInt32(object), count: object % 4) }
        let trace = labelled(entries, objects: (0..<400).map { 1 + UInt32($0 % 3) })
        let both = try LabelStrata(.within([.popularity, .age]), of: trace)
        #expect(both.members.count == 14 && both.members.allSatisfy { (28...29).contains($0.count) })
        let counts = both.members.map { $0.map { $0 % 4 } }
        #expect(counts[0].allSatisfy { $0 == 0 } && counts[13].allSatisfy { $0 == 3 })
        #expect((both.members[0].max() ?? 0) < (both.members[1].min() ?? 0))
        // Alone, a property has all 20 strata of 20 objects.
        let age = try LabelStrata(.within([.age]), of: trace)
        #expect(age.members.count == 20 && age.members[3] == (60..<80).map { UInt32($0) })
        // Sizes are equal here: they are left out, and alone refused.
        #expect(try LabelStrata(.within([.popularity, .age, .size]), of: trace).scheme == both.scheme)
        #expect(throws: ReplayError.self) { try LabelStrata(.within([.size]), of: trace) }
        #expect(try LabelStrata(.uniform, of: trace).members.count == 1)
    }

    /// A label that only marks the popular objects is constant within strata of popularity.
    @Test func labelOfPopularObjectsDoesNotChangeWithinPopularity() throws {
        var entries = (0..<400).map { UInt32($0) }
        for object in 0..<100 { entries += Array(repeating: UInt32(object), count: 3) }
        let trace = labelled(entries, objects: (0..<400).map { $0 < 100 ? 1 : 2 })
        let strata = try LabelStrata(.within([.popularity]), of: trace)
        let within = LabelPermutation(within: strata, objects: 400, seed: 1, number: 0)
        #expect(within.shareChanged(in: trace) == 0)
        #expect(LabelPermutation(objects: 400, seed: 1, number: 0).shareChanged(in: trace) > 0.25)
    }

    @Test func permutationSchemesAreParsedAndDescribed() throws {
        #expect(try PermutationScheme(parsing: "uniform") == .uniform)
        let all = try PermutationScheme(parsing: "within=popularity,size,age")
        #expect(all == .within([.popularity, .age, .size]) && all == PermutationScheme.standard[0])
        #expect(all.description == "within=popularity,age,size")
        #expect(all.words == "permuted within popularity, age and size")
        #expect(PermutationScheme.within([.size]).words == "permuted within size")
        for text in ["", "within", "within=", "within=colour", "within=size,size", "within=size,", "Uniform"] {
            #expect(throws: ReplayError.self) { try PermutationScheme(parsing: text) }
        }
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
