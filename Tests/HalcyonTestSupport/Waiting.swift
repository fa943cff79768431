/// Waits until a condition holds, however long that takes on a busy machine.
///
/// The time limit of the suite ends the wait: it cancels the task of the test, and has then recorded the failure. The wait gives the
/// processor to other tests: it yields at first, and later looks once a millisecond.
///
/// - Returns: whether the condition holds; `false` if the task was cancelled first.
@discardableResult
public func waitUntil(
    isolation: isolated (any Actor)? = #isolation, _ condition: () throws -> Bool
) async rethrows -> Bool {
    var looks = 0
    while try !condition() {
        guard !Task.isCancelled else { return false }
        looks += 1
        if looks < 100 { await Task.yield() } else { try? await Task.sleep(for: .milliseconds(1)) }
    }
    return true
}
