import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("The members of category sets", .timeLimit(.minutes(20)))
struct CategorySetMembersTests {
    @Test("The overlap equals a count of members, for all sizes and orders")
    func overlapEqualsACountOfMembers() {
        var random = SplitMix64(seed: 3)
        var table = CategorySetMembers()
        var sets: [[UInt32]] = [[]]
        for count in [1, 1, 2, 7, 8, 8, 9, 9, 12, 40, 90, 400, 400] {
            var members: [UInt32] = []
            while members.count < count {
                let member = UInt32(random.next(below: count < 10 ? 15 : 500))
                if !members.contains(member) { members.append(member) }
            }
            table.define(CategorySetID(sets.count), members: members)
            sets.append(members)
        }
        for (left, members) in sets.enumerated() {
            #expect(Array(table[CategorySetID(left)]) == members, "in the order of the definition")
            for (right, others) in sets.enumerated() {
                let common = left == 0 || right == 0 ? 0 : members.count { others.contains($0) }
                #expect(
                    table.overlap(of: CategorySetID(left), with: CategorySetID(right))
                        == Float(common) / Float(max(members.count, 1)), "\(members) in \(others)")
            }
        }
    }
}
