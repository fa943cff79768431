import HalcyonEviction
import Testing

@testable import HalcyonLearning

@Suite("Feature columns", .timeLimit(.minutes(20)))
struct FeatureColumnsTests {
    /// Returns an assembler that has counted accesses of two users to four sets, and lists of the first 20 objects.
    private static func trained(_ groups: FeatureGroups) -> FeatureAssembler {
        var assembler = FeatureAssembler.withSets(groups)
        var generator = SplitMix64(seed: 4)
        for number in 0..<300 {
            let (user, set) = (UInt32(generator.next(below: 2)), CategorySetID(generator.next(below: 5)))
            let access = Access(entry: UInt32(number % 40), categories: set, user: user, object: UInt32(number % 40))
            assembler.userCategory.note(access, second: UInt32(number * 20), gap: 8, isRepeat: number % 3 == 0)
            assembler.shown.note([UInt32(generator.next(below: 20)), UInt32(number % 20)])
        }
        return assembler
    }

    @Test(
        "The columns equal the features of each object, for all users and categories",
        arguments: [
            FeatureGroups.all, [.recency, .user], [.category, .session, .activity], [.recency, .category, .shown],
        ])
    func columnsEqualTheFeaturesOfEachObject(groups: FeatureGroups) {
        var assembler = Self.trained(groups)
        var generator = SplitMix64(seed: 9)
        // Many of one user and two sets, a few of other users, of an unknown user, and of a set beyond the bound.
        let sets: [CategorySetID] = [1, 1, 1, 3, 3, 0, 2, 4, CategorySetMembers.bound, .max]
        let users: [UInt32] = [1, 1, 1, 1, 0, .max, 77]
        let instant = FeatureInstant(request: 60, second: 6_000, greedyDualClock: 2)
        for round in 0..<50 {
            let records = (0..<30).map { number in
                var record = ObjectRecord()
                let set = sets[Int(generator.next(below: sets.count))]
                let user = round % 3 == 0 ? 1 : users[Int(generator.next(below: users.count))]
                for access in 0...number % 3 {
                    record.note(
                        Access(entry: 1, categories: set, user: user, object: UInt32(number)),
                        now: access * 5 + number, second: UInt32(access))
                }
                return record
            }
            let slots = (0..<UInt32(generator.next(below: 40))).map { _ in UInt32(generator.next(below: 30)) }
            var matrix = [Float](repeating: -9, count: slots.count * Feature.width)
            assembler.write(
                slots, count: slots.count, of: records, at: instant, columns: &matrix)
            for (place, slot) in slots.enumerated() {
                var alone = [Float](repeating: 0, count: Feature.width)
                assembler.write([records[Int(slot)]], at: instant, inputs: &alone)
                let together = (0..<Feature.width).map { matrix[$0 * slots.count + place] }
                #expect(together == alone)
            }
        }
    }
}
