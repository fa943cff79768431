import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("Features of users and transitions", .timeLimit(.minutes(20)))
struct UserFeatureTests {
    @Test("A user's features of a category count its accesses, new objects and repeats")
    func userCategoryFeaturesCountRepeatsAndNewObjects() {
        var assembler = FeatureAssembler.withSets()
        for number in 0..<12 {
            let set: CategorySetID = number % 2 == 0 ? 1 : 2
            let access = Access(entry: UInt32(number), categories: set, user: 7)
            assembler.userCategory.note(access, second: 0, gap: 8, isRepeat: number >= 4)
        }
        let row = assembler.row(set: 1)
        #expect(row[Feature.userGap] == FastMath.octaves(2))
        #expect(row[Feature.userDistinct] == FastMath.fineOctaves(2))
        // All six were repeats over all users. Their ratio is 5/7 now: 1/2, plus a ninth, a tenth, … of the difference to 1.
        #expect(row[Feature.categoryReuse] == FastMath.byte(255 * 5 / 7))
        #expect(row[Feature.userReuse] == FastMath.byte(255 * (4 + 4 * 5 / 7) / (6 + 4)))
        #expect(row[Feature.userAge] == FastMath.octaves(1))
        #expect(row[Feature.userShare] > 120 && row[Feature.userShare] < 135, "half of the user's requests")
        #expect(assembler.row(set: 1, user: 8)[Feature.userDistinct] == 0, "another user")
    }

    @Test("Counts of a category are halved before they overflow")
    func categoryCountsAreHalvedBeforeOverflow() {
        var assembler = FeatureAssembler.withSets()
        for _ in 0..<70_000 {
            assembler.userCategory.note(Access(entry: 1, categories: 1, user: 7), second: 0, gap: 8, isRepeat: false)
        }
        #expect(assembler.row(set: 1)[Feature.userReuse] == 0)
        #expect(assembler.row(set: 1)[Feature.userDistinct] > FastMath.fineOctaves(32_000))
    }

    @Test("A user that replaces another starts without statistics, and so does the other on its return")
    func replacedUserStartsWithoutStatistics() {
        var users = UserProfiles(users: 2, pairs: 64)
        let categories: [UInt32] = [5, 6]
        func request(_ user: UInt32, _ count: Int) {
            categories.withUnsafeBufferPointer { members in
                for _ in 0..<count {
                    users.note(
                        Access(entry: 1, categories: 1, user: user), isRepeat: true,
                        members: .init(rebasing: members[..<1]), now: 1, second: 1)
                }
            }
        }
        request(0, 3)
        request(1, 2)
        #expect(users.weight(0, 5) > 2.9 && users.weight(1, 5) > 1.9 && users.weight(0, 6) == 0)
        // User 2 has replaced user 0.
        #expect(users.weight(2, 5) == 0)
        request(2, 1)
        #expect(users.weight(2, 5) == 1 && users.weight(0, 5) == 0 && users.weight(1, 5) > 1.9)
        request(0, 1)
        #expect(users.weight(0, 5) == 1 && users.weight(2, 5) == 0)
    }

    @Test("A session ends after half an hour without an access; the count of all accesses continues")
    func sessionEndsAfterHalfAnHour() {
        var assembler = FeatureAssembler.withSets()
        for second: UInt32 in [0, 10, 1_810, 3_611, 3_612] {
            assembler.userCategory.note(Access(entry: 1, user: 7), second: second, gap: 8, isRepeat: true)
        }
        let row = assembler.row(set: 0)
        #expect(row[Feature.sessionLength] == FastMath.octaves(2))
        #expect(row[Feature.userAccesses] == FastMath.octaves(5))
    }

    @Test("Transitions start at each user's last category and are learned from all users")
    func transitionsAreLearnedFromAllUsers() {
        var assembler = FeatureAssembler.withSets()
        // User 7 requests 1 2 1 2 1 1 2 1.
        for set: CategorySetID in [1, 2, 1, 2, 1, 1, 2, 1] {
            assembler.userCategory.note(Access(entry: 1, categories: set, user: 7), second: 0, gap: 8, isRepeat: true)
        }
        func byte(_ chance: Float) -> UInt8 { FastMath.byte((FastMath.log2(chance + 0x1p-16) + 16) * 16) }
        // 2 followed 1 three times of four; the prior is five accesses to other categories.
        #expect(assembler.session(Feature.transition, set: 2) == byte(3 / 9))
        #expect(assembler.session(Feature.transition, set: 1) == byte(1 / 9))
        #expect(assembler.session(Feature.transition, set: 3) == byte(3 / 9), "the likeliest of several")
        #expect(assembler.session(Feature.transition, set: 2, user: 9) == byte(0))
        assembler.userCategory.note(Access(entry: 1, categories: 1, user: 9), second: 0, gap: 8, isRepeat: true)
        #expect(
            assembler.session(Feature.transition, set: 2, user: 9) == byte(3 / 9), "transitions are shared by all users"
        )
    }

    @Test("Counts of transitions halve with each epoch")
    func transitionCountsHalveWithEachEpoch() {
        var count = CategoryTransitions.Count()
        for _ in 0..<12 { count.add(in: 3) }
        #expect(count.weight(in: 3) == 12 && count.weight(in: 5) == 3 && count.weight(in: 300) == 0)
        count.add(in: 4)
        #expect(count.weight(in: 4) == 7)
    }
}
