import HalcyonTrace
import Testing

@Suite("Consistency of a trace's columns", .timeLimit(.minutes(20)))
struct TraceColumnsTests {
    @Test("A trace with an object without a size fails in its initializer")
    func objectWithoutASizeFailsTheInitializer() async {
        _ = Trace(entries: [0, 1], times: TimeColumn(count: 2), objectSizes: [1, 1])
        await #expect(processExitsWith: .failure) {
            _ = Trace(entries: [0, 2], times: TimeColumn(count: 2), objectSizes: [1, 1])
        }
    }

    @Test("A trace with a user beyond the user count fails in its initializer; no user is accepted")
    func userBeyondTheUserCountFailsTheInitializer() async {
        _ = Trace(
            entries: [0, 0], times: TimeColumn(count: 2), users: [0, Trace.noUser], objectSizes: [1], userCount: 1)
        await #expect(processExitsWith: .failure) {
            _ = Trace(entries: [0, 0], times: TimeColumn(count: 2), users: [0, 1], objectSizes: [1], userCount: 1)
        }
    }
}
