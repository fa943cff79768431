import HalcyonSupport
import Synchronization

/// How often a downloader sends a request.
///
/// A view that scrolls fast asks for hundreds of images, and lets go of each a moment later. With a rate, a load that is cancelled while it
/// waits for its start sends nothing. The price: a request above the rate is sent later.
///
/// See `StartRateTests`.
public struct StartRate: Sendable, Hashable {
    /// The number of requests in a second, above 0.
    public var perSecond: Double
    /// The number of requests that are sent at once after a pause, at least 1.
    public var burst: Int

    /// Creates a rate. A rate that is not above 0 counts as one request in an hour, a burst below 1 as 1.
    public init(perSecond: Double, burst: Int) { (self.perSecond, self.burst) = (perSecond, burst) }

    /// A rate for views that scroll: 80 requests in a second, 25 at once.
    public static let scrolling = StartRate(perSecond: 80, burst: 25)
}

/// Lets requests start at a rate: a bucket of tokens, of which each start takes one. Of those that wait, the most urgent starts first,
/// among equals the first.
final class StartLimiter: Sendable {
    fileprivate struct Waiter {
        let id: Int
        let control: TransferControl
        let continuation: CheckedContinuation<Void, any Error>
    }

    fileprivate struct State {
        var tokens: Double
        /// When the tokens were counted, in microseconds since 1970.
        var counted: Int64
        var waiting: [Waiter] = []
        var lastID = 0
        /// Whether a task hands out the tokens.
        var isServing = false
    }

    private let perSecond: Double
    private let burst: Double
    private let clock: any CacheClock
    private let state: Mutex<State>

    init(_ rate: StartRate, clock: any CacheClock) {
        perSecond = rate.perSecond > 1.0 / 3_600 ? rate.perSecond : 1.0 / 3_600
        burst = Double(max(rate.burst, 1))
        self.clock = clock
        state = Mutex(State(tokens: burst, counted: clock.now))
    }

    /// The number of requests that wait for their start.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Returns when a request may start. O(waiting).
    ///
    /// - Throws: `CancellationError` if the task is cancelled before.
    func turn(_ control: TransferControl) async throws {
        let now = clock.now
        let id = state.withLock { state -> Int? in
            count(&state, now)
            guard !state.waiting.isEmpty || state.tokens < 1 else {
                state.tokens -= 1
                return nil
            }
            state.lastID += 1
            return state.lastID
        }
        guard let id else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (isCancelled, serves) = state.withLock { state in
                    if Task.isCancelled { return (true, false) }
                    state.waiting.append(Waiter(id: id, control: control, continuation: continuation))
                    defer { state.isServing = true }
                    return (false, !state.isServing)
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
                if serves { Task.detached { [self] in await serve() } }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0) }
            }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Hands out tokens as they come, until no request waits.
    private func serve() async {
        while true {
            let now = clock.now
            let (started, pause) = state.withLock { state -> ([Waiter], Int64?) in
                count(&state, now)
                var started: [Waiter] = []
                // One that is cancelled needs no token.
                while let next = state.takeNext(hasToken: state.tokens >= 1) {
                    if !next.control.isCancelled { state.tokens -= 1 }
                    started.append(next)
                }
                if state.waiting.isEmpty {
                    state.isServing = false
                    return (started, nil)
                }
                return (started, Int64(((1 - state.tokens) / perSecond * 1e6).rounded(.up)))
            }
            for waiter in started { waiter.continuation.resume() }
            guard let pause else { return }
            try? await clock.sleep(microseconds: max(pause, 1))
        }
    }

    private func count(_ state: inout State, _ now: Int64) {
        let passed = Double(max(now - state.counted, 0)) / 1e6
        state.tokens = min(state.tokens + passed * perSecond, burst)
        state.counted = now
    }
}

extension StartLimiter.State {
    /// Removes and returns the request that is next: one that is cancelled, or with a token the most urgent.
    fileprivate mutating func takeNext(hasToken: Bool) -> StartLimiter.Waiter? {
        var next: (index: Int, priority: TransferPriority)?
        for (index, waiter) in waiting.enumerated() {
            if waiter.control.isCancelled { return waiting.remove(at: index) }
            let priority = waiter.control.priority
            if next.map({ $0.priority < priority }) ?? true { next = (index, priority) }
        }
        return hasToken ? next.map { waiting.remove(at: $0.index) } : nil
    }
}
