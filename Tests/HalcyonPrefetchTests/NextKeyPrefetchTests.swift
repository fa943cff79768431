import HalcyonPrefetch
import Testing

@Suite("One block ahead by hand")
struct NextKeyPrefetchTests {
    @Test("The next number, unless it is held or there is none")
    func next() {
        let context = PrefetchContext(nextByKey: { $0 < 2 ? $0 + 1 : nil })
        let requests = LetteredRequests(NextKeyPrefetch(context))
        #expect(requests.plans(after: "abcz") == ["b", "c", "", ""])
        #expect(requests.plan(after: "a", holding: "b") == "")
        #expect(requests.plan(after: "a", limit: 0) == "")
    }

    @Test("Where keys are no numbers, nothing")
    func noNumbers() {
        #expect(LetteredRequests(NextKeyPrefetch(PrefetchContext())).plan(after: "a") == "")
    }
}
