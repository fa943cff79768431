import HalcyonEviction
import Testing

@testable import HalcyonPrefetch

@Suite("What comes after something")
struct MajoritySuccessorTests {
    @Test("Nothing is known before anything came")
    func nothing() {
        #expect(MajoritySuccessor().object == .max)
        #expect(MajoritySuccessor().lead == 0)
    }

    @Test("An object that comes more often than all others together is named, in whatever order they come")
    func majority() {
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
            // It is ahead by no more than it came, and by no less than it came more often than the others.
            #expect(Int(successor.lead) < most.value && Int(successor.lead) >= most.value * 2 - length - 1)
        }
        #expect(named > 300)
    }

    @Test("One that is a thousand ahead gets no further, and is given up after so many others")
    func saturates() {
        var successor = MajoritySuccessor()
        for _ in 0..<5_000 { successor.note(PlannerObjects.bound - 2) }
        #expect(successor.lead == 1_023 && successor.object == PlannerObjects.bound - 2)
        for _ in 0..<1_023 { successor.note(7) }
        #expect(successor.object == PlannerObjects.bound - 2)
        successor.note(7)
        #expect(successor.object == 7 && successor.lead == 0)
    }
}
