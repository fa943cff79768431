import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("Features of objects in several categories", .timeLimit(.minutes(20)))
struct CategoryFeatureTests {
    @Test("With one active category of two the session feature is one half")
    func oneActiveOfTwoCategoriesGivesHalfASession() {
        var assembler = FeatureAssembler.withSets()
        assembler.userCategory.note(Access(entry: 5, categories: 1, user: 7), second: 0, gap: .max, isRepeat: false)
        #expect(assembler.session(Feature.active, set: 1) == 255)
        #expect(assembler.session(Feature.active, set: 3) == 128)
        #expect(assembler.session(Feature.active, set: 2) == 0)
        #expect(assembler.session(Feature.active, set: 1, user: 8) == 0, "another user")
    }

    @Test("The user's history of several categories is their sum, that of all users their mean")
    func userHistoryIsASumAndSharedHistoryAMean() {
        var assembler = FeatureAssembler.withSets()
        for _ in 0..<20 {
            assembler.userCategory.note(Access(entry: 5, categories: 3, user: 7), second: 0, gap: 8, isRepeat: true)
        }
        let (one, both) = (assembler.row(set: 1), assembler.row(set: 3))
        #expect(both[Feature.userRate] > one[Feature.userRate])
        #expect(both[Feature.categoryFast] == one[Feature.categoryFast])
        #expect(one[Feature.categoryReuse] > 127, "every access was a return")
        #expect(assembler.row(set: 4)[Feature.userRate] == 0)
        assembler.userCategory.note(Access(entry: 6, categories: 4, user: 9), second: 0, gap: .max, isRepeat: false)
        #expect(assembler.session(Feature.active, set: 4, user: 9) == 255, "all forty members count")
    }

    @Test("Without users, the last request determines the active categories")
    func withoutUsersTheLastRequestSetsActiveCategories() {
        var assembler = FeatureAssembler.withSets()
        for set: CategorySetID in [2, 1] {
            assembler.userCategory.note(Access(entry: 5, categories: set), second: 0, gap: .max, isRepeat: false)
        }
        #expect(assembler.session(Feature.active, set: 1, user: .max) == 255)
        #expect(assembler.session(Feature.active, set: 2, user: .max) == 0)
    }

    @Test("A group that is switched off leaves its bytes at 0")
    func disabledGroupLeavesItsBytesAtZero() {
        var assembler = FeatureAssembler(groups: .recency)
        assembler.userCategory.sets.define(1, members: [0])
        for _ in 0..<9 {
            assembler.userCategory.note(
                Access(entry: 5, categories: 1, user: 7), second: 50_000, gap: 8, isRepeat: true)
        }
        let row = assembler.row(set: 1)
        #expect(row[Feature.age] > 0)
        #expect(row[Feature.count0..<Feature.width].allSatisfy { $0 == 0 })
    }

    @Test("An undefined set and the empty set have no members")
    func undefinedAndEmptySetsHaveNoMembers() {
        var assembler = FeatureAssembler.withSets()
        let members = assembler.userCategory.sets[0].count + assembler.userCategory.sets[99].count
        #expect(members == 0)
        #expect(assembler.row(set: 99)[Feature.categorySlow] == 0)
    }
}
