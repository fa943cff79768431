import HalcyonEviction
import Testing

@testable import HalcyonPrefetch

@Suite("Majority successors", .timeLimit(.minutes(20)))
struct MajoritySuccessorTests {
    @Test("A new majority successor has no object and no lead")
    func newSuccessorHasNoObject() {
        #expect(MajoritySuccessor().object == .max)
        #expect(MajoritySuccessor().lead == 0)
    }

    @Test("An object in the majority is found, in any order")
    func majorityObjectIsFoundInAnyOrder() {
        var generator = SplitMix64(seed: 5)
        var named = 0
        for _ in 0..<2_000 {
            let length = 1 + generator.next(below: 40)
            let objects = (0..<length).map { _ in UInt32(generator.next(below: 3)) }
            var successor = MajoritySuccessor()
            for object in objects { successor.note(object) }
            let counts = Dictionary(grouping: objects) { $0 }.mapValues(\.count)
            guard let most = counts.max(by: { $0.value < $1.value }), most.value * 2 > length else { continue }
            named += 1
            #expect(successor.object == most.key)
            // Its lead is at most its count, and at least its count minus that of the others.
            #expect(Int(successor.lead) < most.value && Int(successor.lead) >= most.value * 2 - length - 1)
        }
        #expect(named > 300)
    }

    @Test("A lead is at most 1,023, and the object is replaced after as many others")
    func leadIsBoundedAndTheObjectReplaced() {
        var successor = MajoritySuccessor()
        for _ in 0..<5_000 { successor.note(PlannerObjects.bound - 2) }
        #expect(successor.lead == 1_023 && successor.object == PlannerObjects.bound - 2)
        for _ in 0..<1_023 { successor.note(7) }
        #expect(successor.object == PlannerObjects.bound - 2)
        successor.note(7)
        #expect(successor.object == 7 && successor.lead == 0)
    }
}
