import HalcyonTrace
import Testing

@Suite("A trace's columns fit together", .timeLimit(.minutes(20)))
struct TraceColumnsTests {
    @Test("an object without a size is found where the trace is made, not where it is replayed")
    func objects() async {
        _ = Trace(entries: [0, 1], times: TimeColumn(count: 2), objectSizes: [1, 1])
        await #expect(processExitsWith: .failure) {
            _ = Trace(entries: [0, 2], times: TimeColumn(count: 2), objectSizes: [1, 1])
        }
    }

    @Test("a user above the number of users is found there, too; no user is none")
    func users() async {
        _ = Trace(
            entries: [0, 0], times: TimeColumn(count: 2), users: [0, Trace.noUser], objectSizes: [1], userCount: 1)
        await #expect(processExitsWith: .failure) {
            _ = Trace(entries: [0, 0], times: TimeColumn(count: 2), users: [0, 1], objectSizes: [1], userCount: 1)
        }
    }
}
