import HalcyonEviction

@testable import HalcyonLearning

extension FeatureGroups {
    /// The groups of the eviction network but ``shown``, which takes the places of another.
    static let all = FeatureGroups(named.map(\.group)).subtracting(.shown)
}

extension FeatureAssembler {
    /// Returns an assembler with four sets: 1 = {0}, 2 = {1}, 3 = {0, 1}, 4 = {2, 3, …, 41}.
    static func withSets(_ groups: FeatureGroups = .all.union(.session)) -> FeatureAssembler {
        var assembler = FeatureAssembler(groups: groups)
        for (set, members) in [(1, [0]), (2, [1]), (3, [0, 1]), (4, Array(2..<42))] {
            assembler.userCategory.sets.define(CategorySetID(set), members: members.map { UInt32($0) })
        }
        return assembler
    }

    /// Returns the row of an object that was requested once.
    mutating func row(set: CategorySetID, user: UInt32 = 7, object: UInt32 = 1) -> [UInt8] {
        var record = ObjectRecord()
        record.note(Access(entry: 1, categories: set, user: user, object: object), now: 1, second: 0)
        var row = [UInt8](repeating: 0, count: SampleRow.width)
        write(&record, at: FeatureInstant(request: 100, second: 0, greedyDualClock: 0), into: &row)
        return row
    }

    /// Returns a feature that the planner's network alone has, as a byte.
    mutating func session(_ feature: Int, set: CategorySetID, user: UInt32 = 7) -> UInt8 {
        var numbers = [Float](repeating: 0, count: Feature.places)
        userCategory.write(set, userCategory.statistics(of: user), into: &numbers)
        var input = numbers[feature]
        FeatureScales().encode(&input, count: 1, of: feature)
        return UInt8(input * 64 + 64)
    }
}
