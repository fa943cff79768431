import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

@testable import myreplay

@Suite("The policy second-glance", .timeLimit(.minutes(20)))
struct SecondGlanceTests {
    @Test("It keeps the rules of policies, alone and behind an admission rule", arguments: PolicyRule.allCases)
    func keepsRules(rule: PolicyRule) throws {
        let entry = PolicyEntry(SecondGlance.self)
        #expect(try rule.breaches(of: entry.configured()) == [])
        #expect(try rule.breaches(of: entry.configured([PolicySpec.Setting("admit", "bloom")])) == [])
    }

    @Test("A hit entry queues once more, worked by hand")
    func workedByHand() throws {
        // b is hit, so that c comes in for a, and d for c: b is passed over once.
        #expect(
            try WorkedSequence("a- b- b+ c-a d-c a-b").played(
                by: PolicyEntry(SecondGlance.self).configured(), capacity: 2) == "a- b- b+ c-a d-c a-b")
    }
}
