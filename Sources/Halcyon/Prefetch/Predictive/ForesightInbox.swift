import Synchronization

/// Events on their way from callers, who never wait, to the ``Forecaster``.
///
/// What is not taken in time is bounded: beyond ``bound`` events, accesses are lost and counted, and so is where they come from.
final class ForesightInbox: Sendable {
    /// The most events that wait.
    static let bound = 1 << 16

    private struct State {
        var events: [ForesightEvent] = []
        var recipes: Set<String> = []
        var lost = 0
        /// The first access after which nothing was planned, and the last.
        var first: Int64?
        var last: Int64 = 0
    }

    private let state = Mutex(State())

    /// Takes an event in.
    ///
    /// - Returns: whether it is the first access since ``endWait()``, so that somebody should begin to wait for more.
    @discardableResult
    func put(_ event: ForesightEvent) -> Bool {
        state.withLock { state in
            if state.events.count >= Self.bound {
                switch event {
                case .accessed:
                    state.lost += 1
                    return false
                case .wanted: return false
                case .recipe, .announced, .departed, .conditions: break
                }
            }
            state.events.append(event)
            guard case .accessed(let access) = event else { return false }
            state.last = access.time
            if state.first != nil { return false }
            state.first = access.time
            return true
        }
    }

    /// Somebody asks for a resource; how it is loaded is told with the first of a processor.
    func want(_ resource: Resource, _ options: ImageOptions) {
        let processor = options.processor.identifier
        putRecipe(options, processor)
        put(.wanted(resource, processor: processor))
    }

    /// Takes in how images of a processor are loaded, unless that is known.
    func putRecipe(_ options: ImageOptions, _ processor: String) {
        state.withLock { state in
            if state.recipes.insert(processor).inserted {
                state.events.append(.recipe(processor: processor, options))
            }
        }
    }

    /// The time of the first and the last access since ``endWait()``, whether they were taken or not; `nil` where there are none.
    var waiting: (first: Int64, last: Int64)? {
        state.withLock { state in state.first.map { ($0, state.last) } }
    }

    /// Somebody takes what waits, and plans: the next access is the first again.
    func endWait() { state.withLock { $0.first = nil } }

    /// All that waits, and how many accesses were lost since this was asked last.
    func take() -> (events: [ForesightEvent], lost: Int) {
        state.withLock { state in
            defer { (state.events, state.lost) = ([], 0) }
            return (state.events, state.lost)
        }
    }
}
