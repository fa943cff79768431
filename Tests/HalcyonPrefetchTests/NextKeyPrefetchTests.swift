import HalcyonPrefetch
import Testing

@Suite("One block ahead by hand", .timeLimit(.minutes(20)))
struct NextKeyPrefetchTests {
    @Test("The next number is proposed, unless it is held or does not exist")
    func nextNumberIsProposedUnlessHeld() {
        let context = PrefetchContext(nextByKey: { $0 < 2 ? $0 + 1 : nil })
        let requests = LetteredRequests(NextKeyPrefetch(context))
        #expect(requests.plans(after: "abcz") == ["b", "c", "", ""])
        #expect(requests.plan(after: "a", holding: "b") == "")
        #expect(requests.plan(after: "a", limit: 0) == "")
    }

    @Test("Nothing is proposed if keys are not numbers")
    func nothingIsProposedIfKeysAreNotNumbers() {
        #expect(LetteredRequests(NextKeyPrefetch(PrefetchContext())).plan(after: "a") == "")
    }
}
